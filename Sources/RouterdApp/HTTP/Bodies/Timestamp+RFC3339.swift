import Foundation
import RouterPlugin

extension Timestamp {
    /// Reads a time such as `2026-01-02T03:04:05Z`, with or without a fraction of a second.
    init?(rfc3339 text: String) {
        let withFraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = (try? withFraction.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text)),
            let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded())
        else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
