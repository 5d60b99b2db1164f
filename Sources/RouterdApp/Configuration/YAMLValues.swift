import RouterPlugin
import Yams

/// Turns YAML nodes into values and remembers the place of each.
struct YAMLValues {
    private let path: String
    /// The lines of the text, if it may contain a byte order mark.
    private let lines: YAMLLines?
    private var marks: [String: (line: Int, column: Int)] = [:]
    private var faults: [ConfigurationFault] = []
    private var isTooDeep = false

    static func read(
        _ node: Node, path: String, text: String
    ) -> (root: JSONValue, marks: [String: (line: Int, column: Int)], faults: [ConfigurationFault]) {
        var values = YAMLValues(path: path, text: text)
        let root = values.convert(node, at: "", depth: 0)
        return (root, values.marks, values.faults)
    }

    private init(path: String, text: String) {
        self.path = path
        let mayHaveMark = text.unicodeScalars.contains("\u{FEFF}") || text.lowercased().contains("feff")
        lines = mayHaveMark ? YAMLLines(text) : nil
    }

    private mutating func convert(_ node: Node, at pointer: String, depth: Int) -> JSONValue {
        if let mark = node.mark { marks[pointer] = (mark.line, mark.column) }
        switch node {
        case .scalar(let scalar): return value(of: scalar, node, pointer)
        case .sequence(let sequence):
            guard isShallow(node, pointer, depth) else { return .null }
            var elements: [JSONValue] = []
            for (place, element) in sequence.enumerated() {
                elements.append(convert(element, at: "\(pointer)/\(place)", depth: depth + 1))
            }
            return .array(elements)
        case .mapping(let mapping):
            guard isShallow(node, pointer, depth) else { return .null }
            var object = JSONObject()
            for (key, value) in mapping {
                guard case .scalar(let scalar) = key else {
                    refuse(key, pointer, "A key must be a text.")
                    continue
                }
                let name = text(of: scalar)
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

    private mutating func value(of scalar: Node.Scalar, _ node: Node, _ pointer: String) -> JSONValue {
        guard scalar.style == .plain || scalar.style == .any else { return .string(text(of: scalar)) }
        if node.null != nil { return .null }
        if let flag = node.bool { return .bool(flag) }
        if let number = node.int {
            guard !scalar.string.contains(":") else {
                // YAML 1.1 reads 22:00 as a sexagesimal number: 1320.
                let message =
                    "YAML reads \(scalar.string) as the number \(number); put it in quotes: \"\(scalar.string)\"."
                refuse(node, pointer, message)
                return .string(scalar.string)
            }
            return .number(JSONNumber(Int64(number)))
        }
        // YAML numbers that JSON writes in the same way; others, such as .inf, are texts.
        if let value = try? JSONValue(parsing: Array(scalar.string.utf8)), case .number = value { return value }
        return .string(text(of: scalar))
    }

    /// The text of a scalar. Yams drops a byte order mark at its start, which is recovered from the source.
    private func text(of scalar: Node.Scalar) -> String {
        guard let lines, let mark = scalar.mark else { return scalar.string }
        var source = lines.scalars(of: mark.line).dropFirst(mark.column - 1)
        if [.doubleQuoted, .singleQuoted].contains(scalar.style) { source = source.dropFirst() }
        var hasMark = source.first == "\u{FEFF}"
        if scalar.style == .doubleQuoted {
            let start = String(source.prefix(10)).lowercased()
            hasMark = hasMark || start.hasPrefix("\\ufeff") || start == "\\u0000feff"
        }
        return hasMark ? "\u{FEFF}" + scalar.string : scalar.string
    }

    private mutating func refuse(_ node: Node, _ pointer: String, _ message: String) {
        faults.append(
            ConfigurationFault(
                file: path, line: node.mark?.line, column: node.mark?.column, pointer: pointer, message: message))
    }
}
