package import Logging

/// The form of the daemon's log: `log.format`.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people.
    case text
    /// For programs: one JSON object a line.
    case json

    /// A logger that hands each line to `write`, without a line break.
    package func logger(at level: Logger.Level, write: @escaping @Sendable (String) -> Void) -> Logger {
        var logger = Logger(label: "routerd") { _ in
            switch self {
            case .text: ConsoleLogHandler(write: write)
            case .json: JSONLogHandler(write: write)
            }
        }
        logger.logLevel = level
        return logger
    }
}
