import Glibc
import RouterdApp

/// The processor time of this process's threads, from which a load run knows whether the generator was the bottleneck.
package struct GeneratorWatch: Sendable {
    /// The clock ticks of each thread.
    private let ticks: [String: Int]
    private let at: ContinuousClock.Instant

    init(ticks: [String: Int], at: ContinuousClock.Instant) {
        self.ticks = ticks
        self.at = at
    }

    /// The threads as they are now.
    init() {
        var ticks: [String: Int] = [:]
        for thread in Self.threads {
            guard let text = Self.content(of: "/proc/self/task/\(thread)/stat") else { continue }
            ticks[thread] = Self.ticks(in: text)
        }
        self.init(ticks: ticks, at: .now)
    }

    /// The share of a core that the busiest thread has taken since an earlier moment, from 0 to 1.
    func busiestThread(since earlier: GeneratorWatch) -> Double {
        let seconds = Double((at - earlier.at) / .milliseconds(1)) / 1000
        let most = ticks.map { $0.value - (earlier.ticks[$0.key] ?? 0) }.max() ?? 0
        return seconds > 0 ? Double(most) / Double(sysconf(Int32(_SC_CLK_TCK))) / seconds : 0
    }

    /// The user and system time of a line of `stat`, whose second field is a name in parentheses that may have any character.
    static func ticks(in stat: String) -> Int? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        return user + system
    }

    private static var threads: [String] {
        guard let folder = opendir("/proc/self/task") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func content(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}

/// Whether a load run measured the daemon, or the generator itself.
package struct GeneratorVerdict: Hashable, Sendable {
    /// The lateness of requests in milliseconds, which more than one in a hundred of them exceeded.
    package var latenessP99: Double
    /// The wait of requests for a connection of the generator, likewise.
    package var connectionWaitP99: Double
    /// The share of a core that the busiest thread took.
    package var busiestThread: Double

    /// The bounds beyond which times are those of the generator.
    package static let most = GeneratorVerdict(latenessP99: 1, connectionWaitP99: 1, busiestThread: 0.8)

    package init(latenessP99: Double, connectionWaitP99: Double = 0, busiestThread: Double) {
        (self.latenessP99, self.connectionWaitP99) = (latenessP99, connectionWaitP99)
        self.busiestThread = busiestThread
    }

    /// Why the times are not the daemon's; nil if they are.
    package var reason: String? {
        if latenessP99 > Self.most.latenessP99 {
            return "one request in a hundred was sent \(LoadReport.shown(latenessP99)) ms late or later"
        }
        if busiestThread > Self.most.busiestThread {
            return "a thread of the generator took \(Int((busiestThread * 100).rounded())) % of a core"
        }
        return isStarvedOfConnections
            ? "one request in a hundred waited \(LoadReport.shown(connectionWaitP99)) ms or longer for a connection: "
                + "raise --connections or --generators"
            : nil
    }

    /// Whether requests were sent when they were due, and no thread was too busy.
    package var isOnTime: Bool {
        latenessP99 <= Self.most.latenessP99 && busiestThread <= Self.most.busiestThread
    }

    /// Whether requests waited for connections too long; the generator itself may have kept up.
    package var isStarvedOfConnections: Bool { connectionWaitP99 > Self.most.connectionWaitP99 }
}
