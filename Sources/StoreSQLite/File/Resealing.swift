import GRDB
import Router
import RouterPlugin

/// Seals values again that are sealed under an old key, or not sealed.
///
///     rows ──▶ sealed, a bounded number a transaction ──▶ none left ──▶ if some were plain: all pages rewritten
///
/// SQLite leaves old bytes in free space and in its log. A database that had plain secrets has to lose them when it is
/// sealed, so it is rewritten once. A mark in the ledger says that this is still to be done: a crash does not skip it.
enum Resealing {
    /// The caller is on the connection that writes, outside of a transaction.
    static func run(_ db: Database, _ column: KeyColumn) throws {
        guard let sealing = column.sealing else { return }
        let header = KeyColumn.header(sealing.keyID)
        for table in tables {
            var (after, count): (Int64, Int) = (-1, table.rowsPerTransaction)
            while count == table.rowsPerTransaction {
                try db.inTransaction(.immediate) {
                    (after, count) = try reseal(table, after: after, header, column, db)
                    return .commit
                }
            }
        }
        guard try Bool.fetchOne(db, sql: "SELECT rewrite_pending FROM ledger") == true else { return }
        try db.execute(sql: "VACUUM")
        try db.execute(sql: "UPDATE ledger SET rewrite_pending = 0")
        try db.checkpoint(.truncate)
    }

    /// The rows behind the number that are not sealed as they should be; returns how far that was, and how many.
    private static func reseal(
        _ table: Table, after: Int64, _ header: [UInt8], _ column: KeyColumn, _ db: Database
    ) throws -> (Int64, Int) {
        var rows: [(number: Int64, names: (String, String), keys: [UInt8])] = []
        try PreparedStatement(db, table.select).forEach({
            $0.bind(after)
            $0.bind(header.count)
            $0.bind(header)
            $0.bind(table.rowsPerTransaction)
        }) { row in rows.append((row.int64(), (row.text(), row.text()), row.bytes())) }
        for row in rows {
            let renewed = try column.renewed(row.keys, of: table.place(row.names.0, row.names.1))
            try PreparedStatement(db, table.update).run {
                $0.bind(renewed)
                $0.bind(row.number)
                $0.bind(row.names.0)
            }
        }
        if rows.contains(where: { KeyColumn.isPlain($0.keys) }) {
            try db.execute(sql: "UPDATE ledger SET rewrite_pending = 1")
        }
        return (rows.last?.number ?? after, rows.count)
    }

    /// A table with keys: its rows by number and names, the place that they belong to, and the statement that changes them.
    private struct Table {
        let select: String
        let update: String
        let rowsPerTransaction: Int
        let place: (String, String) -> KeyColumn.Place
    }

    // Keys that are not there are not found: nothing is unlike NULL.
    private static var tables: [Table] {
        [
            Table(
                select: """
                    SELECT creation_sequence, application, id, endpoint_keys FROM session
                    WHERE creation_sequence > ? AND substr(endpoint_keys, 1, ?) <> ? ORDER BY creation_sequence LIMIT ?
                    """,
                update: CheckedTable.session.update(
                    ["endpoint_keys": "?1"], where: "creation_sequence = ?2 AND application = ?3"),
                rowsPerTransaction: 1000,
                place: { .session(SessionKey(application: .init(unchecked: $0), session: .init(unchecked: $1))) }),
            // Of these there are few.
            Table(
                select: """
                    SELECT rowid, id, '', delegate_keys FROM application
                    WHERE rowid > ? AND substr(delegate_keys, 1, ?) <> ? ORDER BY rowid LIMIT ?
                    """,
                update: CheckedTable.application.update(["delegate_keys": "?1"], where: "rowid = ?2 AND id = ?3"),
                rowsPerTransaction: .max,
                place: { id, _ in .delegate(ApplicationID(unchecked: id)) }),
            Table(
                select: """
                    SELECT position, application, name, endpoint_keys FROM scene_configuration
                    WHERE position > ? AND substr(endpoint_keys, 1, ?) <> ? LIMIT ?
                    """,
                update: CheckedTable.sceneConfiguration.update(
                    ["endpoint_keys": "?1"], where: "position = ?2 AND application = ?3"),
                rowsPerTransaction: .max,
                place: { .configuration(ApplicationID(unchecked: $0), $1) }),
            Table(
                select: """
                    SELECT rowid, application, device, hash FROM passcode_lock
                    WHERE rowid > ? AND substr(hash, 1, ?) <> ? ORDER BY rowid LIMIT ?
                    """,
                update: CheckedTable.passcodeLock.update(["hash": "?1"], where: "rowid = ?2 AND application = ?3"),
                rowsPerTransaction: 1000,
                place: { .passcode(GateKey(application: .init(unchecked: $0), deviceText: $1)) }),
            Table(
                select: """
                    SELECT rowid, id, '', secrets FROM source
                    WHERE rowid > ? AND substr(secrets, 1, ?) <> ? ORDER BY rowid LIMIT ?
                    """,
                update: CheckedTable.source.update(["secrets": "?1"], where: "rowid = ?2 AND id = ?3"),
                rowsPerTransaction: 1000,
                place: { id, _ in .source(SourceID(unchecked: id)) }),
        ]
    }
}
