import Router
import RouterPlugin

/// The daemon's hub of streams in virtual time: the connections of receivers, and the attempts that wait for an
/// acknowledgement. It is lost with the process.
///
///     start ──▶ unwritten ──write──▶ written ──take──▶ acknowledged or refused
///                   │                   │
///                   └── noConsumer      └── timedOut, streamEnded
struct SimulatedHub {
    /// A connection of a receiver.
    struct Connection {
        let epoch: Int64
        /// Whether it is a long poll: it ends with the first messages, which are acknowledged after its end.
        let isPoll: Bool
        /// Whether its receiver reads nothing.
        var isStuck: Bool
        /// The time at which its receiver ends it; nil if it never does.
        var endsAt: Timestamp?
        /// The time at which its messages are written; nil while it has none.
        var writesAt: Timestamp?
    }

    /// An attempt that waits for its acknowledgement.
    struct Pending {
        let attempt: AttemptStart
        /// The connection that has the message.
        let epoch: Int64
        let isPoll: Bool
        let startedAt: Timestamp
        var isWritten = false

        var deadline: Timestamp { startedAt.advanced(byMilliseconds: Int64(attempt.timeoutSeconds) * 1000) }
        var sequence: NotificationSequence { attempt.notification.sequence }
    }

    /// An attempt that has ended without an answer.
    struct Loss {
        let pending: Pending
        let kind: TransferFailure.Kind
    }

    private(set) var connections: [SessionKey: Connection] = [:]
    /// By session, in the order of their start.
    private(set) var pending: [SessionKey: [Pending]] = [:]
    private var lastEpoch: Int64 = 0
    /// Whether the process is about to stop.
    private(set) var isStopping = false

    /// The time of the next write, time-out or end; nil if there is none.
    var nextEvent: Timestamp? {
        let times = connections.values.flatMap { [$0.isStuck ? nil : $0.writesAt, $0.endsAt] }
        let deadlines = pending.values.lazy.flatMap { $0 }.map(\.deadline)
        return (times.compactMap(\.self) + Array(deadlines)).min()
    }

    // MARK: - Connections

    /// Makes a connection that of its session. Returns its number, and the attempts that end with the one before; nil if the
    /// process is about to stop.
    ///
    /// - Parameter keepsOld: Whether the connection before keeps its attempts, which is a defect.
    mutating func attach(
        _ key: SessionKey, isPoll: Bool, isStuck: Bool, endsAt: Timestamp?, at now: Timestamp, keepsOld: Bool = false
    ) -> (epoch: Int64, losses: [Loss])? {
        guard !isStopping else { return nil }
        lastEpoch = max(lastEpoch + 1, now.milliseconds)
        let old = connections[key]
        connections[key] = Connection(epoch: lastEpoch, isPoll: isPoll, isStuck: isStuck, endsAt: endsAt)
        // The messages of a poll stay with its receiver, which polls again.
        let staysWithReceiver = isPoll && old?.isPoll ?? true
        return (lastEpoch, keepsOld ? [] : release(key, of: old, all: !staysWithReceiver))
    }

    /// Ends a connection, with its attempts; nil if it is not that of its session.
    mutating func detach(_ key: SessionKey, epoch: Int64) -> [Loss]? {
        guard let connection = connections[key], connection.epoch == epoch else { return nil }
        connections[key] = nil
        return release(key, of: connection, all: !connection.isPoll)
    }

    /// Ends a connection to a session that is not reached by a stream any more; nil if a later one has taken over.
    mutating func cut(_ cut: ConnectionCut) -> [Loss]? {
        guard let connection = connections[cut.session], connection.epoch <= cut.epoch else { return nil }
        connections[cut.session] = nil
        return release(cut.session, of: connection, all: true)
    }

    /// Ends all connections: the process is about to stop.
    mutating func stop() -> [Loss] {
        isStopping = true
        connections = [:]
        return pending.keys.sorted().flatMap { release($0, of: nil, all: true) }
    }

    /// Lets receivers read and stay.
    mutating func calm() {
        for key in connections.keys {
            connections[key]?.isStuck = false
            if connections[key]?.isPoll == false { connections[key]?.endsAt = nil }
        }
    }

    /// Removes attempts that end with a connection: all of its session, or those that it has not written. Messages that were
    /// not written are handed back first.
    private mutating func release(_ key: SessionKey, of connection: Connection?, all: Bool) -> [Loss] {
        let known = pending[key] ?? []
        let ended = known.filter { all || !$0.isWritten && $0.epoch == connection?.epoch }
        pending[key] = known.filter { kept in !ended.contains { $0.sequence == kept.sequence } }.nilIfEmpty
        return ended.filter { !$0.isWritten }.map { Loss(pending: $0, kind: .noConsumer) }
            + ended.filter(\.isWritten).map { Loss(pending: $0, kind: .streamEnded) }
    }

    // MARK: - Attempts

    /// Brings a message to the connection of its session; false if there is none.
    ///
    /// - Parameter delay: The time after which the connection is written to, if it is not about to be.
    mutating func start(_ attempt: AttemptStart, at now: Timestamp, delay: Int64) -> Bool {
        let key = attempt.receiver
        guard let connection = connections[key] else { return false }
        pending[key, default: []].append(
            Pending(attempt: attempt, epoch: connection.epoch, isPoll: connection.isPoll, startedAt: now))
        connections[key]?.writesAt = connection.writesAt ?? now.advanced(byMilliseconds: delay)
        return true
    }

    /// Writes the messages of a connection, in order.
    mutating func write(_ key: SessionKey) -> [Pending] {
        let epoch = connections[key]?.epoch
        connections[key]?.writesAt = nil
        var written: [Pending] = []
        for place in pending[key]?.indices ?? 0..<0 {
            guard let message = pending[key]?[place], message.epoch == epoch, !message.isWritten else { continue }
            pending[key]?[place].isWritten = true
            written.append(message)
        }
        return written
    }

    /// Takes an attempt out, because its receiver has answered; nil if none is under way for that session.
    mutating func take(_ sequence: NotificationSequence, of key: SessionKey) -> Pending? {
        guard let place = pending[key]?.firstIndex(where: { $0.sequence == sequence }) else { return nil }
        let taken = pending[key]?.remove(at: place)
        pending[key] = pending[key]?.nilIfEmpty
        return taken
    }

    /// The outcome of an attempt could not be committed: it goes on. Returns the failure if its time or its connection has
    /// ended meanwhile.
    mutating func putBack(_ attempt: Pending, at now: Timestamp) -> TransferFailure.Kind? {
        let key = attempt.attempt.receiver
        guard !isStopping, attempt.isPoll || connections[key]?.epoch == attempt.epoch else { return .streamEnded }
        guard attempt.deadline > now else { return .timedOut }
        pending[key, default: []].append(attempt)
        if !attempt.isWritten, connections[key]?.writesAt == nil { connections[key]?.writesAt = now }
        return nil
    }

    /// Removes the attempts whose time is over.
    mutating func takeOverdue(at now: Timestamp) -> [Loss] {
        var losses: [Loss] = []
        for key in pending.keys.sorted() {
            let overdue = pending[key]?.filter { $0.deadline <= now } ?? []
            losses += overdue.map { Loss(pending: $0, kind: $0.isWritten ? .timedOut : .noConsumer) }
            pending[key] = pending[key]?.filter { $0.deadline > now }.nilIfEmpty
        }
        return losses
    }
}

extension Array {
    fileprivate var nilIfEmpty: Self? { isEmpty ? nil : self }
}
