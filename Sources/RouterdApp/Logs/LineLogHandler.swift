import Logging
import RouterPlugin

/// Writes each event of a log as one line, in a format.
struct LineLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    private let format: LogFormat
    private let clock = SteadyClock()
    private let write: @Sendable (String) -> Void

    /// - Parameter write: Receives one line without its line break.
    init(_ format: LogFormat, write: @escaping @Sendable (String) -> Void) {
        (self.format, self.write) = (format, write)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        write(format.line(of: event, details, at: clock.wall))
    }
}

extension LogFormat {
    /// Members of each line in JSON; metadata under one of these names gets `metadata.` before its name.
    private static let ownNames: Set<String> = ["time", "level", "message"]

    fileprivate func line(
        of event: LogEvent, _ details: [(key: String, value: Logger.MetadataValue)], at time: Timestamp
    ) -> String {
        switch self {
        case .text:
            let level = event.level.rawValue + String(repeating: " ", count: max(0, 8 - event.level.rawValue.count))
            let shown = details.map { " \($0.key)=\(Self.oneLine("\($0.value)"))" }
            // Two blanks separate the metadata from the message.
            let tail = shown.isEmpty ? "" : " " + shown.joined()
            return "\(time.rfc3339) \(level) \(Self.oneLine("\(event.message)"))\(tail)"
        case .json:
            let line = JSONWriter.object { line in
                line.field("time", time)
                line.field("level", event.level.rawValue)
                line.field("message", event.message.description)
                for (key, value) in details {
                    line.raw(Self.ownNames.contains(key) ? "metadata.\(key)" : key, Self.document(value))
                }
            }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// A value from outside must not be able to start a line of its own. A line break is written as in a literal of Swift.
    private static func oneLine(_ text: String) -> String {
        text.reduce(into: "") { line, character in
            if character == "\n" || character == "\r\n" {
                line += "\\n"
            } else if character.isNewline || character.asciiValue.map({ $0 < 0x20 || $0 == 0x7F }) == true {
                line += "\u{FFFD}"
            } else {
                line.append(character)
            }
        }
    }

    /// Numbers and truth values of the metadata stay numbers and truth values.
    private static func document(_ value: Logger.MetadataValue) -> [UInt8] {
        var bytes: [UInt8] = []
        switch value {
        case .string(let text): text.appendJSON(to: &bytes)
        case .stringConvertible(let value):
            if let value = value as? any JSONWritable {
                value.appendJSON(to: &bytes)
            } else {
                value.description.appendJSON(to: &bytes)
            }
        case .array(let values):
            return JSONWriter.array { array in for value in values { array.raw(document(value)) } }
        case .dictionary(let values):
            return JSONWriter.object { object in
                for (key, value) in values.sorted(by: { $0.key < $1.key }) { object.raw(key, document(value)) }
            }
        }
        return bytes
    }
}
