import GRDB
import Router
import RouterPlugin

/// Numbers the deliveries of sessions that are reached by a stream. A database without such sessions is asked once in a
/// transaction whether it has any.
extension ChangeWriter {
    private static let begin = CheckedTable.numbering.insert(
        "application, session, creation, last", end: "ON CONFLICT (application, session) DO NOTHING")
    /// Nothing if the deliveries of the notification's session have no numbers.
    static let takeNumber =
        CheckedTable.numbering.update(
            ["last": "last + 1"],
            where: """
                (application, session) = (SELECT application, session FROM notification WHERE sequence = ?1)
                """) + " RETURNING creation, last"
    private static let setLast = CheckedTable.numbering.update(
        ["last": "?3"], where: "(application, session) = (?1, ?2)")
    private static let addNumber = CheckedTable.numberedDelivery.insert("creation, number, sequence")
    static let forgetNumbers = "DELETE FROM numbered_delivery WHERE sequence = ?"
    private static let selectNumbers = """
        SELECT EXISTS (SELECT 1 FROM numbering) OR EXISTS (SELECT 1 FROM numbered_delivery)
        """

    mutating func numberDeliveries(of key: SessionKey) throws {
        let select = "SELECT creation_sequence FROM session WHERE application = ? AND id = ?"
        let creation = try PreparedStatement(db, select).first({
            $0.bind(key.application.text)
            $0.bind(key.session.text)
        }) { $0.int64() }
        guard let creation else { throw StoreError(.conflict, "there is no session \(key) whose deliveries to number") }
        let begun = try PreparedStatement(db, Self.begin).run {
            $0.bind(key.application.text)
            $0.bind(key.session.text)
            $0.bind(creation)
            $0.bind(Int64(0))
        }
        guard begun == 1 else { return }
        hasNumbers = true
        let waiting = NotificationFilter(application: key.application, state: .waiting, session: key.session)
        // No more than sequences is read, for a lane may be long.
        var lane: [Int64] = []
        for part in NotificationQuery(waiting, select: "notification.sequence").parts {
            try PreparedStatement(db, part.sql).forEach({ part.bind(&$0, limit: .max) }) { lane.append($0.int64()) }
        }
        for (place, sequence) in lane.reversed().enumerated() {
            try PreparedStatement(db, Self.addNumber).run {
                $0.bind(creation)
                $0.bind(Int64(place + 1))
                $0.bind(sequence)
            }
        }
        try PreparedStatement(db, Self.setLast).run {
            $0.bind(key.application.text)
            $0.bind(key.session.text)
            $0.bind(Int64(lane.count))
        }
    }

    /// Gives the next number of its session to a notification that has come into the session's lane.
    mutating func number(_ sequence: NotificationSequence) throws {
        guard try mayHaveNumbers() else { return }
        let taken = try PreparedStatement(db, Self.takeNumber).first({ $0.bind(sequence.value) }) { row in
            (creation: row.int64(), number: row.int64())
        }
        guard let taken else { return }
        try PreparedStatement(db, Self.addNumber).run {
            $0.bind(taken.creation)
            $0.bind(taken.number)
            $0.bind(sequence.value)
        }
    }

    mutating func forgetNumbers(of sequence: NotificationSequence) throws {
        guard try mayHaveNumbers() else { return }
        try PreparedStatement(db, Self.forgetNumbers).run { $0.bind(sequence.value) }
    }

    private mutating func mayHaveNumbers() throws -> Bool {
        if let hasNumbers { return hasNumbers }
        let found = try PreparedStatement(db, Self.selectNumbers).first { $0.bool() } ?? false
        hasNumbers = found
        return found
    }
}
