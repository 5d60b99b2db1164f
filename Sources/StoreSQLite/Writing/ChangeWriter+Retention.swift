import GRDB
import Router
import RouterPlugin

/// Freed pages stay in the file and are used again, so the file does not grow beyond the rows of one time. To give pages
/// back to the disk as they are freed (`auto_vacuum`) costs a map of all pages, and moves pages that will be needed a
/// moment later; `routerd database vacuum` gives the space back on request.
extension ChangeWriter {
    static let forgetNotification = """
        DELETE FROM notification WHERE sequence = ? AND state NOT IN ('held', 'waiting')
        RETURNING state, ifnull(payload_at, sequence)
        """
    /// A payload, unless another notification has it.
    static let forgetPayload = """
        DELETE FROM payload WHERE sequence = ?1
          AND NOT EXISTS (SELECT 1 FROM notification WHERE notification.sequence = ?1)
          AND NOT EXISTS (SELECT 1 FROM notification WHERE payload_at = ?1)
        """
    /// Rows that belong to a notification, by its sequence.
    static let forgetBelongings = [
        "DELETE FROM attempt WHERE sequence = ?", "DELETE FROM first_answer WHERE sequence = ?",
        "DELETE FROM dedupe_key WHERE sequence = ?",
    ]
    static let forgetAnswer = "DELETE FROM kept_answer WHERE application = ? AND source = ? AND key = ?"
    private static let countForgotten = """
        INSERT INTO forgotten (state, count) VALUES (?, ?)
        ON CONFLICT (state) DO UPDATE SET count = count + excluded.count
        """

    /// Deletes a settled notification and returns the state that it ended in.
    mutating func forget(_ sequence: NotificationSequence) throws -> String {
        let found = try PreparedStatement(db, Self.forgetNotification).first({ $0.bind(sequence.value) }) { row in
            (state: row.text(), payload: row.int64())
        }
        guard let (state, payload) = found else { throw refusal("the end of retention", of: sequence) }
        try PreparedStatement(db, Self.forgetPayload).run { $0.bind(payload) }
        for statement in Self.forgetBelongings {
            try PreparedStatement(db, statement).run { $0.bind(sequence.value) }
        }
        try forgetNumbers(of: sequence)
        return state
    }

    func forgetAnswer(_ key: DedupeKey) throws {
        let deleted = try PreparedStatement(db, Self.forgetAnswer).run { key.bind(to: &$0) }
        guard deleted == 1 else { throw StoreError(.conflict, "nothing is kept under the key of a request") }
    }

    func countForgotten(_ state: String, _ count: Int) throws {
        try PreparedStatement(db, Self.countForgotten).run {
            $0.bind(state)
            $0.bind(count)
        }
    }
}
