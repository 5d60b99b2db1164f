import Glibc
package import RouterPlugin
import Synchronization

/// The value of the header `Date`, formatted again on the first read in each second.
///
/// Thread-safe.
package final class DateHeader: Sendable {
    private let clock = SteadyClock()
    private let last = Mutex((second: Int64.min, text: ""))

    package init() {}

    /// The current date.
    var text: String { text(at: clock.wall) }

    /// The date in the format of RFC 9110, 5.6.7, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package func text(at time: Timestamp) -> String {
        let second = time.milliseconds / 1000
        return last.withLock { last in
            if last.second != second { last = (second, Self.write(second)) }
            return last.text
        }
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func write(_ second: Int64) -> String {
        var (time, parts) = (time_t(second), tm())
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(1900 + Int(parts.tm_year))"
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(two).joined(separator: ":")
        return "\(days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
    }
}
