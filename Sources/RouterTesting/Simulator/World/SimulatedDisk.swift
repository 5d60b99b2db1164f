package import Router
package import RouterPlugin
import Synchronization

/// The simulator's disk: a model store that fails, or kills the process, on demand, and records the order of commits.
package final class SimulatedDisk: Store {
    /// The fate of a commit.
    package enum Fate: Sendable {
        case written
        case failed(StoreError)
        /// The process dies before the changes are written.
        case diesBefore
        /// The process dies after the changes are written and before it learns that.
        case diesAfter
    }

    private struct State: Sendable {
        var fates: [Fate] = []
        var committed: [[StoreChange]] = []
        var isDead = false
        var conflict: StoreError?
    }

    package let model = ModelStore()
    private let state = Mutex(State())

    package init() {}

    /// Sets the fates of the next commits; later commits are written.
    package func setFates(_ fates: [Fate]) { state.withLock { $0.fates = fates } }

    /// Whether a commit has killed the process.
    package var isDead: Bool { state.withLock { $0.isDead } }

    /// A change that contradicted the stored data. As there is only one writer, that must never happen.
    package var conflict: StoreError? { state.withLock { $0.conflict } }

    /// Starts the process again.
    package func revive() {
        state.withLock {
            $0.isDead = false
            $0.fates = []
        }
    }

    /// The transactions committed since the last call, in order.
    package func drainCommitted() -> [[StoreChange]] {
        state.withLock { state in
            let committed = state.committed
            state.committed = []
            return committed
        }
    }

    package func commit(_ changes: [StoreChange]) throws(StoreError) {
        let fate = state.withLock { state -> Fate in
            if state.isDead { return .diesBefore }
            let fate = state.fates.isEmpty ? .written : state.fates.removeFirst()
            switch fate {
            case .diesBefore, .diesAfter: state.isDead = true
            case .written, .failed: break
            }
            return fate
        }
        switch fate {
        case .failed(let error): throw error
        case .diesBefore: throw StoreError(.other, "the process is dead")
        case .written: try write(changes)
        case .diesAfter:
            try write(changes)
            throw StoreError(.other, "the process is dead")
        }
    }

    private func write(_ changes: [StoreChange]) throws(StoreError) {
        do throws(StoreError) {
            try model.commit(changes)
        } catch {
            state.withLock { $0.conflict = error }
            throw error
        }
        state.withLock { $0.committed.append(changes) }
    }

    package func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        try model.recover(telling: progress)
    }

    package func facts(for lookups: [Lookup]) throws(StoreError) -> Facts { try model.facts(for: lookups) }

    package func tally(
        of filter: NotificationFilter, settledBy time: Timestamp
    ) throws(StoreError) -> NotificationTally {
        try model.tally(of: filter, settledBy: time)
    }

    package func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        try model.payload(of: sequence)
    }

    package func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? {
        try model.notification(id)
    }

    package func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        try model.notifications(matching: filter, limit: limit)
    }

    package func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try model.number(of: sequence, in: session)
    }

    package func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        try model.deliveries(of: session, after: number, limit: limit, bytes: bytes)
    }

    package func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try model.changes(matching: filter, limit: limit)
    }

    package func census() throws(StoreError) -> NotificationCensus { try model.census() }
}
