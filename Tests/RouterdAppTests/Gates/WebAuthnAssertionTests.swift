import Crypto
import Foundation
import Router
import RouterPlugin
import Testing

@testable import RouterdApp

@Suite("Assertions of Web Authentication")
struct WebAuthnAssertionTests {
    private let challenge = "routerd unlock com.example.Clinic tablet 2 abc"

    private func fault(
        _ party: RelyingParty = TestAuthenticator.party, _ change: (inout TestAuthenticator) -> Void
    ) throws -> WebAuthnAssertion.Fault? {
        var authenticator = TestAuthenticator()
        change(&authenticator)
        let assertion = try #require(try authenticator.assertion(challenge))
        do {
            try assertion.verify(Array(challenge.utf8), of: party, with: authenticator.deviceKey)
        } catch { return error }
        return nil
    }

    @Test("An assertion is taken from each origin of the relying party")
    func isTaken() throws {
        #expect(try fault { _ in } == nil)
        #expect(try fault { $0.origin = "https://example.org" } == nil)
        #expect(try fault { $0.crossOrigin = false } == nil)
        #expect(try fault { $0.flags = 0b0001_1101 } == nil, "a credential that is synchronized")
    }

    @Test("Each field is checked")
    func isRefused() throws {
        #expect(try fault { $0.type = "webauthn.create" } == .type)
        #expect(try fault { $0.origin = "https://example.org.attacker.example" } == .origin)
        #expect(try fault { $0.origin = "http://till.example.org" } == .origin)
        #expect(try fault { $0.crossOrigin = true } == .crossOrigin)
        #expect(try fault { $0.relyingParty = "till.example.org" } == .rpID)
        #expect(try fault { $0.flags = 0b100 } == .userPresent)
        #expect(try fault { $0.flags = 0b001 } == .userVerified)
        let other = RelyingParty(id: "example.net", origins: TestAuthenticator.party.origins)
        #expect(try fault(other) { _ in } == .rpID)
    }

    @Test("Another challenge, another key and changed bytes are refused")
    func isBoundToItsChallenge() throws {
        let authenticator = TestAuthenticator()
        let (data, bytes, signature) = try authenticator.parts(challenge)
        func fault(
            _ data: [UInt8], _ bytes: [UInt8], _ signature: [UInt8], _ challenge: String,
            _ key: DeviceKey = authenticator.deviceKey
        ) throws -> WebAuthnAssertion.Fault? {
            let assertion = try #require(
                WebAuthnAssertion(clientData: data, authenticatorData: bytes, signature: signature))
            do { try assertion.verify(Array(challenge.utf8), of: TestAuthenticator.party, with: key) } catch {
                return error
            }
            return nil
        }
        #expect(try fault(data, bytes, signature, challenge) == nil)
        #expect(try fault(data, bytes, signature, challenge + " ") == .challenge)
        #expect(try fault(data, bytes, signature, challenge, TestAuthenticator().deviceKey) == .signature)
        #expect(try fault(data + Array(" ".utf8), bytes, signature, challenge) == .signature)
        #expect(try fault(data, bytes + [0], signature, challenge) == .signature)
        #expect(try fault(data, bytes, [], challenge) == .signature)
        // The count of signatures is signed too.
        #expect(try fault(data, bytes.dropLast() + [1], signature, challenge) == .signature)
    }

    @Test("Bytes that are no assertion are not read")
    func isRead() throws {
        let (data, bytes, signature) = try TestAuthenticator().parts(challenge)
        func isRead(_ data: [UInt8], _ bytes: [UInt8]) -> Bool {
            WebAuthnAssertion(clientData: data, authenticatorData: bytes, signature: signature) != nil
        }
        #expect(isRead(data, bytes))
        #expect(!isRead(data, bytes.dropLast()))
        #expect(!isRead(Array("[]".utf8), bytes))
        #expect(!isRead(Array("{".utf8), bytes))
    }

    /// W3C Web Authentication, Level 3, section 16.2: "ES256 Credential with No Attestation".
    @Test("The test vector of the standard is verified, and lacks the verification of the person")
    func vector() throws {
        let point =
            "04" + "afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61"
            + "930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220"
        let data =
            "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a224f63446e55685158756c5455506f334a5558"
            + "543049393770767a7a59425039745a63685879617630314167222c226f726967696e223a2268747470733a2f2f6578616d706c652e"
            + "6f7267222c2263726f73734f726967696e223a66616c73657d"
        let bytes = "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000"
        let signature =
            "3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1"
            + "dd5d78c6e486013f937295ea13653e331e87"
        let key = DeviceKey(try octets(point))
        let assertion = try #require(
            WebAuthnAssertion(
                clientData: try octets(data), authenticatorData: try octets(bytes), signature: try octets(signature)))
        #expect(assertion.isSigned(with: key))
        let challenge = try #require(Base64URL.decode("OcDnUhQXulTUPo3JUXT0I97pvzzYBP9tZchXyav01Ag".utf8))
        #expect(throws: WebAuthnAssertion.Fault.userVerified) {
            try assertion.verify(challenge, of: TestAuthenticator.party, with: key)
        }
    }

    private func octets(_ hexadecimal: String) throws -> [UInt8] {
        try stride(from: 0, to: hexadecimal.count, by: 2).map { place in
            let start = hexadecimal.index(hexadecimal.startIndex, offsetBy: place)
            let end = hexadecimal.index(start, offsetBy: 2)
            return try #require(UInt8(hexadecimal[start..<end], radix: 16))
        }
    }
}
