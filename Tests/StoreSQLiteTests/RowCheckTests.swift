import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// Rows that are not as they were written.
@Suite("Row checksums")
struct RowCheckTests {
    @Test("a checked table has all of its columns in its sum, in their order")
    func columns() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.reading { db in
            for table in CheckedTable.all {
                // Open work of the file is no fact of a row.
                let names = try db.columns(in: table.name).map(\.name).filter {
                    $0 != CheckedTable.column && $0 != "rewrite_pending"
                }
                #expect(names == table.columns, "\(table.name)")
            }
        }
    }

    /// Every column of every table, changed behind the store's back.
    @Test("a value that was changed is found, and its row is named", arguments: CheckedTable.all.indices)
    func changedValues(_ number: Int) throws {
        let directory = try TemporaryDirectory()
        let table = CheckedTable.all[number]
        try SQLiteStore(path: directory.file()).close()
        let queue = try DatabaseQueue(path: directory.file())
        defer { try? queue.close() }
        try queue.write { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try MigrationWalkTests.fill(db)
            try db.execute(sql: "DROP TRIGGER attempt_is_never_changed")
            try CheckedTable.attempt.sumAgain(db)
        }
        for column in table.columns {
            for value in ["17", "'other'", "X'0102'", "NULL"] {
                try queue.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                    try db.inTransaction {
                        do {
                            try db.execute(
                                sql: """
                                    UPDATE \(table.name) SET \(column) = \(value) WHERE \(column) IS NOT \(value)
                                    """)
                        } catch {
                            // Of another type, or of a column that has to have a value.
                            return .rollback
                        }
                        guard db.changesCount > 0 else { return .rollback }
                        let found = try String.fetchAll(db, sql: table.damaged)
                        // A value of NULL in a key has no words.
                        #expect(found.count == 1 || table.key.contains(column), "\(table.name).\(column) = \(value)")
                        return .rollback
                    }
                }
            }
        }
    }

    @Test("a start refuses a damaged row and names it; the check lists all")
    func startRefuses() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit((1...Int64(5)).map { .insert(notification($0)) })
        try store.close()
        let queue = try DatabaseQueue(path: directory.file())
        try queue.write { db in
            try db.execute(sql: "UPDATE notification SET not_before = 5 WHERE sequence IN (2, 4)")
        }
        try queue.close()
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()).recover() }
        #expect(error?.code == .corrupt)
        #expect(error?.message.contains("the row of notification with sequence 2 is not as it was written") == true)
        #expect(error?.message.contains("routerd database check") == true)
        let check = try DatabaseFile(path: directory.file()).check()
        let damaged = check.faults.filter { $0.code == "row-damaged" }.map(\.detail)
        #expect(damaged.count == 2 && damaged.last?.contains("sequence 4") == true)
    }

    @Test("a damaged payload is not delivered")
    func payload() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1)), .insert(notification(2))])
        try store.writing { db in try db.execute(sql: "UPDATE payload SET body = X'7B7D' WHERE sequence = 1") }
        let error = #expect(throws: StoreError.self) { try store.payload(of: NotificationSequence(1)) }
        #expect(error?.code == .corrupt && error?.message.contains("payload of notification") == true)
        #expect(try store.payload(of: NotificationSequence(2)) != nil)
    }

    /// Sixteen bytes anywhere in the file. If neither the check nor the start finds them, every read is as before.
    @Test("flipped bytes are found, or change nothing that is read", arguments: 0..<24)
    func flippedBytes(_ seed: Int) throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit((1...Int64(120)).map { .insert(notification($0, bytes: 700, keys: ["key \($0)"])) })
        try store.commit(
            (1...Int64(60)).map { .settle(NotificationSequence($0), .delivered, at: Timestamp(milliseconds: $0)) })
        let before = try Self.contents(store)
        try store.close()
        #expect(try DatabaseFile(path: directory.file()).check().isSound)
        var bytes = try directory.contents()
        var generator = SeededGenerator(seed: UInt64(seed))
        // Behind the header of the file and the schema, which SQLite checks.
        let start = Int.random(in: 4096..<bytes.count - 16, using: &generator)
        for offset in start..<start + 16 { bytes[offset] ^= UInt8.random(in: 1...255, using: &generator) }
        try bytes.write(to: URL(fileURLWithPath: directory.file()))
        guard try DatabaseFile(path: directory.file()).check().isSound else { return }
        let after = Result { try Self.contents(SQLiteStore(path: directory.file())) }
        #expect((try? after.get()) == before, "bytes \(start) to \(start + 16)")
    }

    private static func contents(_ store: SQLiteStore) throws -> [StoredNotification] {
        _ = try store.recover()
        return try store.notifications(matching: NotificationFilter(), limit: 1000).map { notification in
            try #require(try store.notification(notification.id))
        }
    }
}
