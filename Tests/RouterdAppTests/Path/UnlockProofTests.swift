import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting

/// Outside proofs over HTTP, with keys of both kinds that are made here.
@Suite("Outside proofs", .longest)
struct UnlockProofTests {
    /// A tablet that is locked, with win-1 in the foreground. The person is `cashier-12`.
    private func withLockedTablet(
        _ issuer: TestIssuer, _ more: String = "", _ options: TestDaemon.Options = .init(),
        _ body: @Sendable (TestDaemon, Receiver) async throws -> Void
    ) async throws {
        try await withReceiver { receiver in
            try await withDaemon(options) { daemon in
                try await daemon.putTablet(receiver, policy: issuer.policy(more))
                try await daemon.onboard()
                try await daemon.leaveAndComeBack()
                try await body(daemon, receiver)
            }
        }
    }

    private static func seconds(_ offset: Int64) -> JSONValue {
        .number(JSONNumber(Int64(Date().timeIntervalSince1970) + offset))
    }

    @Test("A token that a key of the issuer has signed unlocks, by RS256 and by ES256", arguments: ["ec", "rsa"])
    func unlocks(key: String) async throws {
        let issuer = try TestIssuer()
        try await withLockedTablet(issuer) { daemon, receiver in
            let nonce = try await daemon.proofChallenge()
            #expect(nonce.hasPrefix("routerd prove com.example.gallery tablet "))
            let answer = try await daemon.prove(try issuer.token(nonce, key: key))
            #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
            let proof: JSONValue = ["issuer": .string(TestIssuer.name), "subject": "cashier-12"]
            #expect(answer["proof"] == proof)
            #expect(try await daemon.call(.get, "\(Tablet.gate)?device=tablet")["proof"] == proof)
            try await daemon.until {
                receiver.all.contains { request in
                    let body = try? JSONValue(parsing: request.body)
                    return body?["type"] == "scene.showApplicationScreen" && body?["data"]?["gate"]?["proof"] == proof
                }
            }
            // A proof that is sent again finds the gate open, and then another lock.
            let again = try issuer.token(nonce, key: key)
            expectProblem(try await daemon.prove(again), 409, "wrong-gate-state")
            try await daemon.leaveAndComeBack()
            expectProblem(try await daemon.prove(again), 409, "stale-challenge")
        }
    }

    @Test("A token that is not in order unlocks nothing, says why, and uses up its challenge")
    func refused() async throws {
        let (issuer, stranger) = (try TestIssuer(), try TestIssuer())
        try await withLockedTablet(issuer) { daemon, _ in
            func expect(_ rule: String, _ make: (String) throws -> String) async throws {
                let token = try make(try await daemon.proofChallenge())
                let answer = try await daemon.prove(token)
                expectProblem(answer, 403, "invalid-proof")
                #expect(answer["rule"].asString == rule, "\(answer.text)")
                #expect(try await daemon.gateState == "locked")
            }
            try await expect("aud") { try issuer.token($0, ["aud": "another"]) }
            try await expect("iss") { try issuer.token($0, ["iss": "https://id.example.evil"]) }
            try await expect("exp") { try issuer.token($0, ["exp": Self.seconds(-1)]) }
            try await expect("exp") { try issuer.token($0, ["exp": .null]) }
            try await expect("nbf") { try issuer.token($0, ["nbf": Self.seconds(120)]) }
            try await expect("iat") { try issuer.token($0, ["iat": Self.seconds(120)]) }
            try await expect("sub") { try issuer.token($0, ["sub": "cashier-13"]) }
            try await expect("kid") { try issuer.token($0, named: "other") }
            try await expect("nonce") { try issuer.token($0, ["nonce": .null]) }
            // Signed by a key of the same name, and by the other key of the issuer.
            try await expect("signature") { try stranger.token($0) }
            try await expect("signature") { try stranger.token($0, key: "rsa") }
            try await expect("signature") { try issuer.token($0, key: "ec", alg: "RS256", named: "rsa") }
            // Without a signature, and by an HMAC whose secret is the public key.
            try await expect("alg") { nonce in
                let parts = try issuer.token(nonce, alg: "none").split(separator: ".")
                return "\(parts[0]).\(parts[1])."
            }
            try await expect("alg") { nonce in
                let parts = try issuer.token(nonce, key: "rsa", alg: "HS256").split(separator: ".")
                let secret = SymmetricKey(data: Data(issuer.rsa.publicKey.pemRepresentation.utf8))
                let mark = HMAC<SHA256>.authenticationCode(for: Data("\(parts[0]).\(parts[1])".utf8), using: secret)
                return "\(parts[0]).\(parts[1]).\(Base64URL.encode(mark))"
            }
            try await expect("token") { _ in "no token" }
            try await expect("token") { String(repeating: $0, count: 1000) }
            // None of them was a try of the passcode, and a refused token is not taken when it is mended.
            #expect(try await daemon.passcodeStatus["triesRemaining"] == 3)
            let nonce = try await daemon.proofChallenge()
            expectProblem(try await daemon.prove(try issuer.token(nonce, ["sub": "x"])), 403, "invalid-proof")
            expectProblem(try await daemon.prove(try issuer.token(nonce)), 409, "stale-challenge")
        }
    }

