import GRDB
import Router

/// Reads the answers to lookups, on the connection that writes.
enum FactReader {
    static func facts(for lookups: [Lookup], _ db: Database) throws(StoreError) -> Facts {
        try Facts(lookups) { lookup throws(StoreError) in
            do {
                return try answer(to: lookup, db)
            } catch {
                throw StoreError(translating: error, systemError: db.systemError)
            }
        }
    }

    private static func answer(to lookup: Lookup, _ db: Database) throws -> Facts.Answer {
        switch lookup {
        case .receipt(let key): .receipt(try NotificationReader.receipt(for: key, db))
        case .broadcast(let place): .broadcast(try NotificationReader.broadcast(at: place, db))
        case .keptAnswer(let key): .keptAnswer(try NotificationReader.keptAnswer(for: key, db))
        case .payload(let sequence): .payload(try NotificationReader.payload(of: sequence, db))
        case .notification(let id): .notification(try NotificationReader.notification(id, db))
        case .retained(let limit): .retained(try RetentionReader.retained(limit: limit, db))
        case .replayable(let replay, let limit, let examined):
            .replayable(try ReplayReader.page(of: replay, limit: limit, examined: examined, db))
        case .belongings(let id, let limit):
            .belongings(try ChangeWriter.belongings(of: id, limit: limit, db))
        case .taken(let id, let content, let limit):
            .taken(
                try NotificationReader.notifications(
                    matching: NotificationFilter(application: id, contentID: content), limit: limit, db
                ).compactMap(RuleHistory.Taken.init))
        }
    }
}
