import Router
import RouterPlugin
import Testing

/// Snapshots of webhook bodies: no byte of the standard format may change.
@Suite("Envelope snapshots")
struct EnvelopeSnapshotTests {
    private static func snapshot() throws -> [String] {
        let text = try ProjectText.read("Tests/RouterTests/Fixtures/envelopes.ndjson")
        return text.split(separator: "\n").map { String($0) }
    }

    @Test("Every kind of message has the bytes of the snapshot")
    func bytes() throws {
        let bodies = try EnvelopeStory.told().map { String(decoding: $0, as: UTF8.self) }
        let snapshot = try Self.snapshot()
        #expect(bodies.count == snapshot.count)
        for (body, expected) in zip(bodies, snapshot) { #expect(Array(body.utf8) == Array(expected.utf8)) }
    }

    @Test("The story has a message of every kind but the passcode's")
    func kinds() throws {
        let types = Set(try Self.snapshot().compactMap { try JSONValue(parsing: Array($0.utf8))["type"]?.asString })
        let kinds = SceneEventKind.allCases.map(\.rawValue) + NotificationKind.allCases.map { WebhookType.name(of: $0) }
        #expect(Set(kinds).subtracting(types) == ["application.passcodeSceneDidChange"])
    }

    @Test("The data of an event in the snapshot is read as facts, and written back byte for byte")
    func kept() throws {
        var count = 0
        for line in try Self.snapshot() {
            let body = try JSONValue(parsing: Array(line.utf8))
            let data = try #require(body["data"])
            guard data["decision"] == nil, let kind = body["type"]?.asString.flatMap(SceneEventKind.init) else {
                continue
            }
            // User info and restoration activity of a connecting scene are not facts of the event.
            guard data["session"]?["userInfo"] == nil, data["connectionOptions"]?["stateRestorationActivity"] == nil
            else {
                continue
            }
            let number = data["epoch"]?.asInt64.map { EventNumber(epoch: $0, sequence: data["sequence"]?.asInt64 ?? 0) }
            let event = SceneEvent(kind, number)
            let bytes = data.serialized()
            let facts = try #require(EventFacts(kept: bytes, of: event, for: .gallery), "\(line)")
            #expect(facts.kept(of: event, for: .gallery) == bytes)
            count += 1
        }
        #expect(count > 35)
    }
}
