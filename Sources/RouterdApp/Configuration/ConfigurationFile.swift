import Foundation
package import RouterPlugin

/// A configuration file as values with their places. The format is YAML, and therefore JSON too.
package struct ConfigurationFile: Sendable {
    package let path: String
    package let root: JSONValue
    private let marks: [String: (line: Int, column: Int)]
    /// Faults of single values: their places in YAML are known, and the rest of the file can be read.
    let faults: [ConfigurationFault]

    /// Reads and parses a file; an empty file has no settings.
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
        let text = text.withoutByteOrderMark
        let documents = YAMLDocuments(text, path: path, isAlone: true)
        if let fault = documents.fault { throw ConfigurationFaults([fault]) }
        guard let node = documents.nodes.first else {
            (root, marks, faults) = (.object(JSONObject()), [:], [])
            return
        }
        (root, marks, faults) = YAMLValues(path: path, text: text).read(node)
    }

    /// Reads a text of several documents, each with the places of its values in the whole text.
    ///
    /// - Returns: The documents before the first fault of the syntax, and that fault.
    package static func documents(
        path: String, text: String
    ) -> (files: [ConfigurationFile], fault: ConfigurationFault?) {
        let text = text.withoutByteOrderMark
        let documents = YAMLDocuments(text, path: path)
        let values = YAMLValues(path: path, text: text)
        let files = documents.nodes.map { node in
            let (root, marks, faults) = values.read(node)
            return ConfigurationFile(path: path, root: root, marks: marks, faults: faults)
        }
        return (files, documents.fault)
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
}
