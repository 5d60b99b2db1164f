import Foundation
package import RouterPlugin
import Yams

/// A configuration file as values with their places. YAML, and so JSON too.
package struct ConfigurationFile: Sendable {
    package let path: String
    package let root: JSONValue
    private let marks: [String: (line: Int, column: Int)]
    /// Faults of single values: their places in YAML are known, and the rest of the file can be read.
    let faults: [ConfigurationFault]

    /// Reads and parses; a file that is empty has no settings.
    package init(path: String) throws(ConfigurationFaults) {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw ConfigurationFaults([ConfigurationFault(file: path, message: Self.sentence(for: error))])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationFaults([ConfigurationFault(file: path, message: "The file is not UTF-8.")])
        }
        try self.init(path: path, text: text)
    }

    private static func sentence(for error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: "There is no such file."
        case .fileReadNoPermission: "The file may not be read: its permissions do not allow it."
        default: "The file cannot be read; it must be a regular file."
        }
    }

    package init(path: String, text: String) throws(ConfigurationFaults) {
        self.path = path
        var converter = NodeConverter(path: path)
        do {
            if let node = try Yams.compose(yaml: text) {
                root = converter.convert(node, at: "")
            } else {
                root = .object(JSONObject())
            }
        } catch {
            throw ConfigurationFaults([Self.fault(of: error, path: path)])
        }
        marks = converter.marks
        faults = converter.faults
    }

    /// Reads a text of several documents, each with the places of its values in the whole text.
    package static func documents(path: String, text: String) throws(ConfigurationFaults) -> [ConfigurationFile] {
        do {
            return try Yams.compose_all(yaml: text).map { node in
                var converter = NodeConverter(path: path)
                let root = converter.convert(node, at: "")
                return ConfigurationFile(path: path, root: root, marks: converter.marks, faults: converter.faults)
            }
        } catch {
            throw ConfigurationFaults([fault(of: error, path: path)])
        }
    }

    private init(
        path: String, root: JSONValue, marks: [String: (line: Int, column: Int)], faults: [ConfigurationFault]
    ) {
        self.path = path
        self.root = root
        self.marks = marks
        self.faults = faults
    }

    /// A fault at a value of this file, or at the nearest value around it.
    package func fault(_ pointer: String, _ message: String) -> ConfigurationFault {
        var place = pointer[...]
        while marks[String(place)] == nil, let slash = place.lastIndex(of: "/") { place = place[..<slash] }
        let mark = marks[String(place)]
        return ConfigurationFault(
            file: path, line: mark?.line, column: mark?.column, pointer: pointer, message: message)
    }

    private static func fault(of error: any Error, path: String) -> ConfigurationFault {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ConfigurationFault(file: path, line: mark.line, column: mark.column, message: "\(problem).")
        case .duplicatedKeysInMapping(let keys, let context):
            ConfigurationFault(
                file: path, line: context.mark.line, column: context.mark.column,
                message: "These keys stand here twice: \(keys.joined(separator: ", ")).")
        default: ConfigurationFault(file: path, message: "This is not YAML.")
        }
    }
}

/// Turns YAML's nodes into values and remembers where each stood.
private struct NodeConverter {
    let path: String
    var marks: [String: (line: Int, column: Int)] = [:]
    var faults: [ConfigurationFault] = []

    mutating func convert(_ node: Node, at pointer: String) -> JSONValue {
        if let mark = node.mark { marks[pointer] = (mark.line, mark.column) }
        switch node {
        case .scalar(let scalar): return value(of: scalar, node, pointer)
        case .sequence(let sequence):
            var elements: [JSONValue] = []
            for (place, element) in sequence.enumerated() {
                elements.append(convert(element, at: "\(pointer)/\(place)"))
            }
            return .array(elements)
        case .mapping(let mapping):
            var object = JSONObject()
            for (key, value) in mapping {
                let name = key.string ?? ""
                if object[name] != nil { refuse(key, "\(pointer)/\(name)", "This key stands here twice.") }
                object[name] = convert(value, at: "\(pointer)/\(name)")
            }
            return .object(object)
        case .alias:
            refuse(node, pointer, "Aliases are not taken here; write the value out.")
            return .null
        }
    }

    private mutating func value(of scalar: Node.Scalar, _ node: Node, _ pointer: String) -> JSONValue {
        guard scalar.style == .plain || scalar.style == .any else { return .string(scalar.string) }
        if node.null != nil { return .null }
        if let flag = node.bool { return .bool(flag) }
        if let number = node.int {
            guard !scalar.string.contains(":") else {
                // YAML 1.1 counts in sixties: 22:00 is 1320.
                let message =
                    "YAML reads \(scalar.string) as the number \(number); put it in quotes: \"\(scalar.string)\"."
                refuse(node, pointer, message)
                return .string(scalar.string)
            }
            return .number(JSONNumber(Int64(number)))
        }
        // Numbers of YAML that JSON writes in the same way; others, such as .inf, are texts.
        if let value = try? JSONValue(parsing: Array(scalar.string.utf8)), case .number = value { return value }
        return .string(scalar.string)
    }

    private mutating func refuse(_ node: Node, _ pointer: String, _ message: String) {
        faults.append(
            ConfigurationFault(
                file: path, line: node.mark?.line, column: node.mark?.column, pointer: pointer, message: message))
    }
}
