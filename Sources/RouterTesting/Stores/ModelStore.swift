package import Router
package import RouterPlugin
import Synchronization

/// A store in memory that obeys the laws of `ModelRows` and fails on demand: the simulator's disk.
///
/// Only committed changes survive; `snapshot` is the disk as a process finds it after a crash.
package final class ModelStore: Store {
    private struct State: Sendable {
        var model = ModelRows()
        var commits = 0
        var commitFaults: [Int: StoreError] = [:]
        var readFault: StoreError?
    }

    private let state: Mutex<State>

    /// An empty store that does not fail.
    package init() {
        state = Mutex(State())
    }

    private init(_ model: ModelRows) {
        state = Mutex(State(model: model))
    }

    /// Another store with all changes committed to this one so far, and no faults.
    package func snapshot() -> ModelStore {
        ModelStore(state.withLock { $0.model })
    }

    // MARK: - Faults

    /// The number of commits requested, failed ones included.
    package var commits: Int { state.withLock { $0.commits } }

    /// Makes a commit fail and write nothing; commits are counted from 1 over the life of this store.
    package func failCommit(_ number: Int, with error: StoreError) {
        state.withLock { $0.commitFaults[number] = error }
    }

    /// Makes all reads fail from now on; nil ends that.
    package func failReads(with error: StoreError?) {
        state.withLock { $0.readFault = error }
    }

    // MARK: - Store

    package func commit(_ changes: [StoreChange]) throws(StoreError) {
        try with { state throws(StoreError) in
            state.commits += 1
            if let fault = state.commitFaults.removeValue(forKey: state.commits) { throw fault }
            state.model.begin()
            do throws(StoreError) {
                for change in changes { try state.model.apply(change) }
            } catch {
                state.model.undo()
                throw error
            }
        }
    }

    package func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        try reading { model in
            RecoveredState(
                applications: model.applications.values.filter { !model.deleting.contains($0.id) }
                    .sorted { $0.id < $1.id },
                deletions: model.deleting.sorted().compactMap { model.applications[$0] },
                sources: model.sources.values.filter { !model.deleting.contains($0.application) }
                    .sorted { $0.id < $1.id },
                resourceSets: model.resourceSets.values.sorted { $0.name < $1.name },
                keys: model.keys.values.sorted { $0.name < $1.name }, rules: model.rules,
                sessions: model.sessions.values.filter { !model.deleting.contains($0.key.application) }
                    .sorted { $0.creationSequence < $1.creationSequence },
                gates: model.gates.values.filter { !model.deleting.contains($0.key.application) }
                    .sorted { $0.key < $1.key },
                unsettled: model.notifications.values.filter { !$0.stored.state.isSettled }
                    .sorted { $0.stored.sequence < $1.stored.sequence }.map(UnsettledNotification.init),
                replays: model.replays.values.sorted { $0.id < $1.id },
                passcodeLocks: model.passcodeLocks.values.filter { !model.deleting.contains($0.key.application) }
                    .sorted { $0.key < $1.key },
                lastSequence: model.lastSequence, lastCreationSequence: model.lastCreationSequence,
                newestTime: model.newestTime)
        }
    }

    package func facts(for lookups: [Lookup]) throws(StoreError) -> Facts {
        try with { state throws(StoreError) in
            if let fault = state.readFault { throw fault }
            return try Facts(lookups) { lookup throws(StoreError) in state.model.answer(to: lookup) }
        }
    }

    package func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        try reading { model in model.notifications[sequence]?.stored.payload }
    }

    package func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? {
        try reading { model in model.sequences[id].flatMap { model.notifications[$0] }?.stored }
    }

    package func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        try reading { model in
            let found = model.notifications.values.lazy.map(\.stored).filter(filter.matches)
            return found.sorted { $0.sequence > $1.sequence }.prefix(max(0, limit)).map(\.withoutDetails)
        }
    }

    package func tally(
        of filter: NotificationFilter, settledBy time: Timestamp
    ) throws(StoreError) -> NotificationTally {
        try reading { model in
            let found = model.notifications.values.lazy.map(\.stored).filter {
                $0.isReplayable(settledBy: time) && filter.matches($0)
            }
            let sequences = found.map(\.sequence).sorted()
            let range = sequences.first.flatMap { first in sequences.last.map { first...$0 } }
            return NotificationTally(count: sequences.count, range: range)
        }
    }

    package func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try reading { model in model.number(of: sequence, in: session) }
    }

    package func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        try reading { model in model.deliveries(of: session, after: number, limit: limit, bytes: bytes) }
    }

    package func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try reading { model in
            Array(
                model.changes.reversed().filter {
                    filter.after < $0.number && $0.number < filter.before
                        && (filter.application == nil || $0.note.application == filter.application)
                }.prefix(max(0, limit)))
        }
    }

    package func census() throws(StoreError) -> NotificationCensus {
        try reading { model in model.census }
    }

    private func reading<Value: Sendable>(_ body: (ModelRows) -> Value) throws(StoreError) -> Value {
        try with { state throws(StoreError) in
            if let fault = state.readFault { throw fault }
            return body(state.model)
        }
    }

    private func with<Value: Sendable>(
        _ body: (inout State) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in try body(&state) }
    }
}

extension StoredNotification {
    /// The form in lists.
    package var withoutDetails: StoredNotification {
        var copy = self
        copy.payload = nil
        copy.attempts = []
        return copy
    }
}

extension UnsettledNotification {
    fileprivate init(_ entry: ModelRows.Entry) {
        let stored = entry.stored
        self.init(
            stored.header, decision: stored.decision, progress: stored.progress, heldUntil: entry.heldUntil,
            heldBy: entry.heldBy, recall: entry.recall)
    }
}
