import RouterPlugin
import Yams

/// Turns YAML nodes of one text into values and remembers the place of each.
struct YAMLValues {
    private let path: String
    /// The lines of the text, if it may contain a byte order mark.
    private let lines: YAMLLines?
    /// The place of the last lookup: the scalars of a line come in the order of the text.
    private var cursor = (line: 0, column: 0, index: "".startIndex)
    private var marks: [String: (line: Int, column: Int)] = [:]
    private var faults: [ConfigurationFault] = []
    private var isTooDeep = false

    init(path: String, text: String) {
        self.path = path
        lines = Self.mayHaveMark(text) ? YAMLLines(text) : nil
    }

    /// The values of a document of the text, with their places.
    func read(
        _ node: Node
    ) -> (root: JSONValue, marks: [String: (line: Int, column: Int)], faults: [ConfigurationFault]) {
        var values = self
        let root = values.convert(node, at: "", depth: 0)
        return (root, values.marks, values.faults)
    }

    /// Whether a text has a byte order mark, or the digits of its escape.
    private static func mayHaveMark(_ text: String) -> Bool {
        var last: UInt32 = 0
        return text.utf8.contains { byte in
            last = last << 8 | UInt32(byte)
            return last & 0xFF_FFFF == 0xEF_BBBF || last | 0x2020_2020 == 0x6665_6666
        }
    }

    private mutating func convert(_ node: Node, at pointer: String, depth: Int) -> JSONValue {
        if let mark = node.mark { marks[pointer] = (mark.line, mark.column) }
        switch node {
        case .scalar(let scalar): return value(of: scalar, node, pointer)
        case .sequence(let sequence):
            guard isShallow(node, pointer, depth), isUsual(sequence.tag, of: .seq, node, pointer) else { return .null }
            var elements: [JSONValue] = []
            for (place, element) in sequence.enumerated() {
                elements.append(convert(element, at: "\(pointer)/\(place)", depth: depth + 1))
            }
            return .array(elements)
        case .mapping(let mapping):
            guard isShallow(node, pointer, depth), isUsual(mapping.tag, of: .map, node, pointer) else { return .null }
            var object = JSONObject()
            for (key, value) in mapping {
                guard case .scalar(let scalar) = key else {
                    refuse(key, pointer, "A key must be a text.")
                    continue
                }
                let name = text(of: scalar)
                if Self.isPlain(scalar), name == "<<" { refuse(key, "\(pointer)/<<", Self.difference("<<", .none)) }
                if object[name] != nil { refuse(key, "\(pointer)/\(name)", "This key stands here twice.") }
                object[name] = convert(value, at: "\(pointer)/\(name)", depth: depth + 1)
            }
            return .object(object)
        case .alias:
            refuse(node, pointer, YAMLDocuments.aliasRefusal)
            return .null
        }
    }

    /// Whether a list or mapping is allowed at this depth. The first one that is too deep is reported.
    private mutating func isShallow(_ node: Node, _ pointer: String, _ depth: Int) -> Bool {
        guard depth >= DaemonLimits.documentDepth else { return true }
        if !isTooDeep {
            refuse(node, pointer, "There may be \(DaemonLimits.documentDepth) lists and mappings within each other.")
        }
        isTooDeep = true
        return false
    }

    /// Whether a list or mapping has no tag, or that of its kind.
    private mutating func isUsual(_ tag: Tag, of kind: Tag.Name, _ node: Node, _ pointer: String) -> Bool {
        if [.implicit, .nonSpecific, kind].contains(Tag.Name(rawValue: tag.rawValue)) { return true }
        refuse(node, pointer, "The tag \(tag.rawValue) is not taken here.")
        return false
    }

    /// The value of a scalar: an explicit tag decides, quotes make a text, and a plain scalar is what the core schema has.
    private mutating func value(of scalar: Node.Scalar, _ node: Node, _ pointer: String) -> JSONValue {
        let tag = Tag.Name(rawValue: scalar.tag.rawValue)
        switch tag {
        case .implicit where !Self.isPlain(scalar), .nonSpecific, .str: return .string(text(of: scalar))
        case .implicit, .null, .bool, .int, .float: break
        default:
            refuse(node, pointer, "The tag \(tag.rawValue) is not taken here.")
            return .string(scalar.string)
        }
        let value = YAMLScalar(scalar.string)
        switch (value, tag) {
        case (.differs(let remedy), _): refuse(node, pointer, Self.difference(scalar.string, remedy))
        case (.noJSON, _):
            refuse(node, pointer, "JSON has no number \(scalar.string); put it in quotes: \"\(scalar.string)\".")
        case (.null, .implicit), (.null, .null): return .null
        case (.flag(let flag), .implicit), (.flag(let flag), .bool): return .bool(flag)
        case (.number(let number), .implicit), (.number(let number), .float): return .number(number)
        case (.number(let number), .int) where !number.text.utf8.contains(where: ".eE".utf8.contains):
            return .number(number)
        case (.text, .implicit): return .string(text(of: scalar))
        default: refuse(node, pointer, "This is no value of the tag \(tag.rawValue).")
        }
        return .string(scalar.string)
    }

    private static func isPlain(_ scalar: Node.Scalar) -> Bool { scalar.style == .plain || scalar.style == .any }

    private static func difference(_ text: String, _ remedy: YAMLScalar.Remedy) -> String {
        "YAML 1.1 and 1.2 read \(text) differently; put it in quotes: \"\(text)\"\(remedy.rawValue)."
    }

    /// The text of a scalar. Yams drops a byte order mark at its start, which is recovered from the source.
    private mutating func text(of scalar: Node.Scalar) -> String {
        guard let lines, let mark = scalar.mark else { return scalar.string }
        var source = source(at: mark, in: lines)
        if [.doubleQuoted, .singleQuoted].contains(scalar.style) { source = source.dropFirst() }
        var hasMark = source.first == "\u{FEFF}"
        if scalar.style == .doubleQuoted {
            let start = String(source.prefix(10)).lowercased()
            hasMark = hasMark || start.hasPrefix("\\ufeff") || start == "\\u0000feff"
        }
        return hasMark ? "\u{FEFF}" + scalar.string : scalar.string
    }

    /// The rest of the line from a place on. A line may have most of the text.
    private mutating func source(at mark: Mark, in lines: YAMLLines) -> Substring.UnicodeScalarView {
        let line = lines.scalars(of: mark.line)
        if mark.line != cursor.line || mark.column < cursor.column { cursor = (mark.line, 1, line.startIndex) }
        let offset = mark.column - cursor.column
        cursor.index = line.index(cursor.index, offsetBy: offset, limitedBy: line.endIndex) ?? line.endIndex
        cursor.column = mark.column
        return line[cursor.index...]
    }

    private mutating func refuse(_ node: Node, _ pointer: String, _ message: String) {
        faults.append(
            ConfigurationFault(
                file: path, line: node.mark?.line, column: node.mark?.column, pointer: pointer, message: message))
    }
}
