import GRDB
import Router
import RouterPlugin

/// Reads replays, and the notifications that they come to next.
enum ReplayReader {
    /// In the order in which they are written and read.
    static let columns = """
        id, application, state, session, content_id, since, until, per_second, matched, through, created_at,
        request_key, request_fingerprint, position, replayed, skipped, progress, resumes_at, ended_at
        """

    static func all(_ db: Database) throws -> [Replay] {
        var replays: [Replay] = []
        let select = "SELECT \(CheckedTable.replay.isSound), \(columns) FROM replay ORDER BY id"
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            replays.append(try replay(from: &row))
        }
        return replays
    }

    /// Rows are looked at one by one, for what bounds the work is how many are looked at, not how many are found.
    static func page(
        of replay: Replay, limit: Int, examined: Int, _ db: Database
    ) throws -> ReplayPage {
        let caches = NotificationCaches()
        var page = ReplayPage(notifications: [], position: replay.through)
        var seen = 0
        for part in NotificationQuery(replay).parts where seen < examined && page.notifications.count < limit {
            let room = examined - seen
            try PreparedStatement(db, part.sql).forEach({ part.bind(&$0, limit: room) }) { row in
                guard page.notifications.count < limit else { return }
                let notification = try NotificationReader.notification(from: &row, caches)
                seen += 1
                if notification.isReplayable(settledBy: replay.createdAt), replay.filter.matches(notification) {
                    page.notifications.append(notification)
                }
                // A page that ends early goes on behind this one.
                if page.notifications.count == limit || seen == examined { page.position = notification.sequence }
            }
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
        var (count, first, last): (Int, Int64?, Int64?) = (0, nil, nil)
        for part in NotificationQuery(tallying: filter, settledBy: time).parts {
            try PreparedStatement(db, part.sql).forEach({ part.bind(&$0, limit: nil) }) { row in
                count += row.int()
                let (least, greatest) = (row.optionalInt64(), row.optionalInt64())
                first = [first, least].compactMap(\.self).min()
                last = [last, greatest].compactMap(\.self).max()
            }
        }
        guard let first, let last else { return NotificationTally(count: 0, range: nil) }
        return NotificationTally(count: count, range: NotificationSequence(first)...NotificationSequence(last))
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
