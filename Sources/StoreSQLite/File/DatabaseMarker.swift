import GRDB
import Glibc
import Router

/// The note in `FILE.lock` that there is a database, with its id.
///
///     FILE.lock: "routerd database 0f3a… \n"   FILE with this id   ──▶ opened
///                                              FILE with another   ──▶ refused until an operator takes FILE.lock away
///                                              FILE without tables ──▶ refused: its tables were in a log that is gone
///                                              FILE missing        ──▶ refused until an operator begins an empty one
///     FILE.lock empty or missing               FILE missing        ──▶ an empty database is begun
///
/// The id is made at random with the schema, and goes with every copy of the database. The marker is written when the
/// database is complete, and taken away by `routerd database init --force` alone. A database of a schema before ids has none.
struct DatabaseMarker: Hashable {
    private static let prefix = "routerd database "

    let id: String

    /// - Parameter id: As hexadecimal digits.
    init(id: String) { self.id = id }

    /// Nil for the content of a lock beside which no database was complete.
    init?(content: [UInt8]) {
        let line = String(decoding: content.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard line.hasPrefix(Self.prefix) else { return nil }
        id = String(line.dropFirst(Self.prefix.count))
    }

    /// The marker of an open database.
    init(of db: Database) throws {
        let id = try PreparedStatement(db, "SELECT lower(hex(database_id)) FROM ledger").first { row in row.text() }
        guard let id, !id.isEmpty else { throw StoreError(.corrupt, "the database has no id") }
        self.id = id
    }

    var content: [UInt8] { Array("\(Self.prefix)\(id)\n".utf8) }

    /// Refuses to go on without a database where there was one: a marker, or a log with something in it, says that there was.
    ///
    /// - Parameter isForced: Whether a marker does not refuse it; a log still does.
    static func expectDatabase(_ lock: StoreLock, orBeginAnew isForced: Bool = false) throws(StoreError) {
        guard try DatabaseFile.sizeIfPresent(of: lock.path) == 0 else { return }
        if try DatabaseFile.sizeIfPresent(of: lock.path + "-wal") > 0 {
            throw StoreError(
                .missing,
                """
                \(lock.path) is missing or empty, but its log \(lock.path)-wal is there: put the database back to its log, or \
                restore a backup; to begin an empty database, move the log away first
                """)
        }
        guard !isForced, let marker = DatabaseMarker(content: lock.content()) else { return }
        throw StoreError(
            .missing,
            """
            \(lock.path) is missing or empty, but \(lock.path).lock names a database that was here (\(marker.id)): put it \
            back or restore a backup; to begin an empty database, run `routerd database init --force`
            """)
    }

    /// Refuses an open database that is not the one that the lock file names. SQLite has read its log, if there is one.
    static func expectSame(_ db: Database, path: String, _ content: [UInt8]) throws {
        guard let marker = DatabaseMarker(content: content) else { return }
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 > 0 else {
            throw StoreError(
                .missing,
                """
                \(path) has no tables, but \(path).lock names a database that was here (\(marker.id)): its log is gone. Put \
                \(path)-wal back or restore a backup; to begin an empty database, move \(path) away and run `routerd database \
                init --force`
                """)
        }
        let columns = "SELECT count(*) FROM pragma_table_info('ledger') WHERE name = 'database_id'"
        guard try Int.fetchOne(db, sql: columns) == 1 else { return }
        let found = try DatabaseMarker(of: db)
        guard found != marker else { return }
        throw StoreError(
            .missing,
            """
            \(path) is the database \(found.id), but \(path).lock names another one that was here (\(marker.id)): put that \
            one back or restore a backup of it; to go on with \(found.id), remove \(path).lock
            """)
    }

    /// The content of `FILE.lock` for a reader that does not lock it.
    static func content(beside path: String) -> [UInt8] {
        let descriptor = open(path + ".lock", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        return content(of: descriptor)
    }

    /// The content of an open `FILE.lock`.
    static func content(of descriptor: CInt) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    /// Marks that the open database is complete.
    static func mark(_ db: Database, _ lock: StoreLock) throws {
        let marker = try DatabaseMarker(of: db)
        if lock.content() != marker.content { try lock.write(marker.content) }
    }
}
