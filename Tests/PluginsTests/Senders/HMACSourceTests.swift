import RouterPlugin
import Testing

@testable import Plugins

struct HMACSourceTests {
    private func source(_ options: String) throws -> any PayloadSource {
        try HMACSource.kind.make(parsed(options))
    }

    private func fault(_ options: String) -> String? {
        do {
            _ = try source(options)
            return nil
        } catch let error as PluginConfigurationError {
            return "\(error.code) \(error.pointer)"
        } catch {
            return "\(error)"
        }
    }

    // MARK: Vectors

    /// RFC 4231, test case 2; RFC 2202, test case 2 for SHA-1.
    @Test(arguments: [
        ("sha1", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        ("sha256", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            "sha512",
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        ),
    ])
    func codesAreThoseOfTheStandards(algorithm: String, signature: String) throws {
        let source = try source(#"{"header":"X-Sig","algorithm":"\#(algorithm)"}"#)
        let body = "what do ya want for nothing?"
        #expect(source.refusal(of: request(body, [("x-sig", signature)]), "Jefe") == nil)
        #expect(source.refusal(of: request(body, [("x-sig", signature.uppercased())]), "Jefe") == nil)
        #expect(source.refusal(of: request(body + " ", [("x-sig", signature)]), "Jefe") == "signature-invalid")
        #expect(source.refusal(of: request(body, [("x-sig", signature)]), "jefe") == "signature-invalid")
    }

    /// The default of Hookdeck's Outpost: `v0=` and signatures between commas, of the body alone.
    @Test func severalSignaturesStandInAHeader() throws {
        let source = try source(#"{"header":"x-outpost-signature","prefix":"v0=","separator":","}"#)
        let valid = "v0=aa9e2e3575f5d7098b6caccd790888c36d5fdb63342a73bada2d6a51747a8494"
        for field in [valid, "v0=00,\(valid)", "v1=00, \(valid) ,x", ",,\(valid),"] {
            #expect(source.refusal(of: request(#"{"a":1}"#, [("x-outpost-signature", field)]), "secret") == nil)
        }
        let junk = Array(repeating: "v0=00", count: SenderLimits.maximumSignatures - 1)
        let last = (junk + [valid]).joined(separator: ",")
        #expect(source.refusal(of: request(#"{"a":1}"#, [("x-outpost-signature", last)]), "secret") == nil)
        #expect(
            source.refusal(of: request(#"{"a":1}"#, [("x-outpost-signature", "v0=00,\(last)")]), "secret")
                == "signature-invalid")
    }

    @Test func encodingsDiffer() throws {
        let body = Array(#"{"id":1}"#.utf8)
        // Computed with another implementation; the body was chosen for a code with "/" in base64.
        let plain = "VnKUjZsLuN5iZWjn5EntcBVCF9kMN43LglzCE1/GSeY="
        let base64 = try source(#"{"header":"x","encoding":"base64"}"#)
        let url = try source(#"{"header":"x","encoding":"base64url"}"#)
        #expect(base64.refusal(of: request(body, [("x", plain)]), "hush") == nil)
        #expect(base64.refusal(of: request(body, [("x", String(plain.dropLast()))]), "hush") == nil)
        #expect(url.refusal(of: request(body, [("x", plain)]), "hush") == "signature-invalid")
        #expect(url.refusal(of: request(body, [("x", plain.replacing("/", with: "_"))]), "hush") == nil)
        #expect(
            base64.refusal(of: request(body, [("x", plain.replacing("/", with: "_"))]), "hush") == "signature-invalid")
    }

    // MARK: Signed content

    private func signed(
        _ content: String, body: String = #"{"a":1}"#, timestamp: String = "\(noonSeconds)", id: String = "d1"
    ) -> SourceRequest {
        request(
            body,
            [
                ("x-sig", hexadecimalCode(content, "key")), ("x-time", timestamp), ("x-id", id), ("x-shop", "shop 1"),
            ])
    }

    @Test func everyPartMayBeSigned() throws {
        let source = try source(
            """
            {"header":"X-Sig","signedContent":"v1:{id}:{timestamp}:{header.X-Shop}!{body}?","timestampHeader":"X-Time",
             "idHeader":"X-Id"}
            """)
        #expect(source.refusal(of: signed(#"v1:d1:\#(noonSeconds):shop 1!{"a":1}?"#), "key") == nil)
        #expect(source.refusal(of: signed(#"v1:d1:\#(noonSeconds):shop 1!{"a":1}"#), "key") == "signature-invalid")
        #expect(
            source.refusal(of: signed(#"v1:d2:\#(noonSeconds):shop 1!{"a":1}?"#), "key") == "signature-invalid")
        #expect(
            try source.decode(signed("")).events == [
                SourceEvent(payload: Array(#"{"a":1}"#.utf8), dedupeKeys: ["delivery:d1"])
            ])
    }

    /// `d1:5` at 6 and `d1` at `5:6` would have the same signed bytes.
    @Test func aSignedHeaderCannotHoldTheTextThatFollowsIt() throws {
        let source = try source(#"{"header":"x-sig","signedContent":"{id}:{body}","idHeader":"x-id"}"#)
        #expect(source.refusal(of: signed(#"d1:{"a":1}"#), "key") == nil)
        let split = signed(#"d1:2:{"a":1}"#, id: "d1:2")
        #expect(source.refusal(of: split, "key") == "signature-invalid")
        let wide = try self.source(#"{"header":"x-sig","signedContent":"{id}--{body}","idHeader":"x-id"}"#)
        #expect(wide.refusal(of: signed(#"a-b--{"a":1}"#, id: "a-b"), "key") == nil)
        #expect(wide.refusal(of: signed(#"a---{"a":1}"#, id: "a-"), "key") == "signature-invalid")
    }

    @Test func everySignedHeaderIsNeeded() throws {
        let source = try source(
            #"{"header":"x-sig","signedContent":"{timestamp}.{body}","timestampHeader":"x-time"}"#)
        let whole = signed(#"\#(noonSeconds).{"a":1}"#)
        #expect(source.refusal(of: whole, "key") == nil)
        for name in ["x-sig", "x-time"] {
            let fewer = request(whole.body, whole.headers.filter { $0.name != name })
            #expect(source.refusal(of: fewer, "key") == "signature-missing")
            let twice = request(whole.body, whole.headers + whole.headers.filter { $0.name == name })
            #expect(source.refusal(of: twice, "key") == "signature-invalid")
        }
    }

    // MARK: Timestamps

    private static let stamped = #"{"header":"x-sig","signedContent":"{timestamp}.{body}","timestampHeader":"x-time"}"#

    @Test func theWindowIsClosedOnBothSides() throws {
        let source = try source(Self.stamped)
        let request = signed(#"\#(noonSeconds).{"a":1}"#)
        for delta in [-300_000, 0, 300_000] as [Int64] {
            #expect(source.refusal(of: request.received(afterMilliseconds: delta), "key") == nil)
        }
        for delta in [-300_001, 300_001, .min, .max] as [Int64] {
            #expect(source.refusal(of: request.received(afterMilliseconds: delta), "key") == "timestamp-outside-window")
        }
        let tight = try self.source(Self.stamped.dropLast() + #","toleranceSeconds":1}"#)
        #expect(tight.refusal(of: request.received(afterMilliseconds: 1000), "key") == nil)
        #expect(tight.refusal(of: request.received(afterMilliseconds: 1001), "key") == "timestamp-outside-window")
    }

    @Test(arguments: ["", "abc", "+1767268800", "-1", "1767268800.0", "٣"])
    func aSignedTimestampThatIsNoneIsTold(timestamp: String) throws {
        let source = try source(Self.stamped)
        let request = signed(timestamp + #".{"a":1}"#, timestamp: timestamp)
        #expect(source.refusal(of: request, "key") == "timestamp-invalid")
        #expect(source.refusal(of: request, "other") == "signature-invalid")
    }

    @Test(arguments: ["1767268800000", "99999999999999999999"])
    func aSignedTimestampOfAnotherUnitIsOutsideTheWindow(timestamp: String) throws {
        let source = try source(Self.stamped)
        let request = signed(timestamp + #".{"a":1}"#, timestamp: timestamp)
        #expect(source.refusal(of: request, "key") == "timestamp-outside-window")
    }

    @Test func repeatedBodiesAreRefusedByChoice() throws {
        for (options, headers, key) in [
            (#""idHeader":"x-id","#, [("x-id", "1")], "delivery:1"), (#""idHeader":"x-id","#, [], nil),
            ("", [("idempotency-key", "k")], "key:k"), ("", [], nil),
        ] as [(String, [(name: String, value: String)], String?)] {
            let sent = request("{}", headers)
            let keys = key.map { [$0] } ?? []
            let usual = try source(#"{\#(options)"header":"x-sig"}"#)
            #expect(try usual.decode(sent).events[0].dedupeKeys == keys)
            let strict = try source(#"{\#(options)"header":"x-sig","refuseRepeatedBodies":true}"#)
            #expect(try strict.decode(sent).events[0].dedupeKeys == keys + [sent.bodyKey])
        }
    }

    /// A forger learns nothing about the window.
    @Test func theSignatureIsCheckedBeforeTheTimestamp() throws {
        let source = try source(Self.stamped)
        let forged = signed(#"\#(noonSeconds).{"a":2}"#)
        for delta in [0, 300_001, .max] as [Int64] {
            #expect(source.refusal(of: forged.received(afterMilliseconds: delta), "key") == "signature-invalid")
        }
    }

    // MARK: Options

    @Test(arguments: [
        (#"{}"#, "missing-field /header"),
        (#"[]"#, "wrong-type "),
        (#"{"header":1}"#, "wrong-type /header"),
        (#"{"header":""}"#, "invalid-value /header"),
        (#"{"header":"X Sig"}"#, "invalid-value /header"),
        (#"{"header":"X-É"}"#, "invalid-value /header"),
        (#"{"header":"x","algo":"sha256"}"#, "unknown-field /algo"),
        (#"{"header":"x","algorithm":"md5"}"#, "invalid-value /algorithm"),
        (#"{"header":"x","algorithm":"SHA256"}"#, "invalid-value /algorithm"),
        (#"{"header":"x","encoding":"base32"}"#, "invalid-value /encoding"),
        (#"{"header":"x","prefix":"é"}"#, "invalid-value /prefix"),
        (#"{"header":"x","separator":""}"#, "invalid-value /separator"),
        (#"{"header":"x","separator":", "}"#, "invalid-value /separator"),
        (#"{"header":"x","separator":"a"}"#, "invalid-value /separator"),
        (#"{"header":"x","signedContent":""}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"x"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"{body"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"body}{body}"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"{bodi}{body}"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"{header.}{body}"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"{id}{body}"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","signedContent":"{timestamp}{body}"}"#, "invalid-value /signedContent"),
        (#"{"header":"x","timestampHeader":"t"}"#, "invalid-value /timestampHeader"),
        (#"{"header":"x","timestampHeader":"t u"}"#, "invalid-value /timestampHeader"),
        (#"{"header":"x","idHeader":"\n"}"#, "invalid-value /idHeader"),
        (#"{"header":"x","toleranceSeconds":300}"#, "invalid-value /toleranceSeconds"),
        (
            #"{"header":"x","timestampHeader":"t","signedContent":"{timestamp}{body}","toleranceSeconds":0}"#,
            "invalid-value /toleranceSeconds"
        ),
        (
            #"{"header":"x","timestampHeader":"t","signedContent":"{timestamp}{body}","toleranceSeconds":86401}"#,
            "invalid-value /toleranceSeconds"
        ),
        (
            #"{"header":"x","timestampHeader":"t","signedContent":"{timestamp}{body}","toleranceSeconds":"300"}"#,
            "wrong-type /toleranceSeconds"
        ),
    ])
    func optionsAreRefusedWithTheirPlace(options: String, fault: String) {
        #expect(self.fault(options) == fault)
    }

    @Test(arguments: [
        #"{"header":"x"}"#, #"{"id":"hmac","header":"X-Sig","prefix":"","separator":" "}"#,
        #"{"header":"x","timestampHeader":"T","signedContent":"{header.t}{body}"}"#,
        #"{"header":"x","idHeader":"d"}"#,
    ])
    func optionsAreTaken(options: String) {
        #expect(fault(options) == nil)
    }

    // MARK: Events

    @Test func withoutIDHeaderTheIdempotencyKeyCounts() throws {
        let source = try source(#"{"header":"x"}"#)
        #expect(try source.decode(request("{}", [("idempotency-key", "k")])).events[0].dedupeKeys == ["key:k"])
        #expect(try source.decode(request("{}")).events == [SourceEvent(payload: Array("{}".utf8))])
        #expect(source.decodingRefusal(of: request("[]")) == "payload-not-an-object")
        #expect(source.decodingRefusal(of: request("a=b")) == "json-unexpected-byte")
    }
}
