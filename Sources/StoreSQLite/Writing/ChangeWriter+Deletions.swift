import GRDB
import Router
import RouterPlugin

/// Deletes applications. Millions of rows may belong to an application: a caller that has begun a deletion sweeps them a
/// bounded number at a time. Keys of senders are not deleted but left behind a floor: they are found by their notifications
/// alone, so that to search those of one application would read them all.
extension ChangeWriter {
    /// The rows that are swept, with their keys; foreign keys would take all but the first with the application.
    private static let swept = [
        ("kept_answer", "source, key"), ("session", "creation_sequence"), ("gate", "device"),
        ("passcode_lock", "device"),
    ]
    private static let begin = CheckedTable.application.update(
        ["is_deleting": "1"], where: "id = ?1 AND is_deleting = 0")
    private static let raiseFloor = CheckedTable.keyFloor.insert(
        "application, sequence",
        end: "ON CONFLICT (application) DO UPDATE SET " + CheckedTable.keyFloor.replacing("sequence"))
    /// Floors below which no notification is left.
    static let removeFloors = """
        DELETE FROM key_floor WHERE sequence < (SELECT ifnull(min(sequence), ?1) FROM notification)
        """

    /// Foreign keys take configurations, sources and all that is not swept yet with it.
    func delete(_ id: ApplicationID) throws {
        // A sender of the next application of that name has not sent anything yet.
        try PreparedStatement(db, "DELETE FROM kept_answer WHERE application = ?").run { $0.bind(id.text) }
        let last = try openLedger().lastNotification
        try PreparedStatement(db, Self.raiseFloor).run {
            $0.bind(id.text)
            $0.bind(last)
        }
        try PreparedStatement(db, "DELETE FROM application WHERE id = ?").run { $0.bind(id.text) }
    }

    func beginDeletion(of id: ApplicationID) throws {
        let begun = try PreparedStatement(db, Self.begin).run { $0.bind(id.text) }
        guard begun == 1 else { throw StoreError(.conflict, "there is no application \(id) to delete") }
    }

    func sweep(_ id: ApplicationID, limit: Int) throws {
        let isDeleting = try PreparedStatement(db, "SELECT is_deleting FROM application WHERE id = ?")
            .first({ $0.bind(id.text) }) { row in row.bool() }
        guard isDeleting == true else {
            throw StoreError(.conflict, "the application \(id) is not being deleted")
        }
        var room = limit
        for (table, key) in Self.swept where room > 0 {
            let statement = """
                DELETE FROM \(table) WHERE application = ?1 AND (\(key)) IN (
                  SELECT \(key) FROM \(table) WHERE application = ?1 LIMIT ?2)
                """
            room -= try PreparedStatement(db, statement).run {
                $0.bind(id.text)
                $0.bind(room)
            }
        }
    }

    /// How many rows there are to sweep; a greater number counts as `limit`.
    static func belongings(of id: ApplicationID, limit: Int, _ db: Database) throws -> Int {
        let parts = swept.map { table, _ in
            "(SELECT count(*) FROM (SELECT 1 FROM \(table) WHERE application = ?1 LIMIT ?2))"
        }
        let count = try PreparedStatement(db, "SELECT " + parts.joined(separator: " + ")).first({
            $0.bind(id.text)
            $0.bind(limit)
        }) { row in row.int() }
        return min(count ?? 0, limit)
    }
}
