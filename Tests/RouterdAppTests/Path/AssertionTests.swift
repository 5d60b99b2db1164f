import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Assertions of Web Authentication in place of a device's signature, over HTTP.
@Suite("Assertions at a locked gate", .longest)
struct AssertionTests {
    private static let party = #"{"rpId":"example.org","origins":["https://till.example.org"]}"#

    private func policy(_ party: String) -> String {
        #"{"minLength":4,"retryLimit":3,"lockTimeoutSeconds":0,"webAuthn":\#(party)}"#
    }

    /// A locked tablet whose device key is that of an authenticator.
    private func withLockedTablet(
        _ authenticator: TestAuthenticator, policy: String, _ body: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                try await daemon.putTablet(receiver, policy: policy)
                try await daemon.takeOn(passcode: "1234", deviceKey: authenticator.publicKey)
                try await daemon.leaveAndComeBack()
                try await body(daemon)
            }
        }
    }

    @Test("An assertion unlocks, once")
    func unlocks() async throws {
        let authenticator = TestAuthenticator()
        try await withLockedTablet(authenticator, policy: policy(Self.party)) { daemon in
            #expect(try await daemon.passcodeStatus["webAuthn"] == JSONValue(parsing: Array(Self.party.utf8)))
            let text = try await daemon.challenge()
            let fields = #""challenge":"\#(text)","assertion":\#(try authenticator.json(text))"#
            let answer = try await daemon.atGate("passcode/answer", fields)
            #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
            try await daemon.leaveAndComeBack()
            expectProblem(try await daemon.atGate("passcode/answer", fields), 409, "stale-challenge")
        }
    }

    @Test("An assertion that is not in order unlocks nothing, says why, and uses up its challenge")
    func refused() async throws {
        let authenticator = TestAuthenticator()
        try await withLockedTablet(authenticator, policy: policy(Self.party)) { daemon in
            func expect(_ rule: String, _ change: (inout TestAuthenticator) -> Void) async throws {
                let text = try await daemon.challenge()
                var wrong = authenticator
                change(&wrong)
                func answer(_ authenticator: TestAuthenticator) async throws -> Answer {
                    let fields = #""challenge":"\#(text)","assertion":\#(try authenticator.json(text))"#
                    return try await daemon.atGate("passcode/answer", fields)
                }
                let problem = try await answer(wrong)
                expectProblem(problem, 403, "invalid-assertion")
                #expect(problem["rule"].asString == rule, "\(problem.text)")
                expectProblem(try await answer(authenticator), 409, "stale-challenge")
            }
            try await expect("origin") { $0.origin = "https://attacker.example" }
            try await expect("rpIdHash") { $0.relyingParty = "attacker.example" }
            try await expect("UV") { $0.flags = 1 }
            try await expect("signature") { $0 = TestAuthenticator() }
            #expect(try await daemon.gateState == "locked")
            #expect(try await daemon.passcodeStatus["triesRemaining"] == 3)
        }
    }

    @Test("An assertion that cannot be read leaves the challenge open")
    func unreadable() async throws {
        let authenticator = TestAuthenticator()
        try await withLockedTablet(authenticator, policy: policy(Self.party)) { daemon in
            let text = try await daemon.challenge()
            let whole = try authenticator.json(text)
            func answer(_ assertion: String, _ more: String = "") async throws -> Answer {
                try await daemon.atGate(
                    "passcode/answer", #""challenge":"\#(text)","assertion":\#(assertion)\#(more)"#)
            }
            expectProblem(try await answer("{}"), 422, "missing-field")
            expectProblem(try await answer(whole, #","signature":"AA""#), 422, "invalid-field")
            let short = #"{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA"}"#
            expectProblem(try await answer(short), 422, "unreadable-assertion")
            expectProblem(try await answer(short.replacing(#""AA""#, with: #""A+""#)), 422, "invalid-field")
            #expect(try await answer(whole)["state"] == "opened")
        }
    }

    @Test("An application without a relying party takes no assertion")
    func withoutParty() async throws {
        let authenticator = TestAuthenticator()
        try await withLockedTablet(authenticator, policy: Tablet.policy) { daemon in
            let text = try await daemon.challenge()
            let fields = #""challenge":"\#(text)","assertion":\#(try authenticator.json(text))"#
            expectProblem(try await daemon.atGate("passcode/answer", fields), 403, "assertions-not-allowed")
            #expect(try await daemon.passcodeStatus["webAuthn"] == .null)
        }
    }

    @Test("Relying parties that no browser would use are refused")
    func badSettings() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                func expect(_ pointer: String, _ party: String) async throws {
                    let body = Tablet.application(receiver, policy: policy(party))
                    let answer = try await daemon.call(.put, TestDaemon.gallery, body)
                    #expect(answer.status == 422, "\(party): \(answer.text)")
                    #expect(answer["pointer"].asString == "/gates/passcode/webAuthn\(pointer)", "\(answer.text)")
                }
                func origin(_ text: String, of id: String = "example.org") -> String {
                    #"{"rpId":"\#(id)","origins":["\#(text)"]}"#
                }
                try await expect("/rpId", #"{"origins":["https://example.org"]}"#)
                for id in ["", "Example.org", "example.org.", "a..b", "-a.example", "https://example.org", "ex_ample"] {
                    try await expect("/rpId", origin("https://example.org", of: id))
                }
                try await expect("/origins", #"{"rpId":"example.org"}"#)
                try await expect("/origins", #"{"rpId":"example.org","origins":[]}"#)
                for text in [
                    "http://example.org", "https://example.org/", "https://example.net", "https://notexample.org",
                    "https://example.org:0", "https://example.org:65536", "https://example.org:1:2", "example.org",
                    "https://Example.org",
                ] { try await expect("/origins/0", origin(text)) }
                for text in [
                    origin("https://example.org"), origin("https://a.example.org:8443"),
                    origin("http://localhost:8080", of: "localhost"),
                ] {
                    let answer = try await daemon.call(
                        .put, TestDaemon.gallery, Tablet.application(receiver, policy: policy(text)))
                    #expect(answer.status == 200 || answer.status == 201, "\(answer.text)")
                    #expect(answer["gates", "passcode", "webAuthn"] == (try JSONValue(parsing: Array(text.utf8))))
                }
            }
        }
    }
}

extension TestDaemon {
    /// A challenge for the key of the device.
    fileprivate func challenge() async throws -> String {
        let answer = try await atGate("passcode/challenge")
        return try #require(answer["challenge"].asString, "\(answer.text)")
    }
}
