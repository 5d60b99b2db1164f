import Glibc
import Router
import RouterPlugin

extension ConfigurationLoader {
    /// The collector of spans; nil if none is configured.
    mutating func traces() -> TraceSettings? {
        var settings: TraceSettings?
        read("traces.collector") { settings = TraceSettings(collector: try Self.collector($0)) }
        read("traces.service") { settings?.service = try Self.nonEmpty($0) }
        read("traces.percent") { settings?.percent = try Self.integer($0, 0...100) }
        read("traces.headersFile") {
            let file = try ConfiguredFile($0, limit: DaemonLimits.traceHeadersBytes)
            settings?.headers = try Self.headers(file.bytes)
            settings?.isOpenToAll = file.mode.map { $0 & S_IROTH != 0 } ?? false
        }
        return settings
    }

    private static func collector(_ text: String) throws(Unusable) -> String {
        let isHTTP = text.hasPrefix("http://") || text.hasPrefix("https://")
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }
        guard isHTTP, isPlain, Origin(url: text).text.utf8.count < text.utf8.count else {
            throw Unusable("must be the URL to which spans are posted, such as http://127.0.0.1:4318/v1/traces")
        }
        return text
    }

    /// Reads header fields, one a line: `name: value`. Empty lines and lines that begin with `#` are skipped.
    private static func headers(_ bytes: [UInt8]) throws(Unusable) -> [HeaderField] {
        guard bytes.count <= DaemonLimits.traceHeadersBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw Unusable("names a file that must hold header fields, one a line, and at most 16 KiB")
        }
        var fields: [HeaderField] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingBlanks
            if line.isEmpty || line.hasPrefix("#") { continue }
            // A fault shows the number of the line alone: the line may be a secret.
            let fault = Unusable("names a file with a fault in line \(number + 1): it must be \"name: value\"")
            guard let colon = line.firstIndex(of: ":") else { throw fault }
            let (name, value) = (line[..<colon], line[line.index(after: colon)...].trimmingBlanks)
            let isName = !name.isEmpty && name.utf8.allSatisfy { isNameByte($0) }
            guard isName, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw fault }
            fields.append(HeaderField(name.lowercased(), String(value)))
        }
        return fields
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lower)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_".utf8.contains(byte)
    }
}

extension Substring {
    /// The text without blanks and tabs at its ends.
    fileprivate var trimmingBlanks: Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let head = drop(while: isBlank)
        guard let last = head.lastIndex(where: { !isBlank($0) }) else { return head[head.startIndex..<head.startIndex] }
        return head[...last]
    }
}
