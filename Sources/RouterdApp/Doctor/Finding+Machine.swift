package import DeliveryCurl

// Judgements of the machine that a daemon runs on. The facts are arguments.

extension Finding {
    /// - Parameter isSynchronised: Nil if no service says so.
    package static func clock(isSynchronised: Bool?) -> Finding {
        switch isSynchronised {
        case true?: Finding("clock", .good, "The clock is kept right by a time service.")
        case false?:
            Finding(
                "clock", .bad,
                "No time service keeps the clock right: receivers refuse webhooks whose time is five minutes off.",
                cure: "Run a time service, such as systemd-timesyncd (timedatectl set-ntp true) or chrony.")
        case nil:
            Finding(
                "clock", .unknown, "This machine does not say whether a time service keeps the clock right.",
                cure: "In a container, look at its host: timedatectl show --property=NTPSynchronized")
        }
    }

    /// - Parameters:
    ///   - limit: The number of files that the process may have open.
    ///   - configuration: The configuration as it is written.
    package static func openFiles(limit: Int, for configuration: DaemonConfiguration) -> Finding {
        let cure = "Raise the limit: LimitNOFILE=65536 in the unit, or ulimit -n 65536 in the shell."
        guard let fitted = try? configuration.fitting(openFiles: limit) else {
            return Finding(
                "open files", .bad,
                "The process may have \(limit) files open, and the daemon does not start with so few.",
                cure: cure)
        }
        let least = [
            ("http.connections", configuration.edge.connections, fitted.edge.connections),
            ("delivery.slots", configuration.slots, fitted.slots),
        ].filter { $2 < $1 }
        guard let first = least.first else {
            return Finding(
                "open files", .good,
                "The process may have \(limit) files open, enough for \(fitted.edge.connections) connections of clients and "
                    + "\(fitted.slots) attempts at once.")
        }
        return Finding(
            "open files", .doubtful,
            "The process may have \(limit) files open: \(first.0) is \(first.2) in place of \(first.1).", cure: cure)
    }

    /// - Parameters:
    ///   - milliseconds: Durations of small durable writes, in any order; empty if none could be made.
    package static func disk(milliseconds: [Double], freeBytes: Int64?, at folder: String) -> [Finding] {
        var findings: [Finding] = []
        let sorted = milliseconds.sorted()
        if sorted.isEmpty {
            findings.append(
                Finding(
                    "disk", .bad, "The folder \(folder) cannot be written.",
                    cure: "Give the daemon's user the folder, or name another one as `database`."))
        } else {
            findings.append(syncs(median: sorted[sorted.count / 2], slowest: sorted[sorted.count - 1]))
        }
        if let freeBytes {
            let megabytes = freeBytes / 1_000_000
            findings.append(
                freeBytes < leastFreeBytes
                    ? Finding(
                        "space", .bad, "The disk of the database has \(megabytes) MB left.",
                        cure: "Free space, or keep less: `retention` and `routerd database vacuum`.")
                    : Finding("space", .good, "The disk of the database has \(megabytes) MB left."))
        }
        return findings
    }

    private static let leastFreeBytes: Int64 = 1_000_000_000

    private static func syncs(median: Double, slowest: Double) -> Finding {
        let figures = "A durable write takes \(shown(median)) ms, the slowest \(shown(slowest)) ms"
        if median > 20 {
            return Finding(
                "disk", .doubtful, "\(figures): each acceptance waits for one.",
                cure: "Use a disk with a protected write cache, such as a local NVMe, and no network file system.")
        }
        if median < 0.02 {
            return Finding(
                "disk", .doubtful, "\(figures): so fast a disk keeps nothing through a loss of power.",
                cure: "Put the database on a disk, and not on tmpfs or a volume that ignores fsync.")
        }
        return Finding("disk", .good, "\(figures): group commit shares one among the requests that wait.")
    }

    package static func curl(_ version: CurlVersion) -> Finding {
        if let reason = version.unsuitable {
            return Finding(
                "curl", .bad, "\(reason).", cure: "Install libcurl 7.87.0 or later, with TLS: apt install libcurl4")
        }
        guard version.hasHTTP2 else {
            return Finding(
                "curl", .doubtful, "\(version.description): each attempt needs a connection of its own.",
                cure: "Install a libcurl with HTTP/2.")
        }
        return Finding("curl", .good, "\(version.description).")
    }

    /// A number with as many places as tell something.
    static func shown(_ number: Double) -> String {
        let places = number < 0.1 ? 1000.0 : number < 10 ? 100.0 : 1.0
        let rounded = (number * places).rounded() / places
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }
}
