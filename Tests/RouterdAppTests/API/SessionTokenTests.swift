import Foundation
import HTTPTypes
import HummingbirdTesting
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Tokens of sessions: the rights that a page may hold.
@Suite("Session tokens", .longest)
struct SessionTokenTests {
    private static let application = ApplicationID(unchecked: "com.example.gallery")
    private static let key = APIKey(name: "shop", key: "rk_shop", scopes: [.sessions], application: application)
    private static let claims = SessionToken(
        session: SessionKey(application: application, session: SessionID(unchecked: "tab/ä")),
        device: DeviceID(unchecked: "phone"), expiresAt: Timestamp(milliseconds: 2000), issuer: key)

    // MARK: The text

    @Test func aTokenIsReadAsItWasSigned() throws {
        let tokens = SessionTokens(secret: Array(repeating: 7, count: 32))
        let text = tokens.text(of: Self.claims)
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-.".contains($0)) }
        #expect(text.hasPrefix("rs_") && isPlain)
        #expect(try tokens.token(text, at: Timestamp(milliseconds: 1999)) == Self.claims)
        #expect(throws: SessionTokens.Fault.expired) { try tokens.token(text, at: Timestamp(milliseconds: 2000)) }
        let none = SessionToken(
            session: Self.claims.session, device: nil, expiresAt: Self.claims.expiresAt, issuer: nil)
        #expect(try tokens.token(tokens.text(of: none), at: Timestamp(milliseconds: 0)) == none)
    }

    @Test func nothingElseIsAToken() {
        let tokens = SessionTokens(secret: Array(repeating: 7, count: 32))
        let text = tokens.text(of: Self.claims)
        var texts = ["", "rs_", "rs_.", "rs_..", "rs_e30.", text.dropLast().description, text + "A"]
        texts.append("rk_" + text.dropFirst(3))
        for place in text.indices.dropFirst(3) {
            var other = text
            other.replaceSubrange(place...place, with: text[place] == "A" ? "B" : "A")
            texts.append(other)
        }
        for text in texts {
            // The last digit of each half has bits that no byte has.
            guard let token = try? tokens.token(text, at: Timestamp(milliseconds: 0)) else { continue }
            #expect(token == Self.claims, "\(text)")
        }
    }

    @Test func aTokenSignedWithAnotherSecretIsNone() {
        let tokens = SessionTokens(secret: Array(repeating: 7, count: 32))
        let foreign = SessionTokens(secret: Array(repeating: 8, count: 32)).text(of: Self.claims)
        #expect(throws: SessionTokens.Fault.self) { try tokens.token(foreign, at: Timestamp(milliseconds: 0)) }
    }

