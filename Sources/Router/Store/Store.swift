package import RouterPlugin

/// The edge that keeps what must survive, in two halves.
///
///     engine's executor ──▶ Journal    recover, commit, the facts of plans; one caller, one call at a time
///     any thread ─────────▶ Archive    payloads, lists, figures; any number of callers at any time
///
/// Both halves of a store show the same data: a reading that begins after a commit has returned sees the commit.
/// `SQLiteStore` and `ModelStore` are the stores; both run `StoreSuite`.
package typealias Store = Journal & Archive

/// The half of a store that the engine's loop needs: memory is built from it, and follows it.
///
/// The engine's executor is the only caller, and makes one call at a time.
package protocol Journal: Sendable {
    /// Everything that the engine keeps in memory, as of the last commit.
    ///
    /// - Parameter progress: Called from time to time, on the caller's thread.
    func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState

    /// Writes all changes in one transaction, in order, and returns when they are durable; if it throws, none is written.
    func commit(_ changes: [StoreChange]) throws(StoreError)

    /// Checks that committed changes are where the next start looks for them; throws `store-lost` otherwise. A commit that
    /// throws `store-lost` may have been written, so its caller must end.
    func verify() throws(StoreError)

    /// The answers to lookups, all of them as of one moment. A lookup whose rows are damaged is answered as unreadable, and
    /// the others have their answers.
    func facts(for lookups: [Lookup]) throws(StoreError) -> Facts
}

/// The half of a store that answers questions: the API's lists and figures, and the payloads of attempts.
package protocol Archive: Sendable {
    /// The payload as received, or the facts of an event; nil if there is no such notification.
    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload?

    /// One notification with its attempts.
    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification?

    /// Notifications, newest first, without payloads and attempts.
    func notifications(matching filter: NotificationFilter, limit: Int) throws(StoreError) -> [StoredNotification]

    /// How many notifications that were settled by that time a list with this filter shows in all. The filter of a
    /// tally has no `before`.
    func tally(of filter: NotificationFilter, settledBy time: Timestamp) throws(StoreError) -> NotificationTally

    /// The number of a notification among the deliveries of the session; nil if it has none there.
    func number(of sequence: NotificationSequence, in session: SessionKey) throws(StoreError) -> Int64?

    /// The numbered deliveries of the session after a number, without attempts. They end at `limit`, or when their payloads
    /// have more than `bytes`.
    func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries

    /// Lines of the log of changes, newest first.
    func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange]

    /// How many notifications are in each state: the terms of the conservation law.
    func census() throws(StoreError) -> NotificationCensus

    /// Bytes that commits have written since the store was opened; nil if the store does not count them.
    var committedBytes: Int? { get }
}

extension Archive {
    /// A store in memory writes none.
    package var committedBytes: Int? { nil }
}

extension Journal {
    package func recover() throws(StoreError) -> RecoveredState { try recover { _ in } }

    /// A store in memory cannot be taken away.
    package func verify() throws(StoreError) {}
}
