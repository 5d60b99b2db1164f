import HTTPTypes
import HummingbirdTesting
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Keys that requests make, change and revoke.
@Suite("Keys by request", .longest)
struct KeyChangeTests {
    private static let mine = ApplicationID(unchecked: "mine")
    private static let keys = [
        APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil),
        APIKey(name: "mine", key: "rk_mine", scopes: [.admin], application: mine, requestsPerSecond: 1000),
        APIKey(name: "reader", key: "rk_read", scopes: [.read], application: nil),
    ]

    private func withKeys<Value: Sendable>(
        _ change: (inout TestDaemon.Options) -> Void = { _ in }, _ body: @Sendable (TestDaemon) async throws -> Value
    ) async throws -> Value {
        var options = TestDaemon.Options(keys: Self.keys)
        change(&options)
        return try await withDaemon(options, body)
    }

    @Test("A key is made with its secret, which is shown once, and is refused after its deletion")
    func made() async throws {
        try await withKeys { daemon in
            let body = #"{"scopes":["sessions","read"],"requestsPerSecond":50}"#
            let made = try await daemon.call(.put, "/v1/keys/ci", body, headers: bearer("rk_root"))
            let secret = try #require(made["key"].asString)
            #expect(made.status == 201 && secret.hasPrefix(APIKey.prefix) && made["createdAt"].asString != nil)
            #expect(made["origin"] == "request" && made["scopes"] == ["sessions", "read"])
            #expect(try await daemon.call(.get, "/v1/applications", headers: bearer(secret)).status == 200)
            expectProblem(
                try await daemon.call(.put, "/v1/keys/b", body, headers: bearer(secret)), 403, "scope-missing")

            let changed = try await daemon.call(
                .put, "/v1/keys/ci", #"{"scopes":["ingest"]}"#, headers: bearer("rk_root"))
            #expect(changed.status == 200 && changed["key"] == .null && changed["requestsPerSecond"] == .null)
            expectProblem(
                try await daemon.call(.get, "/v1/applications", headers: bearer(secret)), 403, "scope-missing")
            let listed = try await daemon.call(.get, "/v1/keys", headers: bearer("rk_read"))
            #expect(listed["keys"].asArray?.map { $0["name"] } == ["root", "mine", "reader", "ci"])
            #expect(listed["keys"].asArray?.map { $0["origin"] == "request" } == [false, false, false, true])
            #expect(!listed.text.contains(secret))

            #expect(try await daemon.call(.delete, "/v1/keys/ci", headers: bearer("rk_root")).status == 204)
            expectProblem(
                try await daemon.call(.get, "/v1/notifications", headers: bearer(secret)), 401, "key-unknown")
            expectProblem(
                try await daemon.call(.delete, "/v1/keys/ci", headers: bearer("rk_root")), 404, "unknown-key")
        }
    }

    @Test("A client keeps its secret to itself and sends the digest, which is replaced alike")
    func digests() async throws {
        try await withKeys { daemon in
            func put(_ secret: String, _ name: String = "ci") async throws -> Answer {
                let digest = APIKey.digest(of: secret).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                return try await daemon.call(
                    .put, "/v1/keys/\(name)", #"{"scopes":["read"],"sha256":"\#(digest)"}"#, headers: bearer("rk_root"))
            }
            let made = try await put("rk_one")
            #expect(made.status == 201 && made["key"] == .null)
            #expect(try await daemon.call(.get, "/v1/lanes", headers: bearer("rk_one")).status == 200)
            #expect(try await put("rk_two").status == 200)
            expectProblem(try await daemon.call(.get, "/v1/lanes", headers: bearer("rk_one")), 401, "key-unknown")
            #expect(try await daemon.call(.get, "/v1/lanes", headers: bearer("rk_two")).status == 200)
            for taken in ["rk_two", "rk_root"] { expectProblem(try await put(taken, "other"), 409, "digest-taken") }
        }
    }

    @Test("A key of one application manages the keys of that application, with no more rights than its own")
    func managers() async throws {
        try await withKeys { daemon in
            func put(_ name: String, _ fields: String, by key: String = "rk_mine") async throws -> Answer {
                try await daemon.call(
                    .put, "/v1/keys/\(name)", #"{"scopes":["admin"]\#(fields)}"#, headers: bearer(key))
            }
            #expect(try await put("theirs", #","application":"theirs""#, by: "rk_root").status == 201)
            let own = #","requestsPerSecond":1000"#
            expectProblem(try await put("a", own), 403, "key-of-one-application")
            expectProblem(try await put("a", #"\#(own),"application":"theirs""#), 404, "unknown-application")
            expectProblem(try await put("a", #","application":"mine""#), 403, "rate-above-own")
            expectProblem(
                try await put("a", #","application":"mine","requestsPerSecond":1001"#), 403, "rate-above-own")
            expectProblem(try await put("theirs", #"\#(own),"application":"mine""#), 409, "key-taken")
            expectProblem(try await put("root", #"\#(own),"application":"mine""#), 409, "key-taken")
            #expect(try await put("a", #"\#(own),"application":"mine""#).status == 201)
            for name in ["theirs", "root"] {
                expectProblem(
                    try await daemon.call(.delete, "/v1/keys/\(name)", headers: bearer("rk_mine")), 404, "unknown-key")
            }
            let listed = try await daemon.call(.get, "/v1/keys", headers: bearer("rk_mine"))
            #expect(listed["keys"].asArray?.map { $0["name"] } == ["mine", "a"])
        }
    }

    @Test("Keys of the configuration are changed there alone, and development mode takes no keys")
    func configuration() async throws {
        try await withKeys { daemon in
            for key in ["rk_root", "rk_mine"] {
                let answer = try await daemon.call(
                    .put, "/v1/keys/mine", #"{"scopes":["admin"]}"#, headers: bearer(key))
                expectProblem(answer, 409, "key-of-configuration")
                expectProblem(
                    try await daemon.call(.delete, "/v1/keys/mine", headers: bearer(key)), 409, "key-of-configuration")
            }
        }
        try await withDaemon { daemon in
            expectProblem(
                try await daemon.call(.put, "/v1/keys/ci", #"{"scopes":["read"]}"#), 409, "development-mode")
        }
    }

    @Test("A key outlives the daemon, and replaced keys of the configuration leave it")
    func restart() async throws {
        let directory = try TemporaryDirectory()
        let secret = try await withKeys({ $0.database = directory.file() }) { daemon in
            let made = try await daemon.call(.put, "/v1/keys/ci", #"{"scopes":["read"]}"#, headers: bearer("rk_root"))
            return try #require(made["key"].asString)
        }
        try await withKeys({ $0.database = directory.file() }) { daemon in
            let answer = try await daemon.call(.get, "/v1/lanes", headers: bearer(secret))
            #expect(answer.status == 200)
        }
        let authenticator = Authenticator(keys: Self.keys)
        let made = APIKey(
            name: "ci", digest: [1], scopes: [.read], application: nil, createdAt: Timestamp(milliseconds: 1))
        authenticator.replace(made: [made])
        #expect(authenticator.replace(with: [Self.keys[0]]) == ["mine", "reader"])
        #expect(authenticator.keys == [Self.keys[0], made])
    }

    @Test("The deletion of a key closes its streams")
    func streams() async throws {
        try await withKeys({ $0.isLive = true }) { daemon in
            let port = try #require(daemon.client.port)
            let made = try await daemon.call(
                .put, "/v1/keys/watcher", #"{"scopes":["read"]}"#, headers: bearer("rk_root"))
            let secret = try #require(made["key"].asString)
            let hasEnded = try await StreamConnection.follow(port, headers: ["Authorization": "Bearer \(secret)"]) {
                // The connection ends without the end of the answer, which is an error to a reader.
                while (try? $0.next()) != nil {}
                return true
            } while: {
                let answer = try await daemon.call(.delete, "/v1/keys/watcher", headers: bearer("rk_root"))
                #expect(answer.status == 204)
            }
            #expect(hasEnded)
        }
    }
}
