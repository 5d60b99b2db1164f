import Router
import RouterPlugin

/// A witness's record of receivers that connect out, from their connections and messages, never from the engine.
struct StreamWatch {
    /// The numbers of a session's deliveries, as messages and ranges have shown them.
    struct Numbers {
        /// The session; one that is registered again under its name counts from 1.
        let creation: Int64
        var deliveries: [Int64: NotificationSequence] = [:]
        var last: Int64 = 0
    }

    /// The sessions with a connection.
    var connected: Set<SessionKey> = []
    /// Among them the sessions whose connection the router has answered.
    var attached: Set<SessionKey> = []
    var numbers: [SessionKey: Numbers] = [:]
    private var leftAt: [SessionKey: Timestamp] = [:]
    private var startedAt = Timestamp(milliseconds: .min)

    /// The last connection of a session has ended. A connection that the router has not answered ends no absence: the router
    /// may hear of both later, and of the end of the grace period first.
    mutating func left(_ key: SessionKey, at now: Timestamp) {
        connected.remove(key)
        if attached.remove(key) != nil { leftAt[key] = now }
    }

    /// All connections have ended.
    mutating func stopped(at now: Timestamp) {
        for key in connected { leftAt[key] = now }
        (connected, attached) = ([], [])
    }

    /// The process has started again.
    mutating func restarted(at now: Timestamp) {
        (connected, attached, leftAt, startedAt) = ([], [], [:], now)
    }

    /// Whether the receiver of a session has been away for the grace period.
    func isAway(_ key: SessionKey, for milliseconds: Int64, at now: Timestamp) -> Bool {
        let since = leftAt[key] ?? startedAt
        return !attached.contains(key) && since <= now.advanced(byMilliseconds: -milliseconds)
    }
}
