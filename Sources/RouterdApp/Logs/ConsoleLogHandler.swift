package import Logging
import RouterPlugin

/// Writes log lines for people: time in UTC, level, message, and then the metadata.
///
///     2026-01-02T03:04:05.678Z notice   endpoint fails; its deliveries wait  outcome=connect-failed session=win-7
package struct ConsoleLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    private let clock = SteadyClock()
    private let write: @Sendable (String) -> Void

    /// - Parameter write: Receives one line without its line break.
    package init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let level = event.level.rawValue + String(repeating: " ", count: max(0, 8 - event.level.rawValue.count))
        let details = metadata.merging(event.metadata ?? [:]) { $1 }
            .sorted { $0.key < $1.key }
            .map { " \($0.key)=\(Self.oneLine("\($0.value)"))" }
        // Two blanks separate the metadata from the message.
        let tail = details.isEmpty ? "" : " " + details.joined()
        write("\(clock.wall.rfc3339) \(level) \(Self.oneLine("\(event.message)"))\(tail)")
    }

    /// A value from outside must not be able to start a line of its own.
    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 || $0 == 0x7F } == true ? "\u{FFFD}" : $0 })
    }
}
