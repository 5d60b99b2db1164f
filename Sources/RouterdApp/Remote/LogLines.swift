/// The lines of the bytes that a plugin writes to standard error, each cut at a number of bytes.
///
/// It keeps the beginning of one line at most, so that a plugin which never ends a line takes no more memory.
struct LogLines {
    private let mostBytes: Int
    private var line: [UInt8] = []

    init(mostBytes: Int) { self.mostBytes = mostBytes }

    /// Takes further bytes; returns the lines that end in them.
    mutating func take(_ bytes: [UInt8]) -> [String] {
        var rest = bytes[...]
        var lines: [String] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            lines.append(text())
            rest = rest[(end + 1)...]
        }
        keep(rest)
        return lines
    }

    /// The line that has no end yet; nil if it is empty.
    mutating func finish() -> String? { line.isEmpty ? nil : text() }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) { line += bytes.prefix(mostBytes - line.count) }

    private mutating func text() -> String {
        defer { line.removeAll() }
        return String(decoding: line, as: UTF8.self)
    }
}
