package import Router
package import RouterPlugin
import Synchronization

/// The simulator's disk: a model store that fails, or takes the process with it, when told to, and that remembers the
/// order of what was committed.
package final class SimulatedDisk: Store {
    /// What becomes of a commit.
    package enum Fate: Sendable {
        case written
        case failed(StoreError)
        /// The process dies before anything is written.
        case diesBefore
        /// The process dies when everything is written but nobody knows.
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

    /// What becomes of the next commits; those after them are written.
    package func setFates(_ fates: [Fate]) { state.withLock { $0.fates = fates } }

    /// Whether a commit has taken the process with it.
    package var isDead: Bool { state.withLock { $0.isDead } }

    /// A change that contradicted what is kept. There is one writer, so that it must never try to.
    package var conflict: StoreError? { state.withLock { $0.conflict } }

    /// The process starts anew.
    package func revive() {
        state.withLock {
            $0.isDead = false
            $0.fates = []
        }
    }

    /// What was committed since the last call, in order.
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

    package func recover() throws(StoreError) -> RecoveredState { try model.recover() }

    package func receipt(for key: DedupeKey) throws(StoreError) -> Receipt? { try model.receipt(for: key) }

    package func keptAnswer(for key: DedupeKey) throws(StoreError) -> KeptAnswer? {
        try model.keptAnswer(for: key)
    }

    package func retained(limit: Int) throws(StoreError) -> Retained { try model.retained(limit: limit) }

    package func replayable(_ replay: Replay, limit: Int, examined: Int) throws(StoreError) -> ReplayPage {
        try model.replayable(replay, limit: limit, examined: examined)
    }

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

    package func census() throws(StoreError) -> NotificationCensus { try model.census() }
}
