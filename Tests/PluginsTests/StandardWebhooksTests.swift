import RouterPlugin
import RouterTesting
import Testing

@testable import Plugins

struct WebhookSecretTests {
    @Test func textsAreReadWithAndWithoutPadding() throws {
        for length in WebhookSecret.keyLength {
            let key = (0..<length).map { UInt8($0 * 37 & 0xFF) }
            let padded = WebhookSecret.prefix + Base64.encode(key)
            #expect(try WebhookSecret(padded).key == key)
            #expect(try WebhookSecret(padded.replacing("=", with: "")).key == key)
            #expect(try WebhookSecret(padded).revealed() == padded)
        }
    }

    @Test(arguments: [
        ("", "secret-prefix"), ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret-prefix"),
        ("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret-prefix"), ("whsec_", "secret-length"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "secret-length"),
        ("whsec_" + String(repeating: "A", count: 88), "secret-length"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa_w", "secret-not-base64"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwA", "secret-not-base64"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw ", "secret-not-base64"),
        ("whsec_MfKQ9r8GKYqr=wjUPD8ILPZIo2LaLaSw", "secret-not-base64"),
        ("whsec_====", "secret-not-base64"),
    ])
    func otherTextsAreRefusedWithoutBeingQuoted(text: String, code: String) throws {
        let error = #expect(throws: WebhookSecretError.self) { try WebhookSecret(text) }
        #expect(error?.code == code)
        #expect(error.map { !"\($0)".contains("MfKQ") } == true)
    }

    /// Neither local nor private: the name of such a type is printed with an address, in which any digits may be.
    struct Endpoint { let secret: WebhookSecret }

    @Test func nothingThatPrintsShowsTheKey() throws {
        let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        var shown = "\(secret) \(String(reflecting: secret)) \(Endpoint(secret: secret)) \([secret])"
        dump(Endpoint(secret: secret), to: &shown)
        #expect(!shown.contains("MfKQ"))
        #expect(!shown.contains("49"))  // The first byte of the key in decimal.
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test func newSecretsComeFromTheGenerator() throws {
        var (one, two) = (SeededGenerator(seed: 1), SeededGenerator(seed: 2))
        let secret = WebhookSecret.generate(using: &one)
        #expect(secret.key.count == 32)
        #expect(try WebhookSecret(secret.revealed()) == secret)
        #expect(secret != WebhookSecret.generate(using: &one))
        #expect(secret != WebhookSecret.generate(using: &two))
    }

    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64IsThatOfTheStandard(plain: String, encoded: String) {
        #expect(Base64.encode(plain.utf8) == encoded)
        #expect(Base64.decode(encoded[...]) == Array(plain.utf8))
        #expect(Base64.decode(encoded.replacing("=", with: "")[...]) == Array(plain.utf8))
    }

    @Test func base64OfEveryByte() {
        let all = (0...255).map { UInt8($0) }
        for start in 0..<4 { #expect(Base64.decode(Base64.encode(all[start...])[...]) == Array(all[start...])) }
        for text in ["A", "AAAAA", "A===", "AA=", "AA=A", "=AAA", "AA-A", "é", "AAAA===="] {
            #expect(Base64.decode(text[...]) == nil, "\(text)")
        }
    }
}

struct StandardWebhooksTests {
    private let secret: WebhookSecret
    private let other: WebhookSecret
    private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private let seconds: Int64 = 1_614_265_330
    private let body = Array(#"{"test": 2432232314}"#.utf8)
    private let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    init() throws {
        secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        other = try WebhookSecret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX")
    }

    /// The first is published by Svix, the second was computed with another implementation.
    @Test func signaturesAreThoseOfOthers() throws {
        #expect(try sign(id, body, secret) == signature)
        #expect(try sign("msg_1", [], secret) == "v1,/n9JD+QvCBymh/dplZctdnJL3Jc/7vU4siQ5cz50QYY=")
    }

    private func sign(_ id: String, _ body: [UInt8], _ secrets: WebhookSecret...) throws -> String {
        try StandardWebhooksSigner.signatures(
            id: id, timestampSeconds: seconds, body: body, keys: secrets.map { .symmetric($0) })
    }

    @Test func severalSecretsGiveSeveralSignatures() throws {
        let all = try sign(id, body, other, secret)
        #expect(all.hasSuffix(" " + signature))
        for secrets in [[secret], [other], [other, secret]] {
            #expect(try verify(signature: all, secrets: secrets).id == id)
        }
    }

    private func verify(
        id: String? = nil, timestamp: String? = nil, signature: String? = nil, body: [UInt8]? = nil,
        secrets: [WebhookSecret]? = nil, late milliseconds: Int64 = 0
    ) throws(WebhookVerificationError) -> StandardWebhooksVerifier.Verified {
        try StandardWebhooksVerifier.verify(
            headers: [
                ("content-type", "application/json"), ("webhook-id", id ?? self.id),
                ("webhook-timestamp", timestamp ?? String(seconds)), ("webhook-signature", signature ?? self.signature),
            ],
            body: body ?? self.body, keys: (secrets ?? [secret]).map { .symmetric($0) },
            now: Timestamp(milliseconds: seconds * 1000 + milliseconds)
        )
    }

    @Test func aGenuineWebhookIsTaken() throws {
        #expect(try verify() == StandardWebhooksVerifier.Verified(id: id, timestampSeconds: seconds, keys: [0]))
        #expect(try verify(secrets: [other, secret]).timestampSeconds == seconds)
    }

    @Test func anyValidSignatureOfTheListSuffices() throws {
        let list = [
            "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=", "v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==", "",
            "nonsense", "v1,", "v1,***", signature, "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
        ]
        #expect(try verify(signature: list.joined(separator: " ")).id == id)
        #expect(try verify(signature: String(signature.dropLast())).id == id)
    }

    @Test func aForgedOneIsNot() {
        let mac = signature.dropFirst(3)
        for forged in [
            "", " ", "v1", "v1,", "v1,\(mac.dropLast(4))", "v1,\(mac)AAAA", "v2,\(mac)", "v1a,\(mac)", "V1,\(mac)",
            String(mac), "v1, \(mac)", "v1,\(mac),", "v1,h" + mac.dropFirst(), "v1,\(mac.dropLast(2))I=",
        ] {
            #expect(throws: WebhookVerificationError.noMatchingSignature, "\(forged)") { try verify(signature: forged) }
        }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(secrets: [other]) }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(secrets: []) }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(id: id + "x") }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(timestamp: String(seconds + 1)) }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(body: body + [0x20]) }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(body: []) }
    }

    /// Every bit of the code counts.
    @Test func noBitMayDiffer() throws {
        let mac = try #require(Base64.decode(signature.dropFirst(3)))
        for bit in 0..<256 {
            var bent = mac
            bent[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: WebhookVerificationError.noMatchingSignature) {
                try verify(signature: "v1," + Base64.encode(bent))
            }
        }
    }

    @Test func theListIsBounded() throws {
        let junk = Array(repeating: "v1,x", count: StandardWebhooksVerifier.maximumSignatures)
        #expect(try verify(signature: (junk.dropLast() + [signature]).joined(separator: " ")).id == id)
        #expect(throws: WebhookVerificationError.noMatchingSignature) {
            try verify(signature: (junk + [signature]).joined(separator: " "))
        }
    }

    @Test func timeIsBoundedOnBothSides() throws {
        #expect(try verify(late: 299_999).id == id)
        #expect(throws: WebhookVerificationError.timestampTooOld) { try verify(late: 300_000) }
        #expect(try verify(late: -300_000).id == id)
        #expect(throws: WebhookVerificationError.timestampTooNew) { try verify(late: -300_001) }
    }

    @Test func timestampsAreWholeSeconds() throws {
        for text in [
            "", "1614265330.0", "+1614265330", "-1", "01614265330", " 1614265330", "1e9", "abc", "٣",
            "99999999999999999999",
        ] {
            #expect(throws: WebhookVerificationError.invalidTimestamp, "\(text)") { try verify(timestamp: text) }
        }
        for (seconds, error) in [(Int64.max, WebhookVerificationError.timestampTooNew), (0, .timestampTooOld)] {
            let signature = try StandardWebhooksSigner.signatures(
                id: id, timestampSeconds: seconds, body: body, keys: [.symmetric(secret)])
            #expect(throws: error) { try verify(timestamp: "\(seconds)", signature: signature) }
        }
    }

    /// A forger learns nothing about the window.
    @Test func theSignatureIsCheckedBeforeTheWindow() {
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(timestamp: "0") }
        #expect(throws: WebhookVerificationError.noMatchingSignature) { try verify(body: [], late: 300_000) }
    }

    /// `msg_1.5` at 6 with the body `x` and `msg_1` at 5 with the body `6.x` have the same signed bytes.
    @Test func anIDWithAFullStopIsRefused() throws {
        let signature = try sign("msg_1.5", body, secret)
        #expect(throws: WebhookVerificationError.invalidID) { try verify(id: "msg_1.5", signature: signature) }
        #expect(throws: WebhookVerificationError.invalidID) { try verify(id: "") }
    }

    @Test func eachHeaderOccursOnce() {
        let all = [("webhook-id", id), ("webhook-timestamp", "\(seconds)"), ("webhook-signature", signature)]
        let now = Timestamp(milliseconds: seconds * 1000)
        for place in all.indices {
            var fewer = all
            fewer.remove(at: place)
            #expect(throws: WebhookVerificationError.missingHeader) {
                try StandardWebhooksVerifier.verify(headers: fewer, body: body, keys: [.symmetric(secret)], now: now)
            }
            #expect(throws: WebhookVerificationError.duplicateHeader) {
                try StandardWebhooksVerifier.verify(
                    headers: all + [all[place]], body: body, keys: [.symmetric(secret)], now: now)
            }
        }
    }

    @Test func errorsHaveCodesAndSentences() {
        let codes = WebhookVerificationError.allCases.map(\.code) + WebhookSecretError.allCases.map(\.code)
        #expect(Set(codes).count == codes.count)
        let sentences =
            WebhookVerificationError.allCases.map(\.description) + WebhookSecretError.allCases.map(\.description)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") })
    }
}
