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
    /// Sessions with an ended connection in this life of the process.
    private var ended: Set<SessionKey> = []
    /// The ends of answered connections, of sessions that are still reached by a stream.
    var lostAt: [SessionKey: Timestamp] = [:]
    /// The start of each wait for an absent receiver beside a reachable candidate.
    var waitingInVain: [NotificationSequence: Timestamp] = [:]
    private var startedAt = Timestamp(milliseconds: .min)

    /// The last connection of a session has ended. A connection that the router has not answered ends no absence: the router
    /// may hear of both later, and of the end of the grace period first.
    mutating func left(_ key: SessionKey, at now: Timestamp, isCut: Bool = false) {
        connected.remove(key)
        ended.insert(key)
        guard attached.remove(key) != nil else { return }
        leftAt[key] = now
        lostAt[key] = isCut ? nil : now
    }

    /// A connection of a session has ended.
    mutating func ended(_ key: SessionKey) { ended.insert(key) }

    /// Whether the session may rank as unattached for its lost connection.
    func mayBeLost(_ key: SessionKey) -> Bool { ended.contains(key) && !attached.contains(key) }

    /// All connections have ended.
    mutating func stopped(at now: Timestamp) {
        for key in connected { leftAt[key] = now }
        ended.formUnion(connected)
        (connected, attached) = ([], [])
    }

    /// The process has started again.
    mutating func restarted(at now: Timestamp) {
        (connected, attached, leftAt, startedAt) = ([], [], [:], now)
        (ended, lostAt, waitingInVain) = ([], [:], [:])
    }

    /// Whether the receiver of a session has been away for the grace period.
    func isAway(_ key: SessionKey, for milliseconds: Int64, at now: Timestamp) -> Bool {
        let since = leftAt[key] ?? startedAt
        return !attached.contains(key) && since <= now.advanced(byMilliseconds: -milliseconds)
    }
}
