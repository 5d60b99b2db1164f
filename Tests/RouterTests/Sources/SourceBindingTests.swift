import PredicateEngine
import RouterPlugin
import Testing

@testable import Router

/// Built-in bindings and configured sources share one path.
@Suite struct SourceBindingTests {
    /// A source with as many events as its body has bytes.
    private struct ByteSource: PayloadSource {
        let id = PluginID(unchecked: "test.bytes")

        func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {}

        func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
            SourceDecoding(request.body.map { SourceEvent(payload: [$0], dedupeKeys: ["key:\($0)"]) })
        }
    }

    private func request(_ body: [UInt8]) -> SourceRequest {
        SourceRequest(headers: [], body: body, receivedAt: Timestamp(milliseconds: 0))
    }

    @Test func allEventsOfARequestBecomeNotificationsOfTheBoundDevice() throws {
        let run = SourceRun(binding: ByteSource(), to: "com.example.app", device: "phone")
        let (accepted, response) = try run.outcomes(of: request([1, 2]))
        #expect(accepted.map(\.notification.payload) == [[1], [2]] && response == nil)
        #expect(accepted.allSatisfy { $0.device == "phone" })
        #expect(accepted.map(\.notification.dedupeKeys) == [["key:1"], ["key:2"]])
        #expect(run.scope == ByteSource().id && !run.verifiesSender)
    }

    @Test func aRequestWithTooManyEventsIsRefusedWhole() {
        let run = SourceRun(binding: ByteSource(), to: "com.example.app")
        let body = [UInt8](repeating: 0, count: RouterLimits.eventsPerRequest + 1)
        let refusal = #expect(throws: SourceError.self) { try run.outcomes(of: request(body)) }
        #expect(refusal?.code == "too-many-events")
    }

    @Test func aConfiguredSourceKeepsItsKeysUnderItsOwnName() throws {
        let definition = SourceDefinition(id: "hooks", application: "com.example.app", kind: ByteSource().id)
        let run = try SourceRun(definition, by: ByteSource())
        #expect(run.scope == definition.scope && run.scope != ByteSource().id)
        let zero = request(Array("0".utf8))
        #expect(try run.outcomes(of: zero).accepted.map(\.device) == [nil])
    }

    @Test func aConfiguredSourceGivesNoBytesAsJSONThatAreNone() throws {
        let definition = SourceDefinition(id: "hooks", application: "com.example.app", kind: ByteSource().id)
        let run = try SourceRun(definition, by: ByteSource())
        let refusal = #expect(throws: SourceError.self) { try run.outcomes(of: request(Array("}".utf8))) }
        #expect(refusal?.code == "payload-not-json")
    }

    @Test func aFilterThatWouldHoldUpAllOthersIsRefused() throws {
        var definition = SourceDefinition(id: "hooks", application: "com.example.app", kind: ByteSource().id)
        let many = Array(repeating: "a LIKE[cd] '*a?Ndb'", count: 600).joined(separator: " OR ")
        definition.filter = try PayloadPredicate(format: many)
        let run = try SourceRun(definition, by: ByteSource())
        let passes = try #require(definition.filter?.passes)
        let most = SourceEvent(payload: Array(repeating: 0x20, count: RouterLimits.filterWork / passes))
        try run.check(SourceDecoding([most]))
        let refusal = #expect(throws: SourceError.self) { try run.check(SourceDecoding([most, most])) }
        #expect(refusal?.code == "filter-too-costly")
    }
}
