import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Console", .longest)
struct ConsoleTests {
    @Test func filesAreServedUnderAStrictPolicy() async throws {
        try await withDaemon(TestDaemon.Options()) { daemon in
            for name in ConsoleFile.all.map(\.name) + [""] {
                let answer = try await daemon.call(.get, "/console/\(name)")
                #expect(answer.status == 200, "\(name)")
                let policy = answer.headers[.contentSecurityPolicy] ?? ""
                #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"))
            }
            expectProblem(try await daemon.call(.get, "/console/nothing.js"), 404, "not-found")
            #expect(try await daemon.call(.get, "/console").headers[.location] == "/console/")
        }
    }

    /// No page of another host is named, but for namespaces.
    @Test func filesAskForNothingOutside() {
        for file in ConsoleFile.all {
            let text = String(decoding: file.bytes, as: UTF8.self)
            #expect(!text.contains("http://") && !text.contains("https://"), "\(file.name)")
        }
    }

    /// With the box Broadcast it shows all receivers.
    @Test(arguments: ["doc/1", "doc/2", "pic/1", nil])
    func explanationOfABroadcastIsTheDecisionOfTheNextPost(contentID: String?) async throws {
        let application = #"{"routing":{"broadcasts":true},"delivery":{"retrySchedule":[600]}}"#
        try await withGallery(application: application) { daemon, receiver in
            try await daemon.putSession("a", at: receiver.url(), conditions(can: "SELF BEGINSWITH 'doc/'"))
            try await daemon.putSession("b", at: receiver.url(), conditions(prefers: "SELF ENDSWITH '1'"))
            try await daemon.putSession("c", at: receiver.url(), conditions(can: "SELF == 'pic/2'"))
            let body = contentID.map { #"{"notification-content-id":"\#($0)"}"# } ?? "{}"
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain?broadcast=true", body)
            let posted = try await daemon.post(body, query: "?broadcast=true")
            let receivers = BroadcastPart.explained(explained.json)
            #expect(!receivers.isEmpty && receivers == BroadcastPart.posted(posted.json))
        }
    }

    /// The page Route shows explanations; each has to be the decision of the next post.
    @Test(arguments: ["doc/1", "doc/2", "pic/1", nil])
    func explanationIsTheDecisionOfTheNextPost(contentID: String?) async throws {
        try await withGallery { daemon, receiver in
            let can = "canActivateForTargetContentIdentifierPredicate"
            let prefers = "prefersToActivateForTargetContentIdentifierPredicate"
            let sessions = [
                ("a", "SELF BEGINSWITH 'doc/'", "SELF == 'doc/1'"), ("b", "TRUEPREDICATE", "FALSEPREDICATE"),
                ("c", "SELF BEGINSWITH 'pic/' OR SELF == 'doc/2'", "NOT (SELF ENDSWITH '1' OR SELF == 'x')"),
            ]
            for (id, first, second) in sessions {
                let conditions = #""activationConditions":{"\#(can)":"\#(first)","\#(prefers)":"\#(second)"}"#
                try await daemon.putSession(id, at: receiver.url(), conditions)
            }
            let body = contentID.map { #"{"notification-content-id":"\#($0)"}"# } ?? "{}"
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain?parts=true", body)
            let posted = try await daemon.post(body)
            #expect(explained["decision", "session"] == posted["decision", "session"])
            #expect(explained["decision", "tier"] == posted["decision", "tier"])
            #expect(explained["decision", "reason"] == posted["decision", "reason"])
            for candidate in explained["candidates"].asArray ?? [] {
                let known = try #require(sessions.first { $0.0 == candidate["session"]?.asString })
                for (name, text) in [("canParts", known.1), ("prefersParts", known.2)] {
                    let parts = candidate[name]?.asArray ?? []
                    #expect(parts.compactMap { $0["text"]?.asString }.joined() == text)
                    for part in parts {
                        let part = (text: part["text"]?.asString ?? "", holds: part["holds"]?.asBool)
                        let isLeaf = part.text.contains("SELF") || part.text.contains("PREDICATE")
                        #expect((part.holds != nil) == isLeaf, "\(part.text)")
                    }
                }
            }
        }
    }
}
