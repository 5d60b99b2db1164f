package import Logging

/// The form of a log: `log.format`.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people: time in UTC, level, message, and then the metadata.
    ///
    ///     2026-01-02T03:04:05.678Z notice   endpoint fails; its deliveries wait  outcome=connect-failed session=win-7
    case text
    /// For programs: one JSON object a line, with time, level and message before the metadata.
    ///
    ///     {"time":"2026-01-02T03:04:05.678Z","level":"notice","message":"endpoint fails","outcome":"connect-failed"}
    case json

    /// A logger that hands each line to `write`, without a line break.
    package func logger(
        _ label: String = "routerd", at level: Logger.Level, write: @escaping @Sendable (String) -> Void
    ) -> Logger {
        var logger = Logger(label: label) { _ in LineLogHandler(self, write: write) }
        logger.logLevel = level
        return logger
    }
}
