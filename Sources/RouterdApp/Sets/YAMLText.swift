package import RouterPlugin
import Yams

/// JSON values as YAML for people. Reading the text gives the same values.
package enum YAMLText {
    package static func write(_ value: JSONValue) throws -> String {
        try Yams.serialize(node: node(value), width: -1, allowUnicode: true)
    }

    /// A value as JSON that is YAML, too: characters that YAML does not accept unescaped, or reads as line ends, are
    /// escaped.
    package static func writeJSON(_ value: JSONValue) -> [UInt8] {
        var text = ""
        for scalar in String(decoding: value.serialized(), as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return Array(text.utf8)
    }

    private static func node(_ value: JSONValue) -> Node {
        switch value {
        case .null: Node("null", Tag(.null))
        case .bool(let flag): Node(flag ? "true" : "false", Tag(.bool))
        case .number(let number): Node(number.text, Tag(.int))
        case .string(let text): node(text)
        case .array(let elements): Node(elements.map(node), Tag(.seq), elements.isEmpty ? .flow : .block)
        case .object(let object):
            Node(
                object.members.map { (node($0.key), node($0.value)) }, Tag(.map),
                object.isEmpty ? .flow : .block)
        }
    }

    private static func node(_ text: String) -> Node {
        .scalar(Node.Scalar(text, Tag(.str), isPlain(text) ? .plain : .doubleQuoted))
    }

    /// Whether every YAML reader reads the text without quotes as a text: words of letters, none with a special
    /// meaning.
    private static func isPlain(_ text: String) -> Bool {
        let words = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "~"]
        guard let first = text.utf8.first, isLetter(first), !words.contains(text.lowercased()) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || [0x2D, 0x2E, 0x5F].contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
}