    @Test("A token for another device, or for another session's term, is refused")
    func otherDevice() async throws {
        let issuer = try TestIssuer()
        try await withLockedTablet(issuer) { daemon, receiver in
            let nonce = try await daemon.proofChallenge()
            let other = nonce.replacing(" tablet ", with: " phone ")
            expectProblem(try await daemon.prove(try issuer.token(other)), 409, "stale-challenge")
            expectProblem(
                try await daemon.atGate("passcode/proof", #""token":"\#(try issuer.token(nonce))""#, by: "win-2"), 409,
                "not-responsible")
            #expect(try await daemon.prove(try issuer.token(nonce))["state"] == "opened")
        }
    }

    @Test("The application's own back end may vouch for any person")
    func anySubject() async throws {
        let issuer = try TestIssuer()
        try await withLockedTablet(issuer, #","anySubject":true"#) { daemon, _ in
            let token = try issuer.token(try await daemon.proofChallenge(), ["sub": "supervisor-1"])
            let answer = try await daemon.prove(token)
            #expect(answer["state"] == "opened" && answer["proof", "subject"] == "supervisor-1", "\(answer.text)")
        }
    }

    @Test("Issuers are shown as they were put, and sessions see their names")
    func settings() async throws {
        let issuer = try TestIssuer()
        try await withLockedTablet(issuer) { daemon, receiver in
            let gates = try await daemon.call(.get, TestDaemon.gallery)["gates"]
            let keys = gates["passcode"]?["issuers"]?.asArray?.first?["jwks"]?["keys"]?.asArray
            #expect(keys?.compactMap { $0["kid"]?.asString } == ["ec", "rsa"])
            let body = #"{"gates":\#(String(decoding: gates.serialized(), as: UTF8.self))}"#
            #expect(try await daemon.putGallery(body).status == 200)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["gates"] == gates)
            let names: JSONValue = [["issuer": .string(TestIssuer.name), "audience": "till"]]
            #expect(try await daemon.passcodeStatus["issuers"] == names)
            try await daemon.putGallery(Tablet.application(receiver))
            #expect(try await daemon.passcodeStatus["issuers"] == .null)
            expectProblem(
                try await daemon.atGate("passcode/challenge", #""proof":true"#), 403, "proofs-not-allowed")
            expectProblem(try await daemon.prove("x"), 403, "proofs-not-allowed")
        }
    }

    @Test("Issuers that cannot be used are refused, and a private key is not repeated")
    func badSettings() async throws {
        let issuer = try TestIssuer()
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                func expect(_ pointer: String, _ issuers: String) async throws {
                    let policy = #"{"issuers":\#(issuers)}"#
                    let answer = try await daemon.putGallery(Tablet.application(receiver, policy: policy))
                    #expect(answer.status == 422, "\(answer.text)")
                    #expect(answer["pointer"].asString == "/gates/passcode/issuers\(pointer)", "\(answer.text)")
                    #expect(!answer.text.contains("Canary"))
                }
                let head = #""issuer":"i","audience":"a""#
                try await expect("/0/jwks", "[{\(head)}]")
                try await expect("/0/audience", #"[{"issuer":"i","jwks":\#(issuer.jwks)}]"#)
                try await expect("/0/issuer", #"[{"issuer":"","audience":"a","jwks":\#(issuer.jwks)}]"#)
                try await expect("/0/jwks/keys", #"[{\#(head),"jwks":{}}]"#)
                try await expect("/0/jwks/keys", #"[{\#(head),"jwks":{"keys":[]}}]"#)
                let twice = "{\(head),\"jwks\":\(issuer.jwks)}"
                try await expect("/1/issuer", "[\(twice),\(twice)]")
                let zeros = String(repeating: "A", count: 43)
                let point = #""kty":"EC","crv":"P-256","kid":"a","x":"\#(zeros)","y":"\#(zeros)""#
                try await expect("/0/jwks/keys/0", "[{\(head),\"jwks\":{\"keys\":[{\(point)}]}}]")
                try await expect("/0/jwks/keys/0", "[{\(head),\"jwks\":{\"keys\":[{\(point),\"d\":\"Canary\"}]}}]")
                let keys = issuer.jwks.replacing(#""kid":"rsa""#, with: #""kid":"ec""#)
                try await expect("/0/jwks/keys/1", "[{\(head),\"jwks\":\(keys)}]")
            }
        }
    }

    @Test("No log line, webhook or file holds a token")
    func leaks() async throws {
        let (issuer, log, directory) = (try TestIssuer(), CapturedLog(), try TemporaryDirectory())
        let options = TestDaemon.Options(database: directory.file(), isLive: true, logger: log.logger)
        let tokens = Tokens()
        try await withLockedTablet(issuer, "", options) { daemon, receiver in
            for claims: [String: JSONValue] in [["aud": "another"], [:]] {
                let token = try issuer.token(try await daemon.proofChallenge(), claims)
                tokens.add(token)
                let answer = try await daemon.prove(token)
                #expect(tokens.parts.allSatisfy { !answer.text.contains($0) })
            }
            #expect(try await daemon.gateState == "opened")
            let told = receiver.all.map { String(decoding: $0.body, as: UTF8.self) }
            #expect(told.allSatisfy { text in tokens.parts.allSatisfy { !text.contains($0) } })
        }
        #expect(tokens.parts.count == 6 && !log.text.isEmpty)
        for part in tokens.parts {
            #expect(!log.text.contains(part))
            #expect(try Traces.find(part, in: directory).isEmpty)
        }
        #expect(try !Traces.find("cashier-12", in: directory).isEmpty, "a text that is stored is found")
    }

    /// Tokens that were sent, by their parts.
    private final class Tokens: Sendable {
        private let kept = Mutex<[String]>([])

        func add(_ token: String) { kept.withLock { $0 += token.split(separator: ".").map(String.init) } }

        var parts: [String] { kept.withLock(\.self) }
    }
}

extension APICaller {
    /// Onboards the person `cashier-12`, with the passcode 1234.
    fileprivate func onboard() async throws {
        #expect(try await atGate("open", term: nil)["state"] == "onboarding")
        #expect(try await atGate("passcode/create", #""passcode":"1234","confirmation":"1234""#).status == 201)
        #expect(try await atGate("succeed", #""onboardingId":"cashier-12""#)["state"] == "opened")
    }

    /// The nonce for a token.
    fileprivate func proofChallenge() async throws -> String {
        let answer = try await atGate("passcode/challenge", #""proof":true"#)
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(answer["challenge"].asString)
    }

    fileprivate func prove(_ token: String) async throws -> Answer {
        try await atGate("passcode/proof", #""token":"\#(token)""#)
    }
}
