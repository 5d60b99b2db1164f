package import Logging
import RouterPlugin

/// Writes log lines for programs: one JSON object a line, with time, level and message before the metadata.
///
///     {"time":"2026-01-02T03:04:05.678Z","level":"notice","message":"endpoint fails","outcome":"connect-failed"}
///
/// Metadata under the name of one of the first three members gets `metadata.` before its name.
package struct JSONLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    private let clock = SteadyClock()
    private let write: @Sendable (String) -> Void

    private static let ownNames: Set<String> = ["time", "level", "message"]

    /// - Parameter write: Receives one line without its line break.
    package init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let details = metadata.merging(event.metadata ?? [:]) { $1 }
        let line = JSONWriter.object { line in
            line.field("time", clock.wall)
            line.field("level", event.level.rawValue)
            line.field("message", event.message.description)
            for (key, value) in details.sorted(by: { $0.key < $1.key }) {
                line.raw(Self.ownNames.contains(key) ? "metadata.\(key)" : key, Self.document(value))
            }
        }
        write(String(decoding: line, as: UTF8.self))
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