    @Test func theSecretIsMadeOnceAndKept() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("tokens")
        let text = try SessionTokens(file: path).text(of: Self.claims)
        #expect(try SessionTokens(file: path).token(text, at: Timestamp(milliseconds: 0)) == Self.claims)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        _ = try directory.write("short", to: "tokens")
        #expect(throws: SessionTokenFileError.self) { try SessionTokens(file: path) }
    }

    // MARK: The rights

    private func withTabs(
        _ body:
            @Sendable (TestDaemon, _ token: @Sendable (String, String) async throws -> [String: String]) async throws
            -> Void
    ) async throws {
        var options = TestDaemon.Options(isLive: true)
        options.observers = [SilentObserver()]
        options.keys = [
            APIKey(name: "admin", key: "rk_admin", scopes: [.admin], application: nil), Self.key,
        ]
        try await withDaemon(options) { daemon in
            let put = try await daemon.call(
                .put, TestDaemon.gallery, #"{"gates":{"onboarding":{}},"delivery":{"timeoutSeconds":1}}"#,
                headers: Self.bearer("rk_admin"))
            #expect(put.status == 201)
            try await body(daemon) { session, fields in
                let answer = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/sessions/\(session)/tokens", fields, headers: Self.bearer("rk_shop"))
                #expect(answer.status == 201, "\(answer.text)")
                return Self.bearer(try #require(answer["token"].asString))
            }
        }
    }

    /// A known observer, so that its name is not the reason of a refusal.
    private struct SilentObserver: SceneObserver {
        let id = PluginID(unchecked: "event-log")

        func observe(_: RouterEvent) {}
    }

    private static func bearer(_ secret: String) -> [String: String] { ["authorization": "Bearer \(secret)"] }

    private static let stream = #"{"endpoint":{"stream":true},"device":"phone","activationState":"foregroundActive"}"#

    @Test func aTokenSpeaksForItsSession() async throws {
        try await withTabs { daemon, token in
            let headers = try await token("a", #"{"device":"phone"}"#)
            let path = "\(TestDaemon.gallery)/sessions/a"
            #expect(try await daemon.call(.put, path, Self.stream, headers: headers).status == 201)
            let patched = try await daemon.call(
                .patch, path, #"{"activationState":"foregroundInactive","userInfo":{"a":1}}"#, headers: headers)
            #expect(patched.status == 200 && patched["activationState"] == "foregroundInactive")
            #expect(try await daemon.call(.get, path, headers: headers)["device"] == "phone")
            let seen = try await daemon.call(.get, "\(path)/application", headers: headers)
            #expect(seen["currentSession"] == "a" && seen["onboardingSession"] == .null)
            let opened = try await daemon.call(
                .post, "\(TestDaemon.gallery)/gate/open", #"{"session":"a"}"#, headers: headers)
            #expect(opened.status == 200, "\(opened.text)")
            #expect(try await daemon.call(.get, "\(path)/application", headers: headers)["onboardingSession"] == "a")
            #expect(
                try await daemon.call(.get, "\(TestDaemon.gallery)/gate?device=phone", headers: headers).status == 200)
            #expect(try await daemon.call(.get, "\(path)/deliveries?waitSeconds=0", headers: headers).status < 300)
            #expect(try await daemon.call(.delete, path, headers: headers).status == 204)
        }
    }

    /// Each request with the token of another session, and its status.
    private static let foreign: [(HTTPRequest.Method, String, String?)] = [
        (.get, "/sessions/b", nil), (.put, "/sessions/b", stream), (.patch, "/sessions/b", "{}"),
        (.delete, "/sessions/b", nil), (.post, "/sessions/b/disconnect", nil),
        (.get, "/sessions/b/application", nil), (.get, "/sessions/b/deliveries?waitSeconds=0", nil),
        (.post, "/sessions/b/deliveries/dlv_1/ack", nil), (.post, "/sessions/b/deliveries/dlv_1/nack", nil),
        (.post, "/sessions/b/deliveries:ack", #"{"ids":[]}"#), (.post, "/sessions/a/tokens", nil),
        (.post, "/sessions/a/test", nil), (.post, "/sessions/c/activate", nil), (.get, "/sessions?device=tablet", nil),
        (.post, "/sessions/c/refresh", nil), (.post, "/sessions:refresh", #"{"device":"tablet"}"#),
        (.post, "/events?device=tablet", #"{"url":"https://example.com"}"#),
        (.post, "/activations", #"{"device":"tablet"}"#), (.post, "/activations", #"{"session":"c"}"#),
        (.post, "/activations", #"{"options":{"requestingSession":"b"}}"#),
        (.patch, "/sessions/a", #"{"role":"observer"}"#),
        (.put, "/sessions/a", #"{"endpoint":{"stream":true},"device":"phone","role":"observer"}"#),
        (.get, "", nil), (.get, "/gates", nil), (.get, "/gate", nil), (.get, "/gate?device=tablet", nil),
        (.post, "/gate/open", #"{"session":"b"}"#),
        (.post, "/gate/progress", #"{"session":"b","term":1}"#),
        (.post, "/gate/succeed", #"{"session":"b","term":1}"#), (.post, "/gate/fail", #"{"session":"b","term":1}"#),
        (.post, "/gate/reset", #"{"session":"b","term":1}"#), (.post, "/gate/reset", #"{"device":"phone"}"#),
        (.post, "/gate/lock", #"{"session":"b"}"#), (.post, "/gate/lock", #"{"device":"phone"}"#),
        (.put, "/gate/configuration", #"{"device":"tablet","configuration":null}"#), (.post, "/gates/lock", nil),
        (.get, "/gate/passcode?device=tablet", nil),
        (.post, "/gate/passcode/create", #"{"session":"b","term":1,"passcode":"1","confirmation":"1"}"#),
        (.post, "/gate/passcode/input", #"{"session":"b","term":1,"passcode":"1"}"#),
        (.post, "/gate/passcode/change", #"{"session":"b","term":1,"passcode":"1"}"#),
        (.post, "/gate/passcode/challenge", #"{"session":"b","term":1}"#),
        (.post, "/gate/passcode/answer", #"{"session":"b","term":1,"challenge":"c","signature":"s"}"#),
        (.post, "/gate/passcode/proof", #"{"session":"b","term":1,"token":"t"}"#),
        (.put, "/gate/passcode/key", #"{"session":"b","term":1,"passcode":"1","deviceKey":null}"#),
        (.post, "/notifications", "{}"), (.post, "/explain", "{}"),
        (.put, "/sessions/a", #"{"endpoint":{"url":"https://evil.example/"},"device":"phone"}"#),
        (.patch, "/sessions/a", #"{"endpoint":{"url":"https://evil.example/"}}"#),
        (.patch, "/sessions/a", #"{"observers":["event-log"]}"#), (.patch, "/sessions/a", #"{"device":"tablet"}"#),
        (.patch, "/sessions/a", #"{"device":null}"#), (.put, "/sessions/a", #"{"endpoint":{"stream":true}}"#),
    ]

    @Test func aTokenIsGoodForNothingElse() async throws {
        try await withTabs { daemon, token in
            let headers = try await token("a", #"{"device":"phone"}"#)
            for (session, device) in [("a", "phone"), ("b", "phone"), ("c", "tablet")] {
                let put = try await daemon.call(
                    .put, "\(TestDaemon.gallery)/sessions/\(session)",
                    Self.stream.replacing("phone", with: device), headers: Self.bearer("rk_shop"))
                #expect(put.status == 201)
            }
            for (method, path, body) in Self.foreign {
                let answer = try await daemon.call(method, TestDaemon.gallery + path, body, headers: headers)
                #expect(answer.status == 403, "\(method) \(path) \(body ?? ""): \(answer.status) \(answer.text)")
            }
            for path in ["/v1/applications", "/v1/status", "/v1/stream", "/v1/lanes", "/v1/sources", "/metrics"] {
                #expect(try await daemon.call(.get, path, headers: headers).status == 403, "\(path)")
            }
            let other = try await daemon.call(.get, "/v1/applications/com.example.other/sessions/a", headers: headers)
            #expect(other.status == 404, "another application is none of its business")
            let session = try await daemon.call(
                .get, "\(TestDaemon.gallery)/sessions/a", headers: Self.bearer("rk_shop"))
            #expect(session["device"] == "phone" && session["endpoint"] == ["stream": true])
        }
    }

    /// Every operation for tokens is in the list above, with another session.
    @Test func everyOperationForTokensIsTried() {
        let paths = Set(Self.foreign.map { "\($0.0) /v1/applications/x\($0.1.prefix { $0 != "?" })" })
        for operation in Operation.all where operation.access.takesTokens {
            guard operation.name != "checkPasscode" else { continue }
            // A session of the token's own device where others of it are no business of the token's.
            let other = operation.access == .session ? "b" : "c"
            let path = operation.path.replacing("{application}", with: "x").replacing("{session}", with: other)
                .replacing("{delivery}", with: "dlv_1")
            #expect(paths.contains("\(operation.method) \(path)"), "\(operation.name)")
        }
    }

    @Test func aTokenDoesForItsDeviceWhatAWindowDoes() async throws {
        try await withTabs { daemon, token in
            let manifest =
                #"{"supportsMultipleScenes":true,"userActivityTypes":["open"],"sceneConfigurations":"#
                + #"[{"name":"Main","endpoint":{"stream":true}}]}"#
            let put = try await daemon.call(
                .put, TestDaemon.gallery,
                #"{"displayName":"Gallery","manifest":\#(manifest),"gates":{"onboarding":{"configured":false}}}"#,
                headers: Self.bearer("rk_admin"))
            #expect(put.status == 200)
            let headers = try await token("a", #"{"device":"phone"}"#)
            for session in ["a", "b"] {
                try await daemon.call(
                    .put, "\(TestDaemon.gallery)/sessions/\(session)", Self.stream, headers: Self.bearer("rk_shop"))
            }
            try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/c", Self.stream.replacing("phone", with: "tablet"),
                headers: Self.bearer("rk_shop"))
            try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/d",
                #"{"device":"phone","endpoint":{"url":"http://127.0.0.1:9/secret"}}"#, headers: Self.bearer("rk_shop"))
            func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Answer {
                try await daemon.call(method, TestDaemon.gallery + path, body, headers: headers)
            }
            let list = try await call(.get, "/sessions")
            #expect(list["sessions"].asArray?.compactMap { $0["id"]?.asString } == ["a", "b", "d"])
            #expect(!list.text.contains("secret") && list["sessions"].asArray?.first?["endpoint"] == ["stream": true])
            let made = try await call(.post, "/activations", #"{"userActivity":{"activityType":"open"}}"#)
            #expect(made.status == 201 && made["device"] == "phone", "\(made.text)")
            let shown = try await call(.post, "/sessions/d/activate")
            #expect(shown.status == 200 && !shown.text.contains("secret"))
            #expect(try await call(.post, "/sessions/a/activate").status == 200, "itself")
            #expect(try await call(.post, "/sessions/b/refresh").status == 202)
            let refreshed = try await call(.post, "/sessions:refresh", #"{"except":"a"}"#)
            #expect(refreshed.status == 202 && (refreshed["refreshed"].asInt64 ?? 0) >= 2)
            let event = try await call(.post, "/events", #"{"url":"https://example.com/x"}"#)
            let handed = try await daemon.call(
                .get, "/v1/notifications/\(event.id)", headers: Self.bearer("rk_admin"))
            #expect(event.status == 202 && handed["device"] == "phone", "\(event.text)")
            let configured = try await call(
                .put, "/gate/configuration", #"{"device":"phone","configuration":{"server":"s"}}"#)
            #expect(configured.status == 200)
            let gate = try await call(.get, "/gate?device=phone")
            #expect(gate["welcome", "displayName"] == "Gallery" && gate["welcome", "configured"] == true)
        }
    }

    @Test func aTokenWithoutADeviceSpeaksForItsSessionAlone() async throws {
        try await withTabs { daemon, token in
            let headers = try await token("a", "{}")
            for session in ["a", "b"] {
                let body = #"{"endpoint":{"stream":true},"activationState":"foregroundActive"}"#
                try await daemon.call(
                    .put, "\(TestDaemon.gallery)/sessions/\(session)", body, headers: Self.bearer("rk_shop"))
            }
            let refused: [(HTTPRequest.Method, String, String?)] = [
                (.get, "/sessions", nil), (.post, "/sessions:refresh", "{}"), (.post, "/sessions/b/activate", nil),
                (.post, "/activations", "{}"), (.post, "/events", #"{"url":"https://example.com/x"}"#),
                (.put, "/gate/configuration", #"{"device":null,"configuration":null}"#),
            ]
            for (method, path, body) in refused {
                let answer = try await daemon.call(method, TestDaemon.gallery + path, body, headers: headers)
                #expect(answer.status == 403, "\(method) \(path): \(answer.status) \(answer.text)")
            }
            let own = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/a/activate", headers: headers)
            #expect(own.status == 200)
        }
    }

    @Test func aTokenIsGoodOnItsDeviceAlone() async throws {
        try await withTabs { daemon, token in
            let headers = try await token("a", #"{"device":"phone"}"#)
            let path = "\(TestDaemon.gallery)/sessions/a"
            #expect(try await daemon.call(.put, path, Self.stream, headers: headers).status == 201)
            let port = try #require(daemon.client.port)
            async let hasEnded = StreamConnection.open(port, "\(path)/deliveries", headers: headers) { stream in
                while let event = try stream.next() { if event.type == "ended" { return false } }
                return true
            }
            try await daemon.until { daemon.host.streams.count == 1 }
            func move(to device: String) async throws {
                let body = #"{"device":"\#(device)"}"#
                let moved = try await daemon.call(.patch, path, body, headers: Self.bearer("rk_shop"))
                #expect(moved.status == 200)
            }
            try await move(to: "tablet")
            #expect(try await hasEnded, "The receiver may connect again with another token.")
            let requests: [(HTTPRequest.Method, String, String?)] = [
                (.get, "/sessions/a", nil), (.put, "/sessions/a", Self.stream), (.patch, "/sessions/a", "{}"),
                (.post, "/sessions/a/disconnect", nil), (.post, "/sessions/a/activate", nil),
                (.get, "/sessions/a/deliveries?after=0", nil), (.get, "/sessions/a/deliveries?waitSeconds=0", nil),
                (.post, "/sessions/a/deliveries:ack", #"{"ids":[]}"#), (.get, "/sessions", nil),
                (.post, "/gate/open", #"{"session":"a"}"#), (.post, "/gate/lock", #"{"session":"a"}"#),
                (.post, "/gate/reset", #"{"session":"a","term":1}"#), (.get, "/gate?device=phone", nil),
                (.post, "/gate/passcode/input", #"{"session":"a","term":1,"passcode":"1"}"#),
                (.delete, "/sessions/a", nil),
            ]
            for (method, path, body) in requests {
                let answer = try await daemon.call(method, TestDaemon.gallery + path, body, headers: headers)
                expectProblem(answer, 403, "token-of-another-session")
            }
            try await move(to: "phone")
            #expect(try await daemon.call(.get, path, headers: headers).status == 200)
        }
    }

    @Test func aTokenOfASessionThatWasThereDoesNotRegisterItAgain() async throws {
        try await withTabs { daemon, token in
            let path = "\(TestDaemon.gallery)/sessions/a"
            let early = try await token("a", #"{"device":"phone"}"#)
            #expect(try await daemon.call(.put, path, Self.stream, headers: early).status == 201)
            let headers = try await token("a", "{}")
            #expect(try await daemon.call(.put, path, Self.stream, headers: headers).status == 200)
            try await daemon.call(.delete, path, headers: Self.bearer("rk_shop"))
            expectProblem(try await daemon.call(.put, path, Self.stream, headers: headers), 404, "unknown-session")
            #expect(try await daemon.call(.put, path, Self.stream, headers: Self.bearer("rk_shop")).status == 201)
            #expect(try await daemon.call(.put, path, Self.stream, headers: headers).status == 200)
        }
    }

    @Test func aTokenEndsWithItsTimeAndWithItsKey() throws {
        let tokens = SessionTokens()
        let header = "Bearer \(tokens.text(of: Self.claims))"
        let (before, after) = (Timestamp(milliseconds: 1999), Timestamp(milliseconds: 2000))
        let known = Authenticator(keys: [Self.key], tokens: tokens)
        func code(_ authenticator: Authenticator, _ header: String, at time: Timestamp) -> String? {
            do {
                _ = try authenticator.caller(authorization: header, needing: .sessions, orToken: true, at: time)
                return nil
            } catch { return error.code }
        }
        #expect(code(known, header, at: before) == nil)
        #expect(code(known, header, at: after) == "token-expired")
        #expect(code(known, "Bearer rs_e30.e30", at: before) == "token-unknown")
        let other = APIKey(name: "new", key: "rk_new", scopes: [.sessions], application: nil)
        #expect(code(Authenticator(keys: [other], tokens: tokens), header, at: before) == "token-unknown")
        #expect(code(Authenticator(keys: [], tokens: tokens), header, at: before) == "token-unknown")
        #expect(known.tenant(authorization: header) == .some(.some(Self.application)))
        let demoted = APIKey(name: "shop", key: "rk_shop", scopes: [.ingest], application: nil)
        #expect(code(Authenticator(keys: [demoted], tokens: tokens), header, at: before) == "token-unknown")
    }
}
