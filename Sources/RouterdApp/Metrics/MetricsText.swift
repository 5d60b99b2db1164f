import Foundation
import Glibc
import Router
import RouterPlugin
import Synchronization

/// Durations of the requests that bring a notification, from their last byte to the commit.
final class AcceptMeter: Sendable {
    private let state = Mutex(DurationHistogram())

    var histogram: DurationHistogram { state.withLock(\.self) }

    func add(_ duration: Duration) { state.withLock { $0.add(duration) } }
}

/// Metrics in the text format of Prometheus, version 0.0.4.
struct MetricsText {
    private(set) var text = ""

    /// The description of a metric; its samples follow.
    mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: some Numeric) {
        text += name
        if !labels.isEmpty {
            text += "{\(labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ","))}"
        }
        text += " \(value)\n"
    }

    mutating func gauge(_ name: String, _ help: String, _ value: some Numeric) {
        begin(name, "gauge", help)
        add(name, [:], value)
    }

    mutating func counter(_ name: String, _ help: String, _ value: some Numeric) {
        begin(name, "counter", help)
        add(name, [:], value)
    }

    mutating func histogram(_ name: String, _ help: String, _ histogram: DurationHistogram) {
        begin(name, "histogram", help)
        var count = 0
        for (bound, number) in zip(DurationHistogram.bounds, histogram.counts) {
            count += number
            add("\(name)_bucket", ["le": bound.seconds], count)
        }
        count += histogram.counts.last ?? 0
        add("\(name)_bucket", ["le": "+Inf"], count)
        add("\(name)_sum", [:], Double(histogram.nanoseconds) / 1_000_000_000)
        add("\(name)_count", [:], count)
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

/// Figures of this process, as Prometheus names them everywhere.
enum ProcessFigures {
    static func write(to text: inout MetricsText, startedAt: Timestamp) {
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            let seconds = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1_000_000 }
            text.counter(
                "process_cpu_seconds_total", "Time on processors, of user and system.", seconds.reduce(0, +))
        }
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        if let resident = pages?.dropFirst().first.flatMap({ Int($0) }) {
            text.gauge("process_resident_memory_bytes", "Memory in use.", resident * Int(getpagesize()))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            text.gauge("process_open_fds", "Open files and sockets.", open)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            text.gauge("process_max_fds", "The greatest number of open files and sockets.", limit.rlim_cur)
        }
        text.gauge(
            "process_start_time_seconds", "The start of the process, in seconds since 1970.",
            Double(startedAt.milliseconds) / 1000)
    }
}
