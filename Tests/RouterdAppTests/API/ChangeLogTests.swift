import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The log of changes by requests.
@Suite("Log of changes", .longest)
struct ChangeLogTests {
    private static let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    private static let keys = [
        APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil),
        APIKey(name: "auditor", key: "rk_read", scopes: [.read], application: nil),
        APIKey(name: "mine", key: "rk_mine", scopes: [.admin], application: ApplicationID(unchecked: "mine")),
    ]
    private static let delegate = #"{"delegate":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#

    /// Requests and their statuses, in order.
    private static let calls: [(method: HTTPRequest.Method, path: String, body: String?, key: String, status: Int)] = [
        (.put, "/v1/applications/mine", delegate, "rk_mine", 201),
        (.put, "/v1/applications/theirs", "{}", "rk_root", 201),
        (.put, "/v1/applications/theirs/sessions/A", #"{"endpoint":{"stream":true}}"#, "rk_root", 201),
        (.post, "/v1/applications/mine/delegate/rotate-secret", nil, "rk_mine", 200),
        (.put, "/v1/sources/shop", #"{"kind":"cloudevents","application":"mine"}"#, "rk_root", 201),
        (.put, "/v1/sources/shop", #"{"kind":"none","application":"mine"}"#, "rk_root", 422),
        (.delete, "/v1/sources/shop", nil, "rk_mine", 204),
        (.put, "/v1/keys/ci", #"{"scopes":["read"],"application":"mine"}"#, "rk_mine", 201),
        (.delete, "/v1/keys/ci", nil, "rk_root", 204),
        (.put, "/v1/rules", "rules: [{name: a, then: drop}]", "rk_root", 200),
        (
            .post, "/v1/apply?set=a%20b", #"{"kind":"Application","id":"theirs","spec":{"displayName":"T"}}"#,
            "rk_root", 200
        ),
        (.delete, "/v1/applications/theirs", nil, "rk_root", 204),
    ]
    private static let expected = [
        "mine putApplication mine /v1/applications/mine", "root putApplication theirs /v1/applications/theirs",
        "mine rotateDelegateSecret mine /v1/applications/mine/delegate/rotate-secret",
        "root putSource mine /v1/sources/shop", "mine deleteSource mine /v1/sources/shop",
        "mine putKey mine /v1/keys/ci", "root deleteKey mine /v1/keys/ci", "root putRules - /v1/rules",
        "root apply theirs /v1/apply?set=a b", "root deleteApplication theirs /v1/applications/theirs",
    ]

    private func withChanges(_ body: @Sendable (TestDaemon) async throws -> Void) async throws {
        try await withDaemon(TestDaemon.Options(keys: Self.keys)) { daemon in
            for call in Self.calls {
                let answer = try await daemon.call(call.method, call.path, call.body, headers: bearer(call.key))
                #expect(answer.status == call.status, "\(call.path): \(answer.text)")
            }
            try await body(daemon)
        }
    }

    private static func shown(_ answer: Answer) -> [String] {
        (answer["changes"].asArray ?? []).map { change in
            ["key", "operation", "application", "resource"].map { change[$0]?.asString ?? "-" }.joined(separator: " ")
        }
    }

    @Test("Each change of a configured resource has one line, without contents")
    func lines() async throws {
        try await withChanges { daemon in
            let answer = try await daemon.call(.get, "/v1/changes", headers: bearer("rk_read"))
            #expect(Self.shown(answer).reversed() == Self.expected)
            let numbers = answer["changes"].asArray?.compactMap { $0["number"]?.asInt64 }
            #expect(numbers == Array((1...10).reversed()))
            #expect(!answer.text.contains("whsec_") && !answer.text.contains("rk_"))
        }
    }

    @Test("A key of one application reads the changes of that application, and pages follow one another")
    func pages() async throws {
        try await withChanges { daemon in
            func list(_ query: String, _ key: String = "rk_root") async throws -> Answer {
                try await daemon.call(.get, "/v1/changes\(query)", headers: bearer(key))
            }
            let own = Self.expected.filter { $0.contains(" mine /") }
            #expect(try await Self.shown(list("", "rk_mine")).reversed() == own)
            #expect(try await Self.shown(list("?application=mine")).reversed() == own)
            expectProblem(try await list("?application=theirs", "rk_mine"), 404, "unknown-application")
            expectProblem(try await list("?after=-1"), 400, "invalid-parameter")
            expectProblem(try await list("?cursor=YQ"), 400, "invalid-cursor")
            #expect(try await Self.shown(list("?after=8")).reversed() == Array(Self.expected.suffix(2)))
            var (seen, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await list("?limit=4\(cursor.map { "&cursor=\($0)" } ?? "")")
                seen += Self.shown(page)
                cursor = page["cursor"].asString
            } while cursor != nil
            #expect(seen.reversed() == Self.expected)
        }
    }

    @Test("Every operation of the scope admin that changes a resource has a place in the log")
    func operations() throws {
        let names = Operation.all.filter { !$0.isRead && $0.access == .scope(.admin) && !$0.isLogged }.map(\.name)
        // Trials change nothing, and the others change the state of the daemon, of a plugin or of gates.
        #expect(
            names == ["lockGates", "enablePlugin", "evaluateRules", "compareRules", "confirmClock"])
        #expect(Operation.logged.subtracting(Operation.all.map(\.name)).isEmpty)
    }
}
