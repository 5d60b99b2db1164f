import Dispatch
import GRDB
package import Router
package import RouterPlugin
import Synchronization

/// The store in an SQLite database file: one connection writes, others read.
///
///     engine's queue ──▶ commit, facts ────▶ writer ──▶ path-wal ──(checkpoint, by the writer only)──▶ path
///     any thread ──────▶ reads ──────────▶ readers ────────┴──────────────────────────────────────────────┘
///
/// Invariants: one process, one store (`StoreLock`); a commit returns only while its files are those at `path`
/// (`DatabaseWatch`); only the writer writes or checkpoints; under `Durability.full` a
/// commit has returned only after its pages in the log have been synced.
///
/// A commit that throws has changed nothing that this process will ever see. If the process dies right after a sync
/// has failed, the next one may find the transaction whole in the log and keep it: an answer of "not stored" then turns
/// out to have been too careful. The reverse cannot happen.
package final class SQLiteStore: Store {
    /// Of the database file, with every link followed.
    package let path: String
    private let pool: DatabasePool
    private let lock: StoreLock
    private let keys: KeyColumn
    private let watch: DatabaseWatch
    private let written = Atomic(0)
    private let pageBytes: Int

    /// Opens the database, makes it if it is missing, and brings its schema up to date.
    ///
    /// A file that is not ours, or of a newer version, is refused and left as it is, and so is a path at which the database
    /// that was there before is missing, or another one is in its place. Values that are sealed under another key than the present one are sealed again.
    ///
    /// - Parameter sealing: How secrets are kept; nil keeps them as they are.
    package init(
        path: String, configuration: SQLiteStoreConfiguration = SQLiteStoreConfiguration(),
        sealing: SecretSealing? = nil
    ) throws(StoreError) {
        let keys = KeyColumn(sealing: sealing)
        self.keys = keys
        let path = try canonicalPath(path)
        let lock = try StoreLock(beside: path)
        try DatabaseMarker.expectDatabase(lock)
        try DatabaseHeader.check(fileAt: path)
        try lock.lockDatabase()
        do {
            let pool = try DatabasePool(path: path, configuration: Self.settings(configuration, path: path))
            try pool.writeWithoutTransaction { db in
                // GRDB sets synchronous=NORMAL on the writer after it has prepared it, so this comes last.
                try db.execute(sql: "PRAGMA synchronous = \(configuration.durability == .full ? "FULL" : "NORMAL")")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = \(configuration.walAutocheckpointPages)")
            }
            try pool.read { db in try DatabaseMarker.expectSame(db, path: path, lock.content()) }
            try Migrations.migrator().migrate(pool)
            try pool.writeWithoutTransaction { db in
                try Resealing.run(db, keys)
                try RecentKeys.open(on: db)
            }
            try pool.writeWithoutTransaction { db in try DatabaseMarker.mark(db, lock) }
            pageBytes = try pool.read { db in try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0 }
            watch = try DatabaseWatch(path)
            self.pool = pool
            self.path = path
        } catch {
            throw StoreError(translating: error)
        }
        self.lock = lock
    }

    deinit { try? close() }

    /// Writes the log back into the database, closes it, and lets the next process in. More than once is harmless.
    package func close() throws(StoreError) {
        // Closing a descriptor of a file ends SQLite's locks on it, so these go last.
        defer {
            watch.close()
            lock.release()
        }
        do {
            // Readers go first, so that the writer is the last one out and takes the log away.
            pool.releaseMemory()
            try pool.close()
        } catch {
            throw StoreError(translating: error)
        }
    }

    private static func settings(_ configuration: SQLiteStoreConfiguration, path: String) -> Configuration {
        var settings = Configuration()
        settings.label = "routerd.store"
        settings.busyMode = .timeout(Double(configuration.busyTimeoutSeconds))
        settings.foreignKeysEnabled = true
        settings.maximumReaderCount = StoreSQLiteLimits.maximumReaders
        settings.prepareDatabase { db in
            let isWriter = !db.configuration.readonly
            if isWriter { try DatabaseHeader.check(db, path: path) }
            try RowSum.install(on: db)
            let cache = isWriter ? StoreSQLiteLimits.writerCacheKiB : StoreSQLiteLimits.readerCacheKiB
            try db.execute(sql: "PRAGMA cache_size = -\(cache)")
        }
        return settings
    }
}

