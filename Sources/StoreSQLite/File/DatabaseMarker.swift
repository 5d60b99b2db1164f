import GRDB
import Glibc
import Router

/// The note in `FILE.lock` that there is a database, with its id.
///
///     FILE.lock: "routerd database 0f3a… \n"   FILE with rows   ──▶ opened; another id is told
///                                              FILE missing     ──▶ refused until an operator begins an empty one
///     FILE.lock empty or missing               FILE missing     ──▶ an empty database is begun
///
/// The id is made at random with the schema, and goes with every copy of the database. The marker is written when the
/// database is complete, and taken away by `routerd database init --force` alone.
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

    /// Marks that the open database is complete.
    ///
    /// - Returns: Whether the marker named another database before.
    static func mark(_ db: Database, _ lock: StoreLock) throws -> Bool {
        let marker = try DatabaseMarker(of: db)
        let content = lock.content()
        if content == marker.content { return false }
        try lock.write(marker.content)
        return DatabaseMarker(content: content) != nil
    }
}
