import GRDB
import Router
import RouterPlugin

/// The rows of `change_log`.
enum ChangeRows {
    /// Newest first.
    static func matching(_ filter: ChangeFilter, limit: Int, _ db: Database) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        let select = """
            SELECT number, key, operation, resource, application, at FROM change_log
            WHERE number > ?1 AND number < ?2 \(filter.application == nil ? "" : "AND application = ?4")
            ORDER BY number DESC LIMIT ?3
            """
        let bind = { (arguments: inout ArgumentBinder) in
            arguments.bind(filter.after)
            arguments.bind(filter.before)
            arguments.bind(max(0, limit))
            if let application = filter.application { arguments.bind(application.text) }
        }
        try PreparedStatement(db, select).forEach(bind) { row in
            let number = row.int64()
            let note = ChangeNote(
                key: row.optionalText(), operation: row.text(), resource: row.text(),
                application: row.optionalText().map(ApplicationID.init(unchecked:)))
            changes.append(LoggedChange(number: number, note: note, time: row.time()))
        }
        return changes
    }
}

extension ChangeWriter {
    private static let insertChange = CheckedTable.changeLog.insert("number, key, operation, resource, application, at")
    private static let lastChange = "SELECT ifnull(max(number), 0) FROM change_log"
    private static let forgetChanges = """
        DELETE FROM change_log WHERE application IS ?1 AND number <= (
          SELECT number FROM change_log WHERE application IS ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
        """

    /// The newest line is never deleted: its number is the base of the next one.
    func log(_ note: ChangeNote, at time: Timestamp, keeping limit: Int) throws {
        let last = try PreparedStatement(db, Self.lastChange).first { row in row.int64() }
        try PreparedStatement(db, Self.insertChange).run {
            $0.bind((last ?? 0) + 1)
            $0.bind(note.key)
            $0.bind(note.operation)
            $0.bind(note.resource)
            $0.bind(note.application?.text)
            $0.bind(time.milliseconds)
        }
        try PreparedStatement(db, Self.forgetChanges).run {
            $0.bind(note.application?.text)
            $0.bind(max(1, limit))
        }
    }
}
