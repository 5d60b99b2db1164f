import RouterPlugin
import RouterTesting
import Testing

@testable import Plugins

/// Version `v1a`: Ed25519.
struct AsymmetricSignatureTests {
    private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private let seconds: Int64 = 1_614_265_330
    private let body = Array(#"{"test": 2432232314}"#.utf8)

    private static let privateText =
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
    private static let publicText = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    private static let signature =
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="

    /// A pair, a message and its signature, from RFC 8032, section 7.1, TEST 1 to 3, in hexadecimal.
    private static let standardVectors = [
        (
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        (
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test func thePrimitiveIsThatOfTheStandard() throws {
        for vector in Self.standardVectors {
            let (seed, message) = (bytes(vector.seed), bytes(vector.message))
            let key = try WebhookPrivateKey(seed: seed)
            #expect(key.publicKey.bytes == bytes(vector.publicKey))
            #expect(try key.signature(of: message) == bytes(vector.signature))
            #expect(key.publicKey.isValid(bytes(vector.signature), of: message))
            #expect(!key.publicKey.isValid(bytes(vector.signature), of: message + [0]))
        }
    }

    /// Published by Svix with its library.
    @Test func signaturesAreThoseOfOthers() throws {
        #expect(try sign([Self.privateText]) == Self.signature)
        #expect(try verify(Self.signature, [Self.publicText]) == [0])
        #expect(try WebhookSigningKey(Self.privateText).publicKey?.description == Self.publicText)
    }

    /// Computed with OpenSSL: a body with every byte.
    @Test func signaturesOfAnyBytesAreThoseOfOthers() throws {
        let body = (0...255).map { UInt8($0) }
        let key = try WebhookPrivateKey(seed: Array(0..<32))
        let signed = try StandardWebhooksSigner.signatures(
            id: "dlv_1", timestampSeconds: 1_700_000_000, body: body, keys: [.asymmetric(key)])
        #expect("\(key.publicKey)" == "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=")
        #expect(
            signed == "v1a,"
                + "WswJrlRUWpcuiNbMtKXJH2FynzgDWfX90fXtnYGkUMSpQM0Cmur+Q3GDs1MAnV2EYTV5Ye4wRJ6Qivri3LD0Cw==")
    }

    /// A sender that exchanges keys signs with all; a receiver may know any of them, of either kind.
    @Test func bothVersionsGoTogether() throws {
        let old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let new = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
        let all = try sign([old, Self.privateText, new])
        #expect(all.split(separator: " ").map { $0.prefix { $0 != "," } } == ["v1", "v1a", "v1"])
        #expect(try verify(all, [old]) == [0])
        #expect(try verify(all, [new]) == [0])
        #expect(try verify(all, [Self.publicText]) == [0])
        let stranger = try WebhookPrivateKey(seed: Array(repeating: 7, count: 32)).publicKey
        #expect(try verify(all, ["\(stranger)", Self.publicText, new]) == [1, 2])
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(all, ["\(stranger)"]) }
    }

    /// Each check goes through the body, and a sender without a key chooses the signatures.
    @Test func manyKeysHaveFewSignatures() throws {
        let bad = "v1a," + Base64.encode(Array(repeating: UInt8(0), count: 64))
        let strangers = try (0..<9).map { number in
            "\(try WebhookPrivateKey(seed: Array(repeating: UInt8(number), count: 32)).publicKey)"
        }
        let keys = strangers + [Self.publicText]
        #expect(try verify("\(bad) \(Self.signature)", keys) == [9])
        #expect(throws: WebhookVerificationError.noMatchingSignature) {
            try verify("\(bad) \(bad) \(Self.signature)", keys)
        }
        let many = Array(repeating: bad, count: StandardWebhooksVerifier.maximumSignatures - 1) + [Self.signature]
        #expect(try verify(many.joined(separator: " "), [Self.publicText]) == [0])
    }

    /// One version's signature is none of the other's, whatever its length.
    @Test func versionsAreNotTakenForOneAnother() {
        let value = Self.signature.dropFirst(4)
        for forged in ["v1,\(value)", "v2,\(value)", "v1A,\(value)", "v1a \(value)", "v1a,", "v1a,\(value.prefix(44))"]
        {
            #expect(throws: WebhookVerificationError.noMatchingSignature, "\(forged)") {
                try verify(forged, [Self.publicText])
            }
        }
    }

