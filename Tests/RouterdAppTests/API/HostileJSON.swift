import RouterPlugin
import Testing

@testable import DaemonTesting

/// A JSON document that is hard to judge, and its one verdict at every entry point.
struct HostileJSON: Sendable, CustomTestStringConvertible {
    /// The place for a value at an entry point: the bytes around it.
    struct Slot: Sendable {
        let before: [UInt8]
        let after: [UInt8]
        /// The number of arrays and objects open there.
        let depth: Int
        /// The maximum size of a document in bytes.
        let limit: Int
    }

    let name: String
    /// The code of the refusal; nil if the document is accepted.
    let code: String?
    /// Whether it can be a line of a batch.
    let isLine: Bool
    /// The document for a slot, and the offset that a refusal names.
    let make: @Sendable (Slot) -> (bytes: [UInt8], offset: Int)

    var testDescription: String { name }

    /// A document with that value in the slot.
    static func value(_ bytes: [UInt8], _ code: String? = nil, at offset: Int = 0, _ name: String? = nil) -> HostileJSON
    {
        let name = name ?? String(String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix(40)).debugDescription
        return HostileJSON(name: name, code: code, isLine: !bytes.contains(0x0A)) {
            ($0.before + bytes + $0.after, $0.before.count + offset)
        }
    }

    static func value(_ text: String, _ code: String? = nil, at offset: Int = 0, _ name: String? = nil) -> HostileJSON {
        value(Array(text.utf8), code, at: offset, name)
    }

    /// A valid document with bytes around it; the offset is in the bytes behind it, if there are any.
    static func around(
        _ name: String, lead: [UInt8] = [], trail: [UInt8] = [], _ code: String? = nil, at offset: Int = 0
    ) -> HostileJSON {
        HostileJSON(name: name, code: code, isLine: !(lead + trail).contains(0x0A)) {
            let document = $0.before + [UInt8(ascii: "1")] + $0.after
            return (lead + document + trail, trail.isEmpty ? offset : lead.count + document.count + offset)
        }
    }

    /// A valid document, changed as a whole.
    static func changed(
        _ name: String, _ code: String, isLine: Bool = true, _ change: @escaping @Sendable ([UInt8]) -> [UInt8],
        at offset: @escaping @Sendable (Int) -> Int = { _ in 0 }
    ) -> HostileJSON {
        HostileJSON(name: name, code: code, isLine: isLine) {
            let bytes = change($0.before + [UInt8(ascii: "1")] + $0.after)
            return (bytes, offset(bytes.count))
        }
    }

    /// Arrays or objects nested `beyond` levels deeper than the limit of 64.
    static func nested(_ name: String, beyond: Int, opening: String, closing: String) -> HostileJSON {
        HostileJSON(name: name, code: beyond > 0 ? "json-too-deep" : nil, isLine: true) { slot in
            let levels = 64 - slot.depth + beyond
            let text = String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
            return (
                slot.before + Array(text.utf8) + slot.after,
                slot.before.count + opening.utf8.count * (64 - slot.depth)
            )
        }
    }
}

extension HostileJSON {
    // MARK: Taken

