import RouterPlugin

/// The connections of receivers that connect out, one a session, and the sessions that have lost theirs.
///
///     absent ──attach──▶ attached(epoch) ──detach(same epoch)──▶ absent since then ──grace over──▶ the session is unattached
///                          │      ▲   │
///                          └──────┘   └── cut: the session is gone, or has a URL
///                attach(greater epoch): another connection has taken over
///
/// It is state of the node and not stored: a connection does not outlive the process that it is made to.
struct Consumers: Sendable {
    /// The time for which a session counts as connected without a connection.
    let graceMilliseconds: Int64
    /// The time of the first attempts: receivers of before a start have a grace period from then on. Nil before.
    private(set) var startedAt: Timestamp?
    private var epochs: [SessionKey: Int64] = [:]
    private var absentSince: [SessionKey: Timestamp] = [:]
    /// Sessions in the grace period after a connection, not after a registration.
    private var lost: Set<SessionKey> = []
    /// Present sessions whose deliveries the store numbers.
    private var numbered: Set<SessionKey> = []
    private var cuts: [ConnectionCut] = []

    init(graceMilliseconds: Int64) { self.graceMilliseconds = graceMilliseconds }

    var hasConnections: Bool { !epochs.isEmpty }

    func isConnected(_ key: SessionKey) -> Bool { epochs[key] != nil }

    /// Whether messages may go to the session: it has a connection, and its deliveries have numbers.
    func takesMessages(_ key: SessionKey) -> Bool { epochs[key] != nil && numbered.contains(key) }

    /// Whether the session has a connection, or has lost it less than the grace period ago.
    func isPresent(_ key: SessionKey) -> Bool { epochs[key] != nil || absentSince[key] != nil }

    /// A connection takes the deliveries of the session, from an older one if there is one.
    mutating func attach(_ key: SessionKey, epoch: Int64) {
        epochs[key] = max(epochs[key] ?? epoch, epoch)
        absentSince[key] = nil
        lost.remove(key)
    }

    /// A connection has ended, and with it all older ones; false if a later one has taken over.
    mutating func detach(_ key: SessionKey, epoch: Int64, at now: Timestamp) -> Bool {
        guard let current = epochs[key], current <= epoch else { return false }
        epochs[key] = nil
        absentSince[key] = now
        lost.insert(key)
        return true
    }

    /// Whether the session is in the grace period after a connection.
    func isLost(_ key: SessionKey) -> Bool { lost.contains(key) }

    /// Whether the session has no connection, and no grace period that goes on.
    func isAway(_ key: SessionKey, at now: Timestamp) -> Bool {
        epochs[key] == nil && graceEnd(of: key).map { $0 <= now } ?? true
    }

    /// The end of the grace period of a session without a connection, or of all sessions after a start.
    func graceEnd(of key: SessionKey) -> Timestamp? {
        (absentSince[key] ?? startedAt)?.advanced(byMilliseconds: graceMilliseconds)
    }

    mutating func start(at now: Timestamp) { startedAt = now }

    /// The end of the grace period of a session without a connection; it begins now unless it has begun.
    mutating func graceEnd(of key: SessionKey, at now: Timestamp) -> Timestamp {
        let since = absentSince[key] ?? now
        absentSince[key] = since
        return since.advanced(byMilliseconds: graceMilliseconds)
    }

    mutating func forget(_ key: SessionKey) {
        absentSince[key] = nil
        lost.remove(key)
        numbered.remove(key)
    }

    // MARK: Numbers

    func isNumbered(_ key: SessionKey) -> Bool { numbered.contains(key) }

    /// The store numbers the deliveries of the session.
    mutating func number(_ key: SessionKey) { numbered.insert(key) }

    // MARK: Cuts

    /// The sessions of an application that have a connection, or have lost it less than the grace period ago.
    func present(of application: ApplicationID) -> [SessionKey] {
        if epochs.isEmpty, absentSince.isEmpty { return [] }
        return (Array(epochs.keys) + absentSince.keys).filter { $0.application == application }
    }

    /// The session is not reached by a stream any more: its connection is to end.
    mutating func cut(_ key: SessionKey) {
        guard !epochs.isEmpty || !absentSince.isEmpty else { return }
        forget(key)
        if let epoch = epochs.removeValue(forKey: key) { cuts.append(ConnectionCut(session: key, epoch: epoch)) }
    }

    /// The connections that are to end, since the last call.
    mutating func takeCuts() -> [ConnectionCut] {
        defer { cuts = [] }
        return cuts
    }

    var hasCuts: Bool { !cuts.isEmpty }
}

/// A connection that is to end, with all older ones of its session: the session is not reached by a stream any more.
package struct ConnectionCut: Hashable, Sendable {
    package let session: SessionKey
    package let epoch: Int64

    package init(session: SessionKey, epoch: Int64) {
        self.session = session
        self.epoch = epoch
    }
}
