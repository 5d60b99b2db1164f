import Dispatch
import Router
import RouterPlugin
import StoreSQLite
import Synchronization

/// The real store with a counter of commits, a simulated full disk, and a gate that holds commits back.
final class WatchedStore: Store {
    let base: SQLiteStore
    /// Commits that succeeded.
    let commits = Tally()
    /// Commits that were refused.
    let refusals = Tally()
    /// Commits that were begun.
    let begun = Tally()
    /// How often notifications were counted.
    let tallies = Tally()
    private let fault = Mutex<StoreError?>(nil)
    private let refuses = Mutex<(@Sendable ([StoreChange]) -> Bool)?>(nil)
    private let gate = DispatchSemaphore(value: 0)
    private let isGated = Mutex(false)
    private let hasLostPayloads = Mutex(false)

    init(_ base: SQLiteStore) {
        self.base = base
    }

    static let full = StoreError(.diskFull, "the disk is full, says the test")

    /// Refuses the commits that hold such changes, until `recoverDisk`.
    func fillDisk(_ error: StoreError = full, for changes: @escaping @Sendable ([StoreChange]) -> Bool = { _ in true })
    {
        refuses.withLock { $0 = changes }
        fault.withLock { $0 = error }
    }

    func recoverDisk() { fault.withLock { $0 = nil } }

    /// From now on the store has no payloads.
    func losePayloads() { hasLostPayloads.withLock { $0 = true } }

    /// Holds the next commit back until `open`.
    func close() { isGated.withLock { $0 = true } }

    func open() {
        isGated.withLock { $0 = false }
        gate.signal()
    }

    func commit(_ changes: [StoreChange]) throws(StoreError) {
        begun.add()
        if isGated.withLock({ $0 }) { gate.wait() }
        if let error = fault.withLock({ $0 }), refuses.withLock({ $0 })?(changes) ?? true {
            refusals.add()
            throw error
        }
        try base.commit(changes)
        commits.add()
    }

    func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        try base.recover(telling: progress)
    }

    var committedBytes: Int? { base.committedBytes }

    func verify() throws(StoreError) { try base.verify() }

    func facts(for lookups: [Lookup]) throws(StoreError) -> Facts {
        var facts = try base.facts(for: lookups)
        guard hasLostPayloads.withLock({ $0 }) else { return facts }
        for lookup in lookups { if case .payload = lookup { facts[lookup] = .payload(nil) } }
        return facts
    }

    func tally(of filter: NotificationFilter, settledBy time: Timestamp) throws(StoreError) -> NotificationTally {
        defer { tallies.add() }
        return try base.tally(of: filter, settledBy: time)
    }

    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        hasLostPayloads.withLock { $0 } ? nil : try base.payload(of: sequence)
    }

    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? { try base.notification(id) }

    func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        try base.notifications(matching: filter, limit: limit)
    }

    func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try base.number(of: sequence, in: session)
    }

    func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        try base.deliveries(of: session, after: number, limit: limit, bytes: bytes)
    }

    func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try base.changes(matching: filter, limit: limit)
    }

    func census() throws(StoreError) -> NotificationCensus { try base.census() }
}