// MARK: - Writing

extension SQLiteStore {
    package func commit(_ changes: [StoreChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try verify()
        try writing { db in
            try db.inTransaction(.immediate) {
                try ChangeWriter.write(changes, to: db, keys)
                return .commit
            }
            written.store(db.pagesWritten * pageBytes, ordering: .relaxed)
        }
        // From here on a fault is final: the changes are in files that the next start does not find.
        try verify()
    }

    /// The rules of the last run, before anything else is read.
    package func keptRules() throws(StoreError) -> KeptRules? { try reading { db in try RulesRow.read(db) } }

    package func verify() throws(StoreError) { try watch.check() }

    /// Reads on the connection that writes, whose keys of recent notifications no other connection has.
    package func facts(for lookups: [Lookup]) throws(StoreError) -> Facts {
        try writing { db in
            var facts = Facts()
            try db.inTransaction(.deferred) {
                facts = try FactReader.facts(for: lookups, db)
                return .commit
            }
            return facts
        }
    }

    /// The settings in force on the connection that writes.
    package func settings() throws(StoreError) -> SQLiteSettings {
        try writing { db in
            SQLiteSettings(
                journalMode: try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? "",
                synchronous: try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1,
                walAutocheckpointPages: try Int.fetchOne(db, sql: "PRAGMA wal_autocheckpoint") ?? -1,
                foreignKeys: try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false,
                applicationID: try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0,
                schemaVersion: try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0)
        }
    }

    /// Uses the connection that writes; for tests too, which make it fail.
    func writing<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try pool.writeWithoutTransaction { db in
                do {
                    return try body(db)
                } catch {
                    throw StoreError(translating: error, systemError: db.systemError)
                }
            }
        } catch {
            throw StoreError(translating: error)
        }
    }
}

// MARK: - Reading

extension SQLiteStore {
    package func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        var (state, parts, count) = try reading { db in try Recovery.read(db, keys, telling: progress) }
        state.unsettled = try unsettled(in: parts, count)
        // The scan has filled the caches with pages that are not read again.
        pool.releaseMemory()
        return state
    }

    /// Reads the parts on several connections at a time. They are of one moment: nothing is written during a recovery.
    private func unsettled(
        in parts: [ClosedRange<Int64>], _ count: RecoveryCount
    ) throws(StoreError) -> [UnsettledNotification] {
        let read = Mutex<[Result<[UnsettledNotification], StoreError>?]>(Array(repeating: nil, count: parts.count))
        DispatchQueue.concurrentPerform(iterations: parts.count) { place in
            let result = Result { () throws(StoreError) in
                try reading { db in try Recovery.unsettled(in: parts[place], db, count) }
            }
            read.withLock { $0[place] = result }
        }
        var all: [UnsettledNotification] = []
        for result in read.withLock({ $0 }) { all += try result?.get() ?? [] }
        return all
    }

    package func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        try reading { db in try NotificationReader.payload(of: sequence, db) }
    }

    package func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? {
        try reading { db in try NotificationReader.notification(id, db) }
    }

    package func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        try reading { db in try NotificationReader.notifications(matching: filter, limit: limit, db) }
    }

    package func tally(
        of filter: NotificationFilter, settledBy time: Timestamp
    ) throws(StoreError) -> NotificationTally {
        try reading { db in try ReplayReader.tally(of: filter, settledBy: time, db) }
    }

    package func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try reading { db in try NumberReader.number(of: sequence, in: session, db) }
    }

    package func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        try reading { db in
            try NumberReader.deliveries(of: session, after: number, limit: limit, bytes: bytes, db)
        }
    }

    package func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try reading { db in try ChangeRows.matching(filter, limit: limit, db) }
    }

    package var committedBytes: Int? { written.load(ordering: .relaxed) }

    package func census() throws(StoreError) -> NotificationCensus {
        try reading(NotificationReader.census)
    }

    /// Reads one moment of the database; for tests too, which ask for query plans.
    func reading<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try pool.read(body)
        } catch {
            throw StoreError(translating: error)
        }
    }
}
