import GRDB
import Router
import RouterPlugin

/// Reads replays, and what they come to next.
enum ReplayReader {
    /// In the order in which they are written and read.
    static let columns = """
        id, application, state, session, content_id, since, until, per_second, matched, through, created_at,
        request_key, request_fingerprint, position, replayed, skipped, progress, resumes_at, ended_at
        """

    static func all(_ db: Database) throws -> [Replay] {
        var replays: [Replay] = []
        try PreparedStatement(db, "SELECT \(columns) FROM replay ORDER BY id").forEach { row in
            replays.append(try replay(from: &row))
        }
        return replays
    }

    /// Rows are looked at one by one, for what bounds the work is how many are looked at, not how many are found.
    static func page(
        of replay: Replay, limit: Int, examined: Int, _ db: Database
    ) throws -> ReplayPage {
        let query = NotificationQuery(replay, limit: examined)
        let caches = NotificationCaches()
        var page = ReplayPage(notifications: [], position: replay.through)
        var seen = 0
        try PreparedStatement(db, query.sql).forEach(query.bind) { row in
            guard page.notifications.count < limit else { return }
            let notification = try NotificationReader.notification(from: &row, caches)
            seen += 1
            if notification.isReplayable(settledBy: replay.createdAt), replay.filter.matches(notification) {
                page.notifications.append(notification)
            }
            // Where it ends early, it goes on behind this one.
            if page.notifications.count == limit || seen == examined { page.position = notification.sequence }
        }
        for index in page.notifications.indices {
            page.notifications[index].payload = try NotificationReader.payload(
                of: page.notifications[index].sequence, db)
        }
        return page
    }

    static func tally(
        of filter: NotificationFilter, settledBy time: Timestamp, _ db: Database
    ) throws -> NotificationTally {
        let query = NotificationQuery(tallying: filter, settledBy: time)
        let tally = try PreparedStatement(db, query.sql).first(query.bind) { row in
            let count = row.int()
            let first = row.optionalInt64().map(NotificationSequence.init)
            let last = row.optionalInt64().map(NotificationSequence.init)
            return NotificationTally(count: count, range: first.flatMap { first in last.map { first...$0 } })
        }
        return tally ?? NotificationTally(count: 0, range: nil)
    }

    private static func replay(from row: inout ColumnReader) throws -> Replay {
        let id = ReplayID(unchecked: row.text())
        let filter = NotificationFilter(
            application: row.optionalText().map(ApplicationID.init(unchecked:)), state: try row.optionalState(),
            session: row.optionalText().map(SessionID.init(unchecked:)),
            contentID: row.optionalText().map(ContentID.init(unchecked:)), since: row.optionalTime(),
            until: row.optionalTime())
        let (perSecond, matched) = (row.int(), row.int())
        let (through, createdAt) = (NotificationSequence(row.int64()), row.time())
        let (key, fingerprint) = (row.optionalText(), row.optionalBytes())
        return Replay(
            id: id, filter: filter, perSecond: perSecond, matched: matched, through: through, createdAt: createdAt,
            request: key.map { RepeatedReplay(key: $0, fingerprint: fingerprint ?? []) },
            position: NotificationSequence(row.int64()), replayed: row.int(), skipped: row.int(),
            state: try row.replayState(), resumesAt: row.time(), endedAt: row.optionalTime())
    }
}
