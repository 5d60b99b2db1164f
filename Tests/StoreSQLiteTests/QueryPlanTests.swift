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

/// What is read often is read through an index, whatever the history has grown to.
struct QueryPlanTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteStore

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLiteStore(path: directory.file())
    }

    @Test func recoveryReadsWhatIsUnsettledAndNothingElse() throws {
        #expect(try plan(Recovery.selectUnsettled) == ["SCAN notification USING INDEX notification_unsettled"])
    }

    @Test func theCensusReadsOneIndex() throws {
        let plan = try plan(NotificationReader.selectCensus)
        #expect(plan.contains("SCAN notification USING COVERING INDEX notification_by_state"))
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
    func whatIsForgottenIsFoundAndNotLookedFor(_ statement: String) throws {
        let plan = try plan(statement)
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH "), "\(plan)")
    }

    static let lists: [(NotificationFilter, String)] = [
        (NotificationFilter(), "SCAN notification"),
        (
            NotificationFilter(before: NotificationSequence(9)),
            "SEARCH notification USING INTEGER PRIMARY KEY (rowid<?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a")),
            "SEARCH notification USING INDEX notification_by_application (application=?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), before: NotificationSequence(9)),
            "SEARCH notification USING INDEX notification_by_application (application=? AND rowid<?)"
        ),
        (
            NotificationFilter(state: .deadLettered, before: NotificationSequence(9)),
            "SEARCH notification USING INDEX notification_by_state (state=? AND rowid<?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .waiting),
            "SEARCH notification USING INDEX notification_by_state (state=?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .delivered),
            "SEARCH notification USING INDEX notification_by_application (application=?)"
        ),
        (
            NotificationFilter(session: SessionID(unchecked: "s"), before: NotificationSequence(9)),
            "SEARCH notification USING INDEX notification_by_session (session=? AND rowid<?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), contentID: ContentID(unchecked: "c")),
            "SEARCH notification USING INDEX notification_by_content (content_id=?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), type: .event(.didDisconnect)),
            "SEARCH notification USING INDEX notification_by_event (event=?)"
        ),
        (
            NotificationFilter(session: SessionID(unchecked: "s"), type: .event(.didDisconnect)),
            "SEARCH notification USING INDEX notification_by_session (session=?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), type: .notification(.notification)),
            "SEARCH notification USING INDEX notification_by_application (application=?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), type: .notification(.url)),
            "SEARCH notification USING INDEX notification_by_kind (kind=?)"
        ),
    ]

    @Test(arguments: lists)
    func listsUseTheirIndexAndSortNothing(_ filter: NotificationFilter, _ expected: String) throws {
        #expect(try plan(NotificationQuery(filter, limit: 10).sql) == [expected])
    }

    static let replays: [(NotificationFilter, String)] = [
        (NotificationFilter(), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (NotificationFilter(since: Timestamp(milliseconds: 1)), "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .deadLettered),
            "INDEX notification_by_state (state=? AND rowid>? AND rowid<?)"
        ),
        (
            NotificationFilter(application: ApplicationID(unchecked: "a"), state: .delivered),
            "INDEX notification_by_application (application=? AND rowid>? AND rowid<?)"
        ),
        (
            NotificationFilter(session: SessionID(unchecked: "s"), until: Timestamp(milliseconds: 1)),
            "INDEX notification_by_session (session=? AND rowid>? AND rowid<?)"
        ),
        (
            NotificationFilter(state: .expired, contentID: ContentID(unchecked: "c")),
            "INDEX notification_by_content (content_id=? AND rowid>? AND rowid<?)"
        ),
    ]

    /// A step looks at so many rows and no more: there is no term that could pass over others.
    @Test(arguments: replays)
    func aStepOfAReplayFindsItsPlace(_ filter: NotificationFilter, _ expected: String) throws {
        let replay = Replay(
            id: ReplayID(unchecked: "r"), filter: filter, perSecond: 1, matched: 1, through: NotificationSequence(9),
            createdAt: Timestamp(milliseconds: 0), request: nil, position: NotificationSequence(1),
            resumesAt: Timestamp(milliseconds: 0))
        let sql = NotificationQuery(replay, limit: 10).sql
        #expect(try plan(sql) == ["SEARCH notification USING " + expected])
        #expect(sql.count { $0 == "?" } == (expected.contains("=?") ? 4 : 3))
    }

    /// The clock may go back, so the order of the list is not that of time: what is in the range is sorted.
    @Test func listsByTimeReadTheRange() throws {
        let filter = NotificationFilter(since: Timestamp(milliseconds: 1), until: Timestamp(milliseconds: 2))
        #expect(
            try plan(NotificationQuery(filter, limit: 10).sql) == [
                "SEARCH notification USING INDEX notification_by_time (received_at>? AND received_at<?)",
                "USE TEMP B-TREE FOR ORDER BY",
            ])
    }

    private func plan(_ sql: String) throws -> [String] {
        try store.reading { db in
            let arguments = StatementArguments(sql.filter { $0 == "?" }.map { _ in 1 })
            return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
        }
    }
}