    /// Every bit counts. Adding the group's order to the second half, which a careless verifier takes, is no way around.
    @Test func noBitMayDiffer() throws {
        let signature = try #require(Base64.decode(Self.signature.dropFirst(4)))
        for bit in 0..<512 {
            var bent = signature
            bent[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: WebhookVerificationError.noMatchingSignature) {
                try verify("v1a," + Base64.encode(bent), [Self.publicText])
            }
        }
        let order = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var (shifted, carry) = (signature, 0)
        for place in 0..<32 {
            carry += Int(signature[32 + place]) + Int(order[place])
            shifted[32 + place] = UInt8(carry & 0xFF)
            carry >>= 8
        }
        #expect(carry == 0 && shifted != signature)
        #expect(throws: WebhookVerificationError.noMatchingSignature) {
            try verify("v1a," + Base64.encode(shifted), [Self.publicText])
        }
    }

    @Test(arguments: [
        ("whsk_", "secret-length"), ("whsk_*", "secret-not-base64"),
        ("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=", "secret-length"),
        (
            "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvw==",
            "secret-public-key-mismatch"
        ),
        ("WHSK_6Xb/", "secret-prefix"), (publicText, "secret-prefix"),
    ])
    func otherTextsAreRefusedWithoutBeingQuoted(text: String, code: String) {
        let error = #expect(throws: WebhookSecretError.self) { try WebhookSigningKey(text) }
        #expect(error?.code == code)
        #expect(error.map { !"\($0)".contains("6Xb") } == true)
    }

    /// A receiver that is given the private key has been given too much.
    @Test func receiversTakeNoPrivateKey() {
        #expect(throws: WebhookSecretError.privateKey) { try WebhookVerificationKey(Self.privateText) }
        #expect(throws: WebhookSecretError.keyLength) { try WebhookVerificationKey("whpk_AAAA") }
        #expect(throws: WebhookSecretError.missingPrefix) { try WebhookVerificationKey("AAAA") }
    }

    @Test func nothingThatPrintsShowsThePrivateKey() throws {
        let key = try WebhookSigningKey(Self.privateText)
        let bare = try WebhookPrivateKey(Self.privateText)
        var shown = "\(key) \(String(reflecting: key)) \([bare]) \(String(reflecting: bare))"
        dump(key, to: &shown)
        #expect(!shown.contains("6Xb/"))
        #expect(!shown.contains("233"))  // The first byte in decimal.
        #expect(bare.revealed() == Self.privateText && key.revealed() == Self.privateText)
    }

    @Test func newKeysComeFromTheGenerator() throws {
        var (one, two) = (SeededGenerator(seed: 1), SeededGenerator(seed: 2))
        let key = try WebhookPrivateKey.generate(using: &one)
        #expect(try WebhookPrivateKey(key.revealed()) == key)
        #expect(try key != WebhookPrivateKey.generate(using: &one))
        #expect(try key != WebhookPrivateKey.generate(using: &two))
    }

    private func sign(_ keys: [String]) throws -> String {
        try StandardWebhooksSigner.signatures(
            id: id, timestampSeconds: seconds, body: body, keys: try keys.map { try WebhookSigningKey($0) })
    }

    private func verify(_ signatures: String, _ keys: [String]) throws -> [Int] {
        try StandardWebhooksVerifier.verify(
            headers: [
                ("webhook-id", id), ("webhook-timestamp", "\(seconds)"), ("webhook-signature", signatures),
            ],
            body: body, keys: try keys.map { try WebhookVerificationKey($0) },
            now: Timestamp(milliseconds: seconds * 1000)
        ).keys
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
