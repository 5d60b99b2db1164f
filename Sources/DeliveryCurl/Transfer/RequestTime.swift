/// How long a request may take. Moments are in the monotonic clock's nanoseconds.
struct RequestTime {
    let start: UInt64
    /// The moment from which the time for the connection counts.
    private var connectsSince: UInt64
    /// In milliseconds.
    private let limits: (connecting: Int, all: Int)

    init(at now: UInt64, connectingMilliseconds: Int, milliseconds: Int) {
        (start, connectsSince) = (now, now)
        limits = (Self.limit(connectingMilliseconds), Self.limit(milliseconds))
    }

    /// Starts the time for another connection: the request had one, and needs another.
    mutating func connectsAnew(at now: UInt64) { connectsSince = now }

    /// The rest of the time, in milliseconds, as libcurl takes it.
    func left(at now: UInt64) -> (connecting: Int, all: Int) {
        func left(of limit: Int, since moment: UInt64) -> Int { Self.limit(limit - Int((now - moment) / 1_000_000)) }
        return (left(of: limits.connecting, since: connectsSince), left(of: limits.all, since: start))
    }

    /// The moment at which addresses come too late.
    var addressDeadline: UInt64 {
        min(Self.moment(limits.connecting, after: connectsSince), Self.moment(limits.all, after: start))
    }

    /// The moment at which a thread to look the host up comes too late: a look-up has three quarters of the time, so
    /// that a request that runs out of it has had them.
    var threadDeadline: UInt64 { Self.moment(min(limits.connecting, limits.all) / 4, after: start) }

    private static func moment(_ milliseconds: Int, after start: UInt64) -> UInt64 {
        start + UInt64(milliseconds) * 1_000_000
    }

    /// 0 would mean no limit to libcurl, and never a wait of none.
    private static func limit(_ milliseconds: Int) -> Int { min(max(1, milliseconds), CurlLimits.timeoutMilliseconds) }
}
