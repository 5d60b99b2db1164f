import GRDB
import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

/// Faults that SQLite finds by itself: a database that may not grow, and a lock that another process holds.
struct DiskFaultTests {
    @Test func aFullDatabaseRefusesKeepsWhatItHasAndGoesOnWithRoom() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try limit(store, pages: 120)
        let settled = 1...Int64(10)
        try store.commit(settled.map { .insert(notification($0, bytes: 3000, keys: ["k\($0)"])) })
        try store.commit(
            settled.map { .settle(NotificationSequence($0), .delivered, at: Timestamp(milliseconds: $0)) })
        var number = settled.upperBound + 1
        func next() -> [StoreChange] { [.insert(notification(number, bytes: 3000, keys: ["k\(number)"]))] }
        while outcome(store, next()) == nil { number += 1 }
        let accepted = Int(number - 1)
        try #require(accepted > 20 && accepted < 120)
        #expect(outcome(store, next()) == .diskFull)
        #expect(
            try store.census()
                == NotificationCensus(accepted: accepted, byState: [.delivered: 10, .waiting: accepted - 10]))
        // To forget needs no room, and makes some.
        #expect(outcome(store, settled.map { .forget(NotificationSequence($0)) }) == nil)
        #expect(outcome(store, next()) == nil)
        // Room again, and it goes on as if nothing had been.
        try limit(store, pages: 1_000_000)
        #expect(outcome(store, [.insert(notification(number + 1, bytes: 300_000))]) == nil)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
        try store.close()
        let reopened = try SQLiteStore(path: directory.file())
        #expect(try reopened.census().accepted == accepted + 2)
        #expect(try reopened.recover().unsettled.count == accepted - 10 + 2)
        try reopened.close()
    }

    /// The database may grow to that many pages, as on a disk of that size.
    private func limit(_ store: SQLiteStore, pages: Int) throws {
        try store.writing { db in try db.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    @Test func aLockThatIsNotFreeInTimeIsBusyAndNothingElse() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file(), configuration: .init(busyTimeoutSeconds: 0))
        try store.commit([.insert(notification(1))])
        let other = try DatabaseQueue(path: directory.file())
        try other.inDatabase { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            #expect(outcome(store, [.insert(notification(2))]) == .busy)
            #expect(try store.recover().unsettled.count == 1, "reading goes on")
            try db.execute(sql: "ROLLBACK")
        }
        try other.close()
        #expect(outcome(store, [.insert(notification(2))]) == nil)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }
}
