import RouterPlugin

/// The connections of receivers that connect out, one a session, and the sessions that have lost theirs.
///
///     absent ──attach──▶ attached(epoch) ──detach(same epoch)──▶ absent since then ──grace over──▶ the session is unattached
///                          │      ▲
///                          └──────┘ attach(greater epoch): another connection has taken over
///
/// It is state of the node and not stored: a connection does not outlive the process that it is made to.
struct Consumers: Sendable {
    private var epochs: [SessionKey: Int64] = [:]
    private var absentSince: [SessionKey: Timestamp] = [:]

    /// Whether no session is reached by a stream, as far as is known.
    var isEmpty: Bool { epochs.isEmpty }

    func isConnected(_ key: SessionKey) -> Bool { epochs[key] != nil }

    /// A connection takes the deliveries of the session, from an older one if there is one.
    mutating func attach(_ key: SessionKey, epoch: Int64) {
        epochs[key] = max(epochs[key] ?? epoch, epoch)
        absentSince[key] = nil
    }

    /// A connection has ended; false if a later one has taken over.
    mutating func detach(_ key: SessionKey, epoch: Int64, at now: Timestamp) -> Bool {
        guard epochs[key] == epoch else { return false }
        epochs[key] = nil
        absentSince[key] = now
        return true
    }

    /// The end of the grace period of a session without a connection; it begins now unless it has begun.
    mutating func graceEnd(of key: SessionKey, at now: Timestamp) -> Timestamp {
        let since = absentSince[key] ?? now
        absentSince[key] = since
        return since.advanced(byMilliseconds: RouterLimits.presenceMilliseconds)
    }

    mutating func forget(_ key: SessionKey) { absentSince[key] = nil }
}
