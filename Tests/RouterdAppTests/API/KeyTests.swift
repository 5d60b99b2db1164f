import HTTPTypes
import NIOCore
import NIOEmbedded
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The rights of API keys, and the facts hidden from them.
@Suite("API keys", .longest)
struct KeyTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let mine = ApplicationID(unchecked: "mine")

    private static let keys = [
        APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil),
        APIKey(name: "in", key: "rk_ingest", scopes: [.ingest], application: nil),
        APIKey(name: "scenes", key: "rk_sessions", scopes: [.sessions], application: nil),
        APIKey(name: "mine", key: "rk_mine", scopes: [.admin], application: mine),
    ]

    private func withKeys(_ body: @Sendable (TestDaemon) async throws -> Void) async throws {
        try await withDaemon(TestDaemon.Options(keys: Self.keys)) { daemon in
            for application in ["mine", "theirs"] {
                let path = "/v1/applications/\(application)"
                #expect(try await daemon.call(.put, path, "{}", headers: bearer("rk_root")).status == 201)
                let session = #"{"endpoint":{"url":"\#(Self.url)","secret":"\#(Receiver.secret)"}}"#
                let answer = try await daemon.call(
                    .put, "\(path)/sessions/\(application)-1", session, headers: bearer("rk_root"))
                #expect(answer.status == 201)
            }
            try await body(daemon)
        }
    }

    @Test func keysAreListedWithoutTheirDigests() async throws {
        try await withKeys { daemon in
            let answer = try await daemon.call(.get, "/v1/keys", headers: bearer("rk_root"))
            let keys = try #require(answer["keys"].asArray)
            #expect(keys.map { $0["name"] } == ["root", "in", "scenes", "mine"])
            #expect(keys.map { $0["isCaller"] } == [true, false, false, false])
            #expect(
                keys[1]["scopes"] == ["ingest"] && keys[1]["application"] == .null && keys[3]["application"] == "mine")
            for key in Self.keys {
                let digest = key.digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                #expect(!answer.text.contains(digest) && !answer.text.contains("rk_"))
            }
            let own = try await daemon.call(.get, "/v1/keys", headers: bearer("rk_mine"))
            #expect(own["keys"].asArray?.map { $0["name"] } == ["mine"])
            expectProblem(try await daemon.call(.get, "/v1/keys", headers: bearer("rk_sessions")), 403, "scope-missing")
        }
    }

    @Test(
        "A key of the scope read changes nothing and takes no deliveries; one of the scope metrics reads metrics alone")
    func keysThatRead() async throws {
        let keys =
            Self.keys + [
                APIKey(name: "auditor", key: "rk_read", scopes: [.read], application: nil),
                APIKey(name: "scraper", key: "rk_metrics", scopes: [.metrics], application: nil),
            ]
        try await withDaemon(TestDaemon.Options(keys: keys)) { daemon in
            let gallery = "/v1/applications/com.example.Gallery"
            #expect(try await daemon.call(.put, gallery, "{}", headers: bearer("rk_root")).status == 201)
            let stream = #"{"endpoint":{"stream":true}}"#
            #expect(
                try await daemon.call(.put, "\(gallery)/sessions/A", stream, headers: bearer("rk_root")).status == 201)
            for path in [gallery, "\(gallery)/sessions/A", "/v1/notifications", "/v1/keys", "/v1/lanes", "/metrics"] {
                #expect(try await daemon.call(.get, path, headers: bearer("rk_read")).status == 200)
                let answer = try await daemon.call(.get, path, headers: bearer("rk_metrics"))
                #expect(answer.status == (path == "/metrics" ? 200 : 403))
            }
            let deliveries = "\(gallery)/sessions/A/deliveries?waitSeconds=0"
            expectProblem(try await daemon.call(.get, deliveries, headers: bearer("rk_read")), 403, "scope-missing")
            expectProblem(try await daemon.call(.put, gallery, "{}", headers: bearer("rk_read")), 403, "scope-missing")
            let sent = try await daemon.call(.post, "\(gallery)/notifications", "{}", headers: bearer("rk_read"))
            expectProblem(sent, 403, "scope-missing")
        }
    }

    @Test("Replaced keys are refused at once, and their streams close")
    func replaced() throws {
        let keys = Self.keys
        let authenticator = Authenticator(keys: keys)
        let now = Timestamp(milliseconds: 0)
        func caller(_ key: String) throws(Problem) -> Caller {
            try authenticator.caller(authorization: "Bearer \(key)", needing: .ingest, at: now)
        }
        let (kept, revoked) = (EmbeddedChannel(), EmbeddedChannel())
        for channel in [kept, revoked] {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }
        authenticator.watch(kept, of: try caller("rk_root"))
        authenticator.watch(revoked, of: try caller("rk_ingest"))
        #expect(authenticator.replace(with: []) == nil, "Development mode begins with a start.")
        #expect(authenticator.replace(with: keys.filter { $0.name != "in" }) == ["in"])
        #expect(kept.isActive && !revoked.isActive)
        #expect(throws: Problem.self) { try caller("rk_ingest") }
        let late = EmbeddedChannel()
        try late.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        authenticator.watch(late, of: Caller(key: keys[1]))
        #expect(!late.isActive, "The key was revoked between its check and the stream.")
    }

    /// Only a key with a rate is limited by it, and refused requests count too.
    @Test func aKeyMayHaveARate() async throws {
        let keys = [
            APIKey(name: "quick", key: "rk_quick", scopes: [.ingest], application: nil),
            APIKey(name: "slow", key: "rk_slow", scopes: [.ingest], application: nil, requestsPerSecond: 1),
        ]
        try await withDaemon(TestDaemon.Options(keys: keys)) { daemon in
            func ask(_ key: String) async throws -> Answer {
                try await daemon.call(.get, "/v1/notifications", headers: bearer(key))
            }
            #expect(try await ask("rk_slow").status == 200)
            let answer = try await ask("rk_slow")
            expectProblem(answer, 429, "too-many-requests")
            #expect(answer.headers[.retryAfter] == "1")
            for _ in 0..<10 { #expect(try await ask("rk_quick").status == 200) }
            #expect(try await daemon.call(.get, "/healthz").status == 200)
        }
    }

    /// Each call, the scope that it needs, and its status with that scope.
    private static let calls: [(method: HTTPRequest.Method, path: String, body: String?, scope: String, status: Int)] =
        [
            (.get, "/v1/applications", nil, "admin", 200),
            (.get, "/v1/applications/mine", nil, "admin", 200),
            (.put, "/v1/applications/mine", "{}", "admin", 200),
            (.delete, "/v1/applications/mine", nil, "admin", 204),
            (.get, "/v1/applications/mine/sessions", nil, "sessions", 200),
            (.get, "/v1/applications/mine/sessions/mine-1", nil, "sessions", 200),
            (.put, "/v1/applications/mine/sessions/mine-1", #"{"endpoint":{"url":"\#(url)"}}"#, "sessions", 200),
            (.patch, "/v1/applications/mine/sessions/mine-1", "{}", "sessions", 200),
            (.delete, "/v1/applications/mine/sessions/mine-1", nil, "sessions", 204),
            (.post, "/v1/applications/mine/sessions:batch", "", "sessions", 200),
            (.get, "/v1/applications/mine/gates", nil, "sessions", 200),
            (.get, "/v1/applications/mine/gate", nil, "sessions", 404),
            (.post, "/v1/applications/mine/gate/open", #"{"session":"mine-1"}"#, "sessions", 404),
            (.post, "/v1/applications/mine/gate/reset", #"{"device":"d"}"#, "admin", 404),
            (.get, "/v1/applications/mine/gate/passcode", nil, "sessions", 404),
            (.post, "/v1/applications/mine/gate/passcode/check", #"{"passcode":"x"}"#, "sessions", 404),
            (
                .post, "/v1/applications/mine/gate/passcode/input",
                #"{"session":"mine-1","term":0,"passcode":"x"}"#, "sessions", 404
            ),
            (.post, "/v1/applications/mine/notifications", "{}", "ingest", 202),
            (.post, "/v1/applications/mine/notifications:batch", "", "ingest", 200),
            (.post, "/v1/applications/mine/explain", "{}", "ingest", 200),
            (.get, "/v1/notifications", nil, "ingest", 200),
        ]

    @Test(arguments: calls)
    func scopesAreNeeded(
        _ call: (method: HTTPRequest.Method, path: String, body: String?, scope: String, status: Int)
    ) async throws {
        try await withKeys { daemon in
            func ask(_ headers: [String: String]) async throws -> Answer {
                try await daemon.call(call.method, call.path, call.body, headers: headers)
            }
            let nobody = try await ask([:])
            expectProblem(nobody, 401, "key-missing")
            #expect(nobody.headers[.wwwAuthenticate] == "Bearer")
            for wrong in ["Bearer", "Basic cms6", "rk_root", "Bearer  "] {
                expectProblem(try await ask(["authorization": wrong]), 401, "key-missing", "\(wrong)")
            }
            expectProblem(try await ask(bearer("rk_nobody")), 401, "key-unknown")
            expectProblem(try await ask(bearer("rk_root2")), 401, "key-unknown")
            for scope in ["ingest", "sessions"] where scope != call.scope {
                expectProblem(try await ask(bearer("rk_\(scope)")), 403, "scope-missing", "\(scope)")
            }
            let key = call.scope == "admin" ? "rk_root" : "rk_\(call.scope)"
            #expect(try await ask(bearer(key)).status == call.status)
        }
    }

    /// A key of one application gets the same answer for another application as for one that does not exist.
    @Test(arguments: calls.filter { $0.path.contains("/mine") })
    func othersDoNotExist(
        _ call: (method: HTTPRequest.Method, path: String, body: String?, scope: String, status: Int)
    ) async throws {
        try await withKeys { daemon in
            func ask(_ application: String) async throws -> Answer {
                let path = call.path.split(separator: "mine", omittingEmptySubsequences: false).joined(
                    separator: application)
                let answer = try await daemon.call(call.method, path, call.body ?? "{}", headers: bearer("rk_mine"))
                expectProblem(answer, 404, "unknown-application")
                return answer
            }
            let theirs = try await ask("theirs")
            let nobodys = try await ask("nobody")
            #expect(theirs.text.split(separator: "theirs").count == nobodys.text.split(separator: "nobody").count)
            #expect(
                theirs.text.split(separator: "theirs", omittingEmptySubsequences: false).joined(separator: "nobody")
                    == nobodys.text)
            let still = try await daemon.call(.get, "/v1/applications/theirs/sessions", headers: bearer("rk_root"))
            #expect(still.ids("sessions") == ["theirs-1"])
        }
    }

    @Test func listsShowOnesOwnOnly() async throws {
        try await withKeys { daemon in
            let root = bearer("rk_root"), mine = bearer("rk_mine")
            let theirs = try await daemon.call(.post, "/v1/applications/theirs/notifications", "{}", headers: root)
            let own = try await daemon.call(.post, "/v1/applications/mine/notifications", "{}", headers: mine)
            #expect(try await daemon.call(.get, "/v1/applications", headers: mine).ids("applications") == ["mine"])
            #expect(
                try await daemon.call(.get, "/v1/applications", headers: root).ids("applications") == [
                    "mine", "theirs",
                ])
            expectProblem(
                try await daemon.call(.get, "/v1/status", headers: mine), 403, "key-of-one-application")
            #expect(try await daemon.call(.get, "/v1/status", headers: root).status == 200)
            #expect(try await daemon.call(.get, "/v1/notifications", headers: mine).ids("notifications") == [own.id])
            #expect(
                try await daemon.call(.get, "/v1/notifications", headers: root).ids("notifications") == [
                    own.id, theirs.id,
                ])
            expectProblem(
                try await daemon.call(.get, "/v1/notifications?application=theirs", headers: mine), 404,
                "unknown-application")
            #expect(try await daemon.call(.get, "/v1/notifications/\(own.id)", headers: mine).status == 200)
            let unknown = try await daemon.call(.get, "/v1/notifications/ntf_01ARZ3NDEKTSV4RRFFQ69G5FAV", headers: mine)
            let hidden = try await daemon.call(.get, "/v1/notifications/\(theirs.id)", headers: mine)
            expectProblem(unknown, 404, "unknown-notification")
            expectProblem(hidden, 404, "unknown-notification")
        }
    }

    @Test func healthNeedsNoKey() async throws {
        try await withKeys { daemon in
            for path in ["/healthz", "/readyz"] {
                let answer = try await daemon.call(.get, path)
                #expect(answer.status == 200, "\(path)")
            }
        }
    }

    @Test func schemeIsReadInAnyCase() async throws {
        try await withKeys { daemon in
            let answer = try await daemon.call(.get, "/v1/applications", headers: ["authorization": "bEARER rk_root"])
            #expect(answer.status == 200)
        }
    }
}

/// The headers of a request with a key.
func bearer(_ key: String) -> [String: String] { ["authorization": "Bearer \(key)"] }
