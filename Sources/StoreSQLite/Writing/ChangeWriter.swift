import GRDB
import Router
import RouterPlugin

/// Writes the changes of one transaction.
///
/// Every change states what must be true for it to be legal within its own statement, and is refused as a conflict if
/// no row was changed; nothing is read just to be checked. `ModelStore` refuses the same.
struct ChangeWriter {
    let db: Database
    let keys: KeyColumn
    private var ledger: Ledger?
    /// How many notifications were forgotten, by state.
    private var forgotten: [String: Int] = [:]
    /// The last notification of a broadcast with a row in `payload`.
    var lastOfBroadcast: NewNotification?
    /// Whether a delivery has a number, or may get one; nil until it is asked.
    var hasNumbers: Bool?

    private init(_ db: Database, _ keys: KeyColumn) {
        self.db = db
        self.keys = keys
    }

    /// Writes all changes in order. The caller has begun a transaction, and rolls it back if this throws.
    static func write(_ changes: [StoreChange], to db: Database, _ keys: KeyColumn) throws {
        var writer = ChangeWriter(db, keys)
        for change in changes { try writer.write(change) }
        try writer.finish()
    }

    private mutating func write(_ change: StoreChange) throws {
        switch change {
        case .putApplication(let application): try put(application)
        case .deleteApplication(let id): try delete(id)
        case .beginDeletion(let id): try beginDeletion(of: id)
        case .sweep(let id, let limit): try sweep(id, limit: limit)
        case .putSource(let source): try put(source)
        case .deleteSource(let id): try delete(id)
        case .putResourceSet(let set): try put(set)
        case .putKey(let key): try put(key)
        case .deleteKey(let name): try deleteKey(name)
        case .log(let note, let time, let limit): try log(note, at: time, keeping: limit)
        case .putRules(let rules): try put(rules.kept)
        case .putSession(let session): try put(session)
        case .deleteSession(let key): try delete(key)
        case .numberDeliveries(let key): try numberDeliveries(of: key)
        case .putGate(let gate): try put(gate)
        case .keepAnswer(let key, let answer, let time): try keep(answer, for: key, at: time)
        case .insert(let notification): try insert(notification)
        case .addDedupeKeys(let sequence, let keys): try add(keys, to: sequence)
        case .releaseDedupeKey(let key): try release(key)
        case .recordAttempt(let attempt): try record(attempt)
        case .recall(let sequence, let recall): try self.recall(sequence, recall)
        case .reschedule(let sequence, let progress): try reschedule(sequence, progress)
        case .reassign(let sequence, let decision, let placement): try reassign(sequence, decision, placement)
        case .settle(let sequence, let settlement, let time): try settle(sequence, settlement, at: time)
        case .forget(let sequence): forgotten[try forget(sequence), default: 0] += 1
        case .forgetAnswer(let key): try forgetAnswer(key)
        case .putReplay(let replay): try put(replay)
        case .forgetReplay(let id): try forget(id)
        case .putPasscodeLock(let lock): try put(lock)
        }
    }

    /// Takes the next number of a notification.
    mutating func take(_ sequence: NotificationSequence) throws {
        var ledger = try openLedger()
        guard sequence.value > ledger.lastNotification else {
            throw StoreError(.conflict, "the sequence \(sequence) has been given before")
        }
        ledger.lastNotification = sequence.value
        ledger.accepted += 1
        self.ledger = ledger
    }

    /// Takes the next number of a session; false if it has been given before.
    mutating func takeCreation(_ sequence: Int64) throws -> Bool {
        var ledger = try openLedger()
        guard sequence > ledger.lastSession else { return false }
        ledger.lastSession = sequence
        self.ledger = ledger
        return true
    }

    /// The ledger as this transaction has it so far.
    func openLedger() throws -> Ledger {
        if let ledger { return ledger }
        return try Ledger.read(db)
    }

    private func finish() throws {
        for (state, count) in forgotten { try countForgotten(state, count) }
        guard var ledger else { return }
        try extendLists(&ledger)
        try extendKeyIndex(&ledger)
        try ledger.write(db)
    }
}

/// The one row of the table `ledger`.
struct Ledger {
    var lastNotification: Int64
    var lastSession: Int64
    var accepted: Int64
    /// Segments below this number are in the list index.
    var listedSegments: Int64
    /// Keys up to this sequence are in the index of keys.
    var keysIndexed: Int64
    /// The sequence up to which the pass under way moves keys; 0 between passes.
    var keysTarget: Int64
    /// Slices that the pass has done.
    var keysSlice: Int64

    static func read(_ db: Database) throws -> Ledger {
        let statement = try PreparedStatement(
            db,
            """
            SELECT \(CheckedTable.ledger.isSound),
              last_notification, last_session, accepted, listed_segments, keys_indexed, keys_target, keys_slice
            FROM ledger
            """)
        let ledger = try statement.first { row in
            try row.expectSound()
            return Ledger(
                lastNotification: row.int64(), lastSession: row.int64(), accepted: row.int64(),
                listedSegments: row.int64(), keysIndexed: row.int64(), keysTarget: row.int64(),
                keysSlice: row.int64())
        }
        guard let ledger else { throw StoreError(.corrupt, "the ledger is empty") }
        return ledger
    }

    private static let update = CheckedTable.ledger.update(
        [
            "last_notification": "?1", "last_session": "?2", "accepted": "?3", "listed_segments": "?4",
            "keys_indexed": "?5", "keys_target": "?6", "keys_slice": "?7",
        ], where: "id = 1")

    func write(_ db: Database) throws {
        try PreparedStatement(db, Self.update).run {
            $0.bind(lastNotification)
            $0.bind(lastSession)
            $0.bind(accepted)
            $0.bind(listedSegments)
            $0.bind(keysIndexed)
            $0.bind(keysTarget)
            $0.bind(keysSlice)
        }
    }
}
