import GRDB
import Router
import RouterPlugin

/// Reads what retention decides on: a few rows from the beginning of two indexes, however long the history is.
enum RetentionReader {
    /// The length of a payload stands in its row's header: none of its other pages are read.
    static let selectSettled = """
        SELECT sequence, settled_at,
               ifnull((SELECT length(body) FROM payload WHERE payload.sequence = notification.sequence), 0)
        FROM notification INDEXED BY notification_by_settlement
        WHERE settled_at IS NOT NULL ORDER BY settled_at LIMIT ?
        """
    static let selectAnswers = """
        SELECT application, source, key, kept_at FROM kept_answer INDEXED BY kept_answer_by_time
        ORDER BY kept_at LIMIT ?
        """
    private static let selectSize = """
        SELECT (page_count - freelist_count) * page_size
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size
        """

    static func retained(limit: Int, _ db: Database) throws -> Retained {
        let limit = max(0, limit)
        var items: [Retained.Item] = []
        try PreparedStatement(db, selectSettled).forEach({ $0.bind(limit) }) { row in
            let sequence = NotificationSequence(row.int64())
            items.append(Retained.Item(.notification(sequence), since: row.time(), bytes: row.int()))
        }
        try PreparedStatement(db, selectAnswers).forEach({ $0.bind(limit) }) { row in
            let key = DedupeKey(
                application: ApplicationID(unchecked: row.text()), source: PluginID(unchecked: row.text()),
                key: row.text())
            items.append(Retained.Item(.answer(key), since: row.time()))
        }
        let oldest = items.sorted { $0.since < $1.since }.prefix(limit)
        return Retained(bytes: try size(db), oldest: Array(oldest))
    }

    /// The pages in use, in bytes; free ones will be used next.
    static func size(_ db: Database) throws -> Int64 {
        try PreparedStatement(db, selectSize).first { row in row.int64() } ?? 0
    }
}