    static let taken: [HostileJSON] =
        [
            "1e400", "-1e400", "1e-400", "1e999999999999", "-0", "-0.0", "0e0", "1E+2", "12345678901234567890",
            "-9223372036854775809", "0.1000000000000000055511151231257827", #""\u0000""#, #""\ud83d\ude00""#,
            #""\/\b\f\n\r\t""#, "\"\u{7F}\u{85}\u{2028}\u{FFFE}\u{10FFFF}\"", "\"\u{FEFF}\"", #"{"":{"":""}}"#,
            "[[],{},[{}]]",
            #"{"a":{"a":1},"b":{"a":{"a":2}}}"#, "{\"\u{E9}\":1,\"e\u{301}\":2}", "{\"K\":1,\"\u{212A}\":2}",
            #"{"a":1,"A":2}"#, #"{"__proto__":{"constructor":1}}"#, "null", "true", " \t\r 1",
        ].map { HostileJSON.value($0) } + [
            .value(String(repeating: "7", count: 1000), nil, "a number of 1000 digits"),
            .value("[\n1]", nil, "a line end between tokens"),
            .nested("arrays up to the limit", beyond: 0, opening: "[", closing: "]"),
            .nested("arrays one below the limit", beyond: -1, opening: "[", closing: "]"),
            .nested("objects up to the limit", beyond: 0, opening: #"{"a":"#, closing: "}"),
            .around("blanks in front", lead: Array(" \t\r".utf8)), .around("blanks behind", trail: Array(" \t\r".utf8)),
            HostileJSON(name: "a document of the greatest size", code: nil, isLine: true) { slot in
                let document = slot.before + [UInt8(ascii: "1")] + slot.after
                return (document + [UInt8](repeating: 0x20, count: slot.limit - document.count), 0)
            },
        ]

    // MARK: Refused

    static let refused: [HostileJSON] = numbers + strings + keys + structure + encodings

    private static let numbers: [HostileJSON] =
        ["01", "-01", "00", "1.", "-", "-a", "1.e1", "1e", "1e+", "1.5e-", "-Infinity", "- 1", "--1"].map {
            .value($0, "json-invalid-number")
        } + ["+1", ".5", "NaN", "Infinity", "\u{FF11}", "$1"].map { .value($0, "json-unexpected-byte") } + [
            .value("0x1", "json-unexpected-byte", at: 1), .value("1_000", "json-unexpected-byte", at: 1),
            .value("nan", "json-unexpected-byte", at: 1), .value("1e1.5", "json-unexpected-byte", at: 3),
            .value(String(repeating: "7", count: 1001), "json-number-too-long", "a number of 1001 digits"),
            .value(
                "1e" + String(repeating: "0", count: 200_000), "json-number-too-long", "an exponent of 200000 digits"),
        ]

    private static let strings: [HostileJSON] =
        [#""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800x""#, #""\udc00\ud800""#, #""\ud800\n""#].map {
            .value($0, "json-lone-surrogate", at: 1)
        }
        + [#""\x41""#, #""\'""#, #""\u12""#, #""\u{41}""#, #""\U0041""#, #""\u+123""#, #""\0""#].map {
            .value($0, "json-invalid-escape", at: 1)
        }
        + [0x00, 0x01, 0x09, 0x0A, 0x0D, 0x1F].map {
            .value([0x22, $0, 0x22], "json-control-character", at: 1, "the byte \($0) in a string")
        }
        + [
            [0xFF], [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xC3, 0x28],
            [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80],
        ].map { .value([0x22] + $0 + [0x22], "json-invalid-utf-8", at: 1, "the bytes \($0) in a string") } + [
            .value([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], "json-invalid-utf-8", at: 2, "the byte 255 in a key"),
            .value("'a'", "json-unexpected-byte"), .value("\u{201C}a\u{201D}", "json-unexpected-byte"),
        ]

    private static let keys: [HostileJSON] = [
        .value(#"{"a":1,"a":1}"#, "json-duplicate-key", at: 7),
        .value(#"{"a":1,"\u0061":2}"#, "json-duplicate-key", at: 7),
        .value(#"{"/":1,"\/":2}"#, "json-duplicate-key", at: 7), .value(#"{"":1,"":2}"#, "json-duplicate-key", at: 6),
        .value(#"{"😀":1,"\ud83d\ude00":2}"#, "json-duplicate-key", at: 10),
        .value(#"[{"a":{"b":1,"b":2}}]"#, "json-duplicate-key", at: 13),
        // The key of the slot itself.
        .value(#"1,"x":2"#, "json-duplicate-key", at: 2), .value(#"1,"\u0078":2"#, "json-duplicate-key", at: 2),
        .value(
            "{" + (100..<300).map { "\"\($0)\":1" }.joined(separator: ",") + ",\"150\":2}", "json-duplicate-key",
            at: 1 + 200 * 8, "a key of many twice"),
        .value("{a:1}", "json-unexpected-byte", at: 1), .value("{'a':1}", "json-unexpected-byte", at: 1),
        .value("{1:1}", "json-unexpected-byte", at: 1), .value(#"{"a" 1}"#, "json-unexpected-byte", at: 5),
        .value(#"{"a":}"#, "json-unexpected-byte", at: 5), .value(#"{"a"}"#, "json-unexpected-byte", at: 4),
    ]

    private static let structure: [HostileJSON] = [
        .value("[1,]", "json-trailing-comma", at: 2), .value(#"{"a":1,}"#, "json-trailing-comma", at: 6),
        .value("[1 , ]", "json-trailing-comma", at: 3), .value("[,1]", "json-unexpected-byte", at: 1),
        .value("[,]", "json-unexpected-byte", at: 1), .value("[1,,2]", "json-unexpected-byte", at: 3),
        .value("[1 2]", "json-unexpected-byte", at: 3), .value("[1}", "json-unexpected-byte", at: 2),
        .value("[1:2]", "json-unexpected-byte", at: 2), .value("", "json-unexpected-byte", "no value"),
        .value("/**/1", "json-unexpected-byte"), .value("1/**/", "json-unexpected-byte", at: 1),
        .value("1//", "json-unexpected-byte", at: 1), .value("#1", "json-unexpected-byte"),
        .value("True", "json-unexpected-byte"), .value("undefined", "json-unexpected-byte"),
        .value("tru", "json-unexpected-byte", at: 3), .value("nulll", "json-unexpected-byte", at: 4),
        .value("\u{A0}1", "json-unexpected-byte"), .value("\u{C}1", "json-unexpected-byte"),
        .value("\u{FEFF}1", "json-unexpected-byte"), .value([0x00], "json-unexpected-byte", at: 0, "NUL as a value"),
        .nested("arrays beyond the limit", beyond: 1, opening: "[", closing: "]"),
        .nested("objects beyond the limit", beyond: 1, opening: #"{"a":"#, closing: "}"),
        .nested("arrays far beyond the limit", beyond: 100_000, opening: "[", closing: "]"),
        .around("a letter behind", trail: Array(" x".utf8), "json-trailing-bytes", at: 1),
        .around("a comma behind", trail: Array(",".utf8), "json-trailing-bytes"),
        .around("a brace behind", trail: Array("}".utf8), "json-trailing-bytes"),
        .around("another document behind", trail: Array("{}".utf8), "json-trailing-bytes"),
        .around("NUL behind", trail: [0], "json-trailing-bytes"),
        .around("a comment behind", trail: Array("//".utf8), "json-trailing-bytes"),
        .changed("nothing", "json-unexpected-end", isLine: false, { _ in [] }),
        .changed("blanks alone", "json-unexpected-end", isLine: false, { _ in [0x20, 0x09, 0x20] }, at: { $0 }),
        .changed("all but the last byte", "json-unexpected-end", { Array($0.dropLast()) }, at: { $0 }),
        .changed("the first byte alone", "json-unexpected-end", { Array($0.prefix(1)) }, at: { $0 }),
    ]

    private static let encodings: [HostileJSON] = [
        .around("a byte order mark", lead: [0xEF, 0xBB, 0xBF], "json-byte-order-mark"),
        .changed("UTF-16LE", "json-not-utf-8", { $0.flatMap { [$0, 0] } }),
        .changed("UTF-16BE", "json-not-utf-8", { $0.flatMap { [0, $0] } }),
        .changed("UTF-16LE with its mark", "json-not-utf-8", { [0xFF, 0xFE] + $0.flatMap { [$0, 0] } }),
        .changed("UTF-16BE with its mark", "json-not-utf-8", { [0xFE, 0xFF] + $0.flatMap { [0, $0] } }),
        .changed("UTF-32LE", "json-not-utf-8", { $0.flatMap { [$0, 0, 0, 0] } }),
        .around("NUL in front", lead: [0], "json-not-utf-8"),
        .around("a no-break space in front", lead: [0xC2, 0xA0], "json-unexpected-byte"),
        .around("half a byte order mark", lead: [0xEF, 0xBB], "json-unexpected-byte"),
    ]

    /// One byte more than the maximum size. A body is not read to its end, and has no offset.
    static let tooLong = HostileJSON(name: "one byte more than the greatest size", code: "body-too-large", isLine: true)
    {
        slot in
        let document = slot.before + [UInt8(ascii: "1")] + slot.after
        return (document + [UInt8](repeating: 0x20, count: slot.limit + 1 - document.count), slot.limit)
    }
}
