import GRDB
import Router
import RouterPlugin

/// Reads the numbers of deliveries.
enum NumberReader {
    /// A notification that has come back to the session has several numbers there; the last one counts. A damaged row is no
    /// number.
    static let selectNumber = """
        SELECT max(number) FROM numbered_delivery INDEXED BY numbered_delivery_by_sequence
        WHERE sequence = ?1 AND \(CheckedTable.numberedDelivery.isSound)
          AND creation = (SELECT creation FROM numbering WHERE application = ?2 AND session = ?3)
        """
    private static let selectNumbering = """
        SELECT \(CheckedTable.numbering.isSound), creation, last FROM numbering WHERE application = ? AND session = ?
        """
    static let selectRange = """
        SELECT \(CheckedTable.numberedDelivery.isSound), number, sequence FROM numbered_delivery
        WHERE creation = ? AND number > ? ORDER BY number LIMIT ?
        """

    static func number(of sequence: NotificationSequence, in session: SessionKey, _ db: Database) throws -> Int64? {
        try PreparedStatement(db, selectNumber).first({
            $0.bind(sequence.value)
            $0.bind(session.application.text)
            $0.bind(session.session.text)
        }) { $0.optionalInt64() } ?? nil
    }

    static func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int, _ db: Database
    ) throws -> NumberedDeliveries {
        let numbering = try PreparedStatement(db, selectNumbering).first({
            $0.bind(session.application.text)
            $0.bind(session.session.text)
        }) { row in
            try expectSound(&row)
            return (creation: row.int64(), last: row.int64())
        }
        guard let numbering else { return NumberedDeliveries(through: number) }
        var range = NumberedDeliveries(last: numbering.last)
        range.through = number + min(Int64(limit), max(0, numbering.last - number))
        var rows: [(number: Int64, sequence: NotificationSequence)] = []
        try PreparedStatement(db, selectRange).forEach({
            $0.bind(numbering.creation)
            $0.bind(number)
            $0.bind(limit)
        }) { row in
            try expectSound(&row)
            rows.append((row.int64(), NotificationSequence(row.int64())))
        }
        var room = bytes
        for (number, sequence) in rows where number <= range.through {
            guard let notification = try NotificationReader.notification(sequence, db) else { continue }
            let isLatest = try Self.number(of: sequence, in: session, db) == number
            let isHere = isLatest && notification.decision.session == session.session
            range.items.append(NumberedDeliveries.Item(number: number, notification: notification, isHere: isHere))
            room -= notification.payload?.weight ?? 0
            if room < 0 {
                range.through = number
                break
            }
        }
        return range
    }

    private static func expectSound(_ row: inout ColumnReader) throws {
        guard row.bool() else { throw StoreError(.corrupt, "the number of a delivery is not as it was written") }
    }
}
