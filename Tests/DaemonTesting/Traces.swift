import Foundation

/// The traces that a text leaves in a file: its bytes, and their forms in hexadecimal digits and in base64.
enum Traces {
    static func of(_ text: String) -> [Data] {
        let bytes = Array(text.utf8)
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ([text, digits, digits.uppercased()] + base64(bytes)).map { Data($0.utf8) }
    }

    /// Base64 encodes three bytes at a time, so the encoding of a text depends on the number of bytes before it. Digits
    /// that it shares with its neighbours are left out.
    private static func base64(_ bytes: [UInt8]) -> [String] {
        (0..<3).map { before in
            let whole = Data([UInt8](repeating: 0, count: before) + bytes).base64EncodedString()
            let first = (before * 8 + 5) / 6
            let end = (before + bytes.count) * 8 / 6
            return String(whole.prefix(end).dropFirst(first))
        }
    }

    /// The traces of a text in the files of a directory, reported by file name.
    static func find(_ text: String, in directory: TemporaryDirectory) throws -> [String] {
        let traces = of(text)
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { name in
            let bytes = try Data(contentsOf: URL(filePath: directory.file(name)))
            return traces.contains { bytes.range(of: $0) != nil }
        }
    }
}
