import GRDB
import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

extension SQLiteStore {
    /// SQLite's own verdict on the whole file.
    func integrity() throws -> [String] {
        try reading { db in try String.fetchAll(db, sql: "PRAGMA integrity_check") }
    }
}

/// Frequent questions are answered through an index, whatever the size of the history.
struct QueryPlanTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLiteStore(path: directory.file())
    }

    @Test("recovery reads unsettled notifications and no others, and sorts nothing")
    func recoveryReadsUnsettledNotifications() throws {
        let search = "SEARCH notification USING INDEX notification_by_state (state=? AND rowid>? AND rowid<?)"
        #expect(try plan(Recovery.selectUnsettled) == ["MERGE (UNION ALL)", "LEFT", search, "RIGHT", search])
    }

    @Test("the bounds of unsettled notifications are the ends of an index")
    func boundsOfUnsettledNotifications() throws {
        let searches = try plan(Recovery.selectBounds).filter { $0.contains(" notification ") }
        #expect(
            searches
                == Array(
                    repeating: "SEARCH notification USING COVERING INDEX notification_by_state (state=?)", count: 4))
    }

    @Test("a key is found by its hash above the floor, among recent keys and in the index of keys")
    func keysAreFoundByHash() throws {
        let plan = try plan(NotificationReader.selectKey)
        #expect(
            plan.filter { $0.hasPrefix("SEARCH") } == [
                "SEARCH temp.recent_key USING PRIMARY KEY (hash=? AND sequence>?)",
                "SEARCH key_floor USING PRIMARY KEY (application=?)",
                "SEARCH dedupe_key USING PRIMARY KEY (sequence=? AND application=? AND source=? AND key=?)",
                "SEARCH key_index USING PRIMARY KEY (hash=? AND sequence>?)",
                "SEARCH key_floor USING PRIMARY KEY (application=?)",
                "SEARCH dedupe_key USING PRIMARY KEY (sequence=? AND application=? AND source=? AND key=?)",
            ])
    }

    @Test(
        "cleaning an index looks at its own slice or segments",
        arguments: [
            ChangeWriter.removeEntries, ChangeWriter.removeHashes, ChangeWriter.removeSegments,
            ChangeWriter.removeFloors,
        ])
    func cleaningIsBounded(_ statement: String) throws {
        #expect(try plan(statement).first?.hasPrefix("SEARCH ") == true)
    }

    @Test func theCensusReadsOneIndex() throws {
        let plan = try plan(NotificationReader.selectCensus)
        #expect(plan.contains("SCAN notification USING COVERING INDEX notification_by_state"))
        #expect(!plan.contains { $0.contains("B-TREE") })
    }

    @Test("the newest time is the end of three indexes")
    func newestTime() throws {
        let plan = try plan(Recovery.selectNewestTime)
        #expect(plan.contains("SCAN notification"))
        #expect(plan.contains("SEARCH notification USING COVERING INDEX notification_by_settlement (settled_at>?)"))
        #expect(plan.contains("SCAN kept_answer USING COVERING INDEX kept_answer_by_time"))
        #expect(!plan.contains { $0.contains("B-TREE") })
    }

    @Test func retentionReadsTheBeginningOfItsIndexes() throws {
        #expect(
            try plan(RetentionReader.selectSettled) == [
                "SEARCH notification USING COVERING INDEX notification_by_settlement (settled_at>?)",
                "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH payload USING INTEGER PRIMARY KEY (rowid=?)",
            ])
        #expect(
            try plan(RetentionReader.selectAnswers) == ["SCAN kept_answer USING COVERING INDEX kept_answer_by_time"])
    }

    @Test(arguments: ChangeWriter.forgetBelongings + [ChangeWriter.forgetNotification, ChangeWriter.forgetAnswer])
    func deletionsFindTheirRowsByAnIndex(_ statement: String) throws {
        let plan = try plan(statement)
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH "), "\(plan)")
    }

    @Test func aPayloadIsFoundWithItsOtherNotificationsByIndexes() throws {
        #expect(
            try plan(ChangeWriter.forgetPayload) == [
                "SEARCH payload USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY 1", Self.row,
                "SCALAR SUBQUERY 2",
                "SEARCH notification USING COVERING INDEX notification_by_payload (payload_at=?)",
            ])
    }

    private static let recent = "SEARCH notification USING INTEGER PRIMARY KEY (rowid>?)"
    private static let recentBefore = "SEARCH notification USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
    private static let row = "SEARCH notification USING INTEGER PRIMARY KEY (rowid=?)"
    private static let entries = ["SCAN segment", "SEARCH list_entry USING PRIMARY KEY (segment=? AND term=?)", row]
    /// Entries of one value, of all applications: those of a segment are sorted.
    private static let entriesOfAll = [
        "SCAN segment", "SEARCH list_entry USING PRIMARY KEY (segment=? AND term>? AND term<?)", row, sorting,
    ]
    private static let sorting = "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"
    private static let entriesBefore = [
        "SEARCH segment USING INTEGER PRIMARY KEY (rowid<?)",
        "SEARCH list_entry USING PRIMARY KEY (segment=? AND term=? AND sequence<?)", row,
    ]

    static let lists: [(NotificationFilter, [[String]])] = [
        (NotificationFilter(), [["SCAN notification"]]),
        (
            NotificationFilter(before: NotificationSequence(9)),
            [["SEARCH notification USING INTEGER PRIMARY KEY (rowid<?)"]]
        ),
        (NotificationFilter(application: ApplicationID(unchecked: "a")), [[recent], entries]),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), before: NotificationSequence(9)),
            [[recentBefore], entriesBefore]
        ),
        (
            NotificationFilter(state: .deadLettered, before: NotificationSequence(9)),
            [["SEARCH notification USING INDEX notification_by_state (state=? AND rowid<?)"]]
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .deadLettered),
            [["SEARCH notification USING INDEX notification_by_outcome (application=? AND state=?)"]]
        ),
        (
            NotificationFilter(
                application: ApplicationID(unchecked: "a"), state: .held, before: NotificationSequence(9)),
            [["SEARCH notification USING INDEX notification_by_outcome (application=? AND state=? AND rowid<?)"]]
        ),
        (NotificationFilter(application: ApplicationID(unchecked: "a"), state: .waiting), [[recent], entries]),
        (NotificationFilter(application: ApplicationID(unchecked: "a"), state: .delivered), [[recent], entries]),
        (
            NotificationFilter(
                application: ApplicationID(unchecked: "a"), session: SessionID(unchecked: "s"),
                before: NotificationSequence(9)),
            [[recentBefore], entriesBefore]
        ),
        (NotificationFilter(session: SessionID(unchecked: "s")), [[recent], entriesOfAll]),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), contentID: ContentID(unchecked: "c")),
            [[recent], entries]
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), type: .event(.didDisconnect)),
            [[recent], entries]
        ),
        (NotificationFilter(type: .notification(.url)), [[recent], entriesOfAll]),
        (NotificationFilter(type: .notification(.notification)), [["SCAN notification"]]),
        (
            NotificationFilter(since: Timestamp(milliseconds: 1), until: Timestamp(milliseconds: 2)),
            [[recent], ["SCAN segment", recentBefore]]
        ),
    ]

    @Test("lists use their index, and a list of one application sorts nothing", arguments: lists)
    func listsUseTheirIndex(_ filter: NotificationFilter, _ expected: [[String]]) throws {
        #expect(try NotificationQuery(filter).parts.map { try plan($0.sql).filter(Self.isAccess) } == expected)
    }

    /// Without the look-up of the ledger's figure.
    private static func isAccess(_ step: String) -> Bool { step != "SCAN ledger" && !step.hasPrefix("SCALAR SUBQUERY") }

    private static let between = "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"

    static let replays: [(NotificationFilter, [String])] = [
        (NotificationFilter(), ["SEARCH notification USING " + between]),
        (NotificationFilter(since: Timestamp(milliseconds: 1)), ["SEARCH notification USING " + between]),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .deadLettered),
            [
                "SEARCH notification USING INDEX notification_by_outcome "
                    + "(application=? AND state=? AND rowid>? AND rowid<?)"
            ]
        ),
        (NotificationFilter(application: ApplicationID(unchecked: "a"), state: .delivered), listedBetween),
        (
            NotificationFilter(
                application: ApplicationID(unchecked: "a"), session: SessionID(unchecked: "s"),
                until: Timestamp(milliseconds: 1)), listedBetween
        ),
        (
            NotificationFilter(state: .expired, contentID: ContentID(unchecked: "c")),
            [
                "SEARCH segment USING " + between,
                "SEARCH list_entry USING PRIMARY KEY (segment=? AND term>? AND term<?)", row, sorting,
                "SEARCH notification USING " + between,
            ]
        ),
    ]
    private static let listedBetween = [
        "SEARCH segment USING " + between,
        "SEARCH list_entry USING PRIMARY KEY (segment=? AND term=? AND sequence>? AND sequence<?)", row,
        "SEARCH notification USING " + between,
    ]

    /// No term passes over rows: the number of rows that a step looks at is bounded.
    @Test("a step of a replay finds its place", arguments: replays)
    func aStepOfAReplayFindsItsPlace(_ filter: NotificationFilter, _ expected: [String]) throws {
        let replay = Replay(
            id: ReplayID(unchecked: "r"), filter: filter, perSecond: 1, matched: 1, through: NotificationSequence(9),
            createdAt: Timestamp(milliseconds: 0), request: nil, position: NotificationSequence(1),
            resumesAt: Timestamp(milliseconds: 0))
        let parts = NotificationQuery(replay).parts
        #expect(try parts.flatMap { try plan($0.sql) }.filter(Self.isAccess) == expected)
    }

    /// Of the connection that writes, which has the recent keys.
    private func plan(_ sql: String) throws -> [String] {
        try store.writing { db in
            // Parameters have numbers, or none of them has.
            let numbers = sql.split(separator: "?").dropFirst().compactMap { $0.first?.wholeNumberValue }
            let arguments = StatementArguments(Array(repeating: 1, count: numbers.max() ?? sql.count { $0 == "?" }))
            return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
        }
    }
}
