import GRDB
import Router
import RouterPlugin

@testable import StoreSQLite

/// A notification as plain as can be.
func notification(_ sequence: Int64, bytes: Int = 16, keys: [String] = []) -> NewNotification {
    NewNotification(
        NotificationHeader(
            sequence: NotificationSequence(sequence), id: NotificationID(unchecked: "ntf_\(sequence)"),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            contentID: ContentID(unchecked: "photo/\(sequence % 7)"),
            receivedAt: Timestamp(milliseconds: 1_700_000_000_000 + sequence)),
        source: PluginID(unchecked: "routerd.source.apns"), dedupeKeys: keys,
        payload: .json([UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: bytes)),
        decision: Decision(tier: .can, session: SessionID(unchecked: "s1"), reason: "TRUEPREDICATE"), placement: .lane)
}

/// The outcome of a commit: nil, or the code of the error.
func outcome(_ store: some Store, _ changes: [StoreChange]) -> StoreError.Code? {
    do {
        try store.commit(changes)
        return nil
    } catch {
        return error.code
    }
}

extension CheckedTable {
    /// Computes the sums of all rows, for a test that has changed them behind the store's back.
    func sumAgain(_ db: Database) throws {
        try RowSum.install(on: db)
        try db.execute(sql: "UPDATE \(name) SET \(Self.column) = \(sum())")
    }
}
