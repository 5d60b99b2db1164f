import Crypto
import Foundation
import Router
import Testing

@testable import DaemonTesting
@testable import RouterdApp

struct DeviceKeyTests {
    private let device = P256.Signing.PrivateKey()
    private let text = "routerd unlock com.example.Clinic tablet 2 abc"

    @Test func aKeyComesInTwoForms() throws {
        let point = device.publicKey.x963Representation
        let key = try #require(DeviceKeyReader.key(point.base64EncodedString()))
        #expect(key.bytes == Array(point))
        #expect(DeviceKeyReader.key(device.publicKey.derRepresentation.base64EncodedString()) == key)
    }

    @Test func aMalformedKeyIsRefused() {
        let other = P384.Signing.PrivateKey().publicKey
        let texts = [
            "", "x", "AAAA", other.x963Representation.base64EncodedString(),
            other.derRepresentation.base64EncodedString(),
            // A private key, a point that is not on the curve, and a compressed one.
            device.rawRepresentation.base64EncodedString(),
            Data([4] + Array(repeating: 1, count: 64)).base64EncodedString(),
            device.publicKey.compressedRepresentation.base64EncodedString(),
        ]
        for text in texts { #expect(DeviceKeyReader.key(text) == nil) }
    }

    @Test func onlyTheDeviceSigns() throws {
        let key = try #require(DeviceKeyReader.key(device.publicKey.x963Representation.base64EncodedString()))
        let signature = try device.signature(for: Data(text.utf8))
        for form in [signature.derRepresentation, signature.rawRepresentation] {
            let signature = form.base64EncodedString()
            #expect(DeviceKeyReader.isSigned(text, by: signature, with: key))
            #expect(!DeviceKeyReader.isSigned(text + " ", by: signature, with: key))
            let other = DeviceKey(Array(P256.Signing.PrivateKey().publicKey.x963Representation))
            #expect(!DeviceKeyReader.isSigned(text, by: signature, with: other))
        }
        let stranger = try P256.Signing.PrivateKey().signature(for: Data(text.utf8))
        for wrong in [stranger.derRepresentation.base64EncodedString(), "", "AAAA", "not base64"] {
            #expect(!DeviceKeyReader.isSigned(text, by: wrong, with: key))
        }
    }

    @Test func challengesDiffer() {
        let nonces = (0..<100).map { _ in DeviceKeyReader.nonce() }
        #expect(Set(nonces).count == 100)
        #expect(nonces.allSatisfy { Data(base64Encoded: $0)?.count == 32 })
    }
}
