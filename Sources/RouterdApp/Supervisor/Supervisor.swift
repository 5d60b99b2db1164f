import Glibc

/// The supervisor of this process, such as systemd, which is told of the process's state: sd_notify(3).
///
/// Each message is a datagram to the socket that the variable `NOTIFY_SOCKET` names. A message that cannot be sent is dropped:
/// the supervisor then takes the process for a silent one.
package struct Supervisor: Sendable {
    /// A state of the process.
    package enum Message: Hashable, Sendable {
        /// The start is complete.
        case ready
        /// The configuration is read again; to be followed by `ready`. The time is that of the monotonic clock.
        case reloading(microseconds: Int64)
        /// The process is about to end.
        case stopping
        /// The process works; to be repeated within the watchdog's time.
        case watchdog
        /// A line that the supervisor shows.
        case status(String)
        /// The start takes that much longer than the supervisor may expect.
        case patience(seconds: Int64)

        /// An assignment a line.
        package var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            case .status(let line): "STATUS=\(line.split(whereSeparator: \.isNewline).joined(separator: " "))"
            case .patience(let seconds): "EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000)"
            }
        }
    }

    /// The name of the socket; a first `@` stands for the zero byte of an abstract one.
    private let name: String
    /// The time within which the watchdog wants to be told; nil if it does not watch this process.
    package let watchdog: Duration?

    /// Nil if the process has no supervisor that listens.
    ///
    /// - Parameter process: The id of this process: the watchdog of a parent is not that of its children.
    package init?(environment: [String: String], process: Int32) {
        guard let name = environment["NOTIFY_SOCKET"], name.hasPrefix("/") || name.hasPrefix("@"),
            name.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.name = name
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        watchdog = isMeant ? microseconds.map { .microseconds($0) } : nil
    }

    /// Sends messages as one datagram; says whether the supervisor has it.
    ///
    /// A sign of life waits for nothing, as the next one follows. A state waits up to five seconds for room in the
    /// supervisor's queue, on the caller's thread.
    @discardableResult
    package func tell(_ messages: Message...) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + bytes.count } ?? 0
        let text = Array(messages.map(\.text).joined(separator: "\n").utf8)
        let flags = Int32(messages == [.watchdog] ? MSG_NOSIGNAL | MSG_DONTWAIT : MSG_NOSIGNAL)
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                sendto(descriptor, text, text.count, flags, place, socklen_t(length))
            }
        }
        return sent == text.count
    }
}
