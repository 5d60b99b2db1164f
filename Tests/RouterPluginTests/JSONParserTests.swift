import Testing

@testable import RouterPlugin

struct JSONParserTests {
    @Test func aDocumentBecomesATree() throws {
        let value = try parsed(#" {"a": [1, -0.5e+3, true, false, null], "b": {"": "x\n\u00e9\ud83d\ude00/\/"}} "#)
        #expect(value["a"]?.asArray?.map(\.kind) == [.number, .number, .bool, .bool, .null])
        #expect(value["a"]?.asArray?[1].asDouble == -500)
        #expect(value["b"]?[""]?.asString == "x\né😀//")
        #expect(value.asObject?.members.map(\.key) == ["a", "b"])
    }

    @Test(arguments: [
        ("", "json-unexpected-end", 0, ""),
        ("  ", "json-unexpected-end", 2, ""),
        ("{", "json-unexpected-end", 1, ""),
        ("[1,", "json-unexpected-end", 3, "/0"),
        ("\"abc", "json-unexpected-end", 4, ""),
        ("tru", "json-unexpected-end", 3, ""),
        ("-", "json-unexpected-end", 1, ""),
        ("trux", "json-unexpected-byte", 3, ""),
        ("{a:1}", "json-unexpected-byte", 1, ""),
        (#"{"a" 1}"#, "json-unexpected-byte", 5, "/a"),
        ("[1 2]", "json-unexpected-byte", 3, "/0"),
        ("[,]", "json-unexpected-byte", 1, "/0"),
        ("[1,2,]", "json-trailing-comma", 4, "/1"),
        (#"{"a":1 , }"#, "json-trailing-comma", 7, "/a"),
        ("{} x", "json-trailing-bytes", 3, ""),
        ("1 1", "json-trailing-bytes", 2, ""),
        (#"{"a":{"b":1,"b":2}}"#, "json-duplicate-key", 12, "/a/b"),
        ("[0, \"a\tb\"]", "json-control-character", 6, "/1"),
        (#"["\x"]"#, "json-invalid-escape", 2, "/0"),
        (#"["\u12G4"]"#, "json-invalid-escape", 2, "/0"),
        (#"["\ud800"]"#, "json-lone-surrogate", 2, "/0"),
        (#"["\ud800\u0041"]"#, "json-lone-surrogate", 2, "/0"),
        (#"["\udc00"]"#, "json-lone-surrogate", 2, "/0"),
        ("[01]", "json-invalid-number", 1, "/0"),
        ("[1.]", "json-invalid-number", 1, "/0"),
        ("[-x]", "json-invalid-number", 1, "/0"),
        ("[1e+]", "json-invalid-number", 1, "/0"),
        (#"{"a/b~c": [{"": 1e}]}"#, "json-invalid-number", 16, "/a~1b~0c/0/"),
    ])
    func aFaultHasACodeAndAPlace(document: String, code: String, offset: Int, pointer: String) throws {
        let error = try #require(fault(document))
        #expect(error.code == code)
        #expect(error.offset == offset)
        #expect(error.pointer == pointer)
        #expect(error.description == "\(error.message) (\(code) at byte \(offset))")
    }

    @Test(
        arguments: [
            ([0xEF, 0xBB, 0xBF, 0x7B, 0x7D], "json-byte-order-mark"),
            ([0xFE, 0xFF, 0x00, 0x31], "json-not-utf-8"),
            ([0xFF, 0xFE, 0x31, 0x00], "json-not-utf-8"),
            ([0x31, 0x00], "json-not-utf-8"),
            ([0x00, 0x31], "json-not-utf-8"),
            // Each in quotes: overlong NUL and slash, surrogate, beyond U+10FFFF, continuation alone, cut short, old
            // forms.
            ([0x22, 0xC0, 0x80, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xC1, 0xBF, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xE0, 0x9F, 0xBF, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xED, 0xA0, 0x80, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xF0, 0x8F, 0xBF, 0xBF, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], "json-invalid-utf-8"),
            ([0x22, 0x80, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xC3, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xE2, 0x82, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xF0, 0x9F, 0x98, 0x22], "json-invalid-utf-8"),
            ([0x22, 0xE2, 0x82], "json-invalid-utf-8"),
            ([0x22, 0xFF, 0x22], "json-invalid-utf-8"),
        ] as [([UInt8], String)])
    func onlyUTF8IsRead(document: [UInt8], code: String) {
        #expect(fault(document)?.code == code)
    }

    /// The scanner's own table against the standard library's, for every lead byte and the borders of the continuation
    /// bytes.
    @Test func validUTF8IsWhatSwiftSaysItIs() {
        let tails: [[UInt8]] = [[], [0x80], [0xBF], [0xC0], [0x80, 0x80], [0xBF, 0xBF], [0x80, 0x7F]]
        var disputed: [[UInt8]] = []
        for lead in UInt8(0x80)...0xFF {
            for second in [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] as [UInt8] {
                for content in tails.map({ [lead, second] + $0 }) {
                    let isValid = String(validating: content, as: UTF8.self) != nil
                    if (fault([0x22] + content + [0x22]) == nil) != isValid { disputed.append(content) }
                }
            }
        }
        #expect(disputed == [])
    }

    /// Every length and every place of the eight-byte steps of the fast path.
    @Test func aSpecialByteIsFoundWhereverItStands() {
        for length in 0..<40 {
            for place in 0..<max(length, 1) {
                for (special, code) in [
                    (0x00, "json-control-character"), (0x1F, "json-control-character"),
                    (0x80, "json-invalid-utf-8"), (0x5C, "json-invalid-escape"), (0x7F, nil), (0x20, nil), (0x21, nil),
                    (0x23, nil),
                ] as [(UInt8, String?)] {
                    var content = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                    if place < length { content[place] = special }
                    let error = fault([0x20, 0x22] + content + [0x22, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20])
                    // A backslash before the closing quote escapes it.
                    let expected = special == 0x5C && place == length - 1 ? "json-unexpected-end" : code
                    #expect(error?.code == (length == 0 ? nil : expected), "\(special) at \(place) of \(length)")
                }
            }
        }
    }

    // MARK: Limits

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(fault(nested(64)) == nil)
        let error = try #require(fault(nested(65)))
        #expect(error.code == "json-too-deep")
        #expect(error.offset == 64)
        #expect(fault(String(repeating: #"{"a":"#, count: 65))?.code == "json-too-deep")
        #expect(fault(nested(100_000))?.code == "json-too-deep")
        #expect(fault(String(repeating: "[", count: 100_000))?.code == "json-too-deep")
        let deep = JSONLimits(maximumBytes: 1 << 20, maximumDepth: .max)
        #expect(deep.maximumDepth == JSONLimits.deepest)
        #expect(fault(nested(512), limits: deep) == nil)
        #expect(fault(nested(513), limits: deep)?.code == "json-too-deep")
    }

    @Test func sizeIsBounded() {
        let limits = JSONLimits(maximumBytes: 4)
        #expect(fault("[12]", limits: limits) == nil)
        #expect(fault("[123]", limits: limits)?.code == "json-too-long")
        #expect(fault("[123]", limits: limits)?.offset == 4)
        #expect(fault([UInt8](repeating: 0x20, count: 256 * 1024 + 1))?.code == "json-too-long")
    }

    @Test func numbersAreBounded() {
        #expect(fault(String(repeating: "9", count: 1000)) == nil)
        #expect(fault(String(repeating: "9", count: 1001))?.code == "json-number-too-long")
        #expect(fault("[0." + String(repeating: "9", count: 999) + "]")?.code == "json-number-too-long")
    }

    @Test func aLongPointerIsLeftOut() {
        let key = String(repeating: "k", count: 300)
        #expect(fault(#"{"\#(key)": x}"#)?.pointer == nil)
    }

    // MARK: Duplicate keys

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"\u0061":1}"#, #"{"":1,"":2}"#,
        #"{"/":1,"\/":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#, #"{"a":{"x":1},"b":[{"a":1}],"a":2}"#,
        #"[{"a":1,"b":2,"a":3}]"#,
    ])
    func aKeyThatIsThereTwiceIsRefused(document: String) {
        #expect(fault(document)?.code == "json-duplicate-key")
    }

    /// The bytes decide, not the look of a key, and objects do not know each other's keys.
    @Test(arguments: [
        #"{"a":1,"A":2}"#, "{\"é\":1,\"e\u{301}\":2}", #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":1}]"#,
        #"{"a":1,"b":{"a":1},"c":2}"#,
        #"{"\\u0061":1,"a":2}"#,
    ])
    func differentKeysAreAccepted(document: String) {
        #expect(fault(document) == nil)
    }

    /// Keys are compared one by one up to 128 and hashed beyond; the fault must be found on either side of that.
    @Test func duplicatesAreFoundInObjectsOfAnyWidth() {
        for width in [1, 2, 9, 126, 127, 128, 129, 130, 200] {
            let keys = (0..<width).map { #""k\#($0)":{"k0":1,"k1":2}"# }
            for repeated in [0, width / 2, width - 1] {
                for spelling in ["k", #"\u006b"#] {
                    let error = fault("{" + keys.joined(separator: ",") + #","\#(spelling)\#(repeated)":0}"#)
                    #expect(error?.code == "json-duplicate-key", "\(repeated) of \(width) as \(spelling)")
                    #expect(error?.pointer == "/k\(repeated)")
                }
            }
            #expect(fault("[" + "{" + keys.joined(separator: ",") + "},{" + keys.joined(separator: ",") + "}]") == nil)
        }
    }

    /// The set of a wide object must outlive the wide objects within it.
    @Test func wideObjectsMayHoldWideObjects() {
        func wide(_ value: String) -> String {
            "{" + (0..<130).map { #""k\#($0)":\#($0 == 129 ? value : "0")"# }.joined(separator: ",") + "}"
        }
        #expect(fault(wide(wide(wide("[{},{}]")))) == nil)
        #expect(fault(wide(wide(#"{"x":0}"#)).dropLast() + #","k7":0}"#)?.pointer == "/k7")
        #expect(fault(wide(wide("{}").dropLast() + #","k7":0}"#))?.pointer == "/k129/k7")
    }

    /// Quadratic work would make the ratio 100; linear work makes it 10.
    /// Looking for equal keys pair by pair would compare five thousand million times here.
    @Test func aWideObjectIsRead() throws {
        let document = Array(("{" + (0..<100_000).map { #""key\#($0)":0"# }.joined(separator: ",") + "}").utf8)
        let value = try JSONValue(parsing: document, limits: JSONLimits(maximumBytes: 1 << 24))
        #expect(value.asObject?.count == 100_000)
        #expect(value["key99999"] == 0)
    }
}
