import RouterPlugin
import RouterdApp

/// The text of several files of documents, one after another, and the file in which each of its lines stands.
struct SetFiles {
    private(set) var text: [UInt8] = []
    /// The names of the files, and the first line of each in the text.
    private var files: [(name: String, firstLine: Int)] = []
    private var lines = 0

    /// Adds a file, without a byte order mark.
    mutating func append(_ bytes: [UInt8], of name: String) throws {
        guard let added = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw UnreadableFile(path: name, reason: "it is not UTF-8")
        }
        if !files.isEmpty {
            // The separator ends the last line of the file before it, and is a line of its own.
            text += Array("\n---\n".utf8)
            lines += 1
        }
        files.append((name, lines + 1))
        text += Array(added.utf8)
        lines += YAMLLines(added).count
    }

    /// The faults of a set that a daemon refused, a line each, at their places in the files; nil if it names none.
    func faults(in problem: JSONValue) -> String? {
        guard let faults = problem["faults"]?.asArray, !faults.isEmpty else { return nil }
        let list = faults.map { fault in
            var shown = ConfigurationFault(
                file: fault["file"]?.asString, line: fault["line"]?.asInt64.map(Int.init),
                column: fault["column"]?.asInt64.map(Int.init), pointer: fault["pointer"]?.asString ?? "",
                message: fault["message"]?.asString ?? "")
            if let line = shown.line, let file = files.last(where: { $0.firstLine <= line }) {
                (shown.file, shown.line) = (file.name, line - file.firstLine + 1)
            }
            return shown.description
        }
        let count = faults.count == 1 ? "A fault" : "\(faults.count) faults"
        return "\(count) in the set; nothing was changed:\n" + list.joined(separator: "\n")
    }
}
