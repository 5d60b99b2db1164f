import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// The bytes that a notification of 1 KiB adds to the log, from its acceptance to its delivery.
///
/// Counts, not times: the same on every machine. `make measure-log` runs a longer history and prints the bytes of each table
/// and index.
@Suite("Log volume")
struct LogVolumeTests {
    private static let isLong = ProcessInfo.processInfo.environment["ROUTERD_LOG_PROFILE"] != nil

    /// Fifteen notifications share a transaction of a daemon under load, and a batch of the API has up to 64 and more.
    @Test(
        "a notification of 1 KiB adds less than 8 KB to the log",
        arguments: isLong ? [(15, 8000), (64, 4500)] : [(15, 8000)])
    func aNotificationAddsLittle(batch: Int, bound: Int) throws {
        let directory = try TemporaryDirectory()
        let settings = SQLiteStoreConfiguration(
            durability: .normal, walAutocheckpointPages: 8_000_000)
        var store = try SQLiteStore(path: directory.file(), configuration: settings)
        var load = LogLoad()
        // Enough history for random places in an index to be places in different pages.
        try load.run(on: store, Self.isLong ? 100_000 : 15_000, batch: 500)
        // With an empty log.
        try store.close()
        store = try SQLiteStore(path: directory.file(), configuration: settings)
        let count = Self.isLong ? 32_768 : 3000
        try load.run(on: store, count, batch: batch)
        let log = try LogFile(directory.contents("routerd.sqlite-wal"))
        let each = log.bytes / count
        #expect(each < bound)
        if Self.isLong { print(try log.profile(store, each: count, batch: batch)) }
    }
}

/// Notifications as a busy application sends them: 64 sessions, many contents, a key each, delivered at the first attempt.
private struct LogLoad {
    private var generator = SeededGenerator(seed: 27)
    private var last: Int64 = 0
    private let payload = MessagePayload.json([UInt8](repeating: 0x61, count: 1024))

    /// A transaction accepts a batch and settles the one before it.
    mutating func run(on store: SQLiteStore, _ count: Int, batch: Int) throws {
        var open: [NewNotification] = []
        for start in stride(from: 0, to: count, by: batch) {
            let accepted = (start..<min(start + batch, count)).map { _ in notification() }
            try store.commit(accepted.map { .insert($0) } + settlements(open))
            open = accepted
        }
        try store.commit(settlements(open))
    }

    private mutating func notification() -> NewNotification {
        last += 1
        let now = Timestamp(milliseconds: 1_767_225_600_000 + last * 2)
        let header = NotificationHeader(
            sequence: NotificationSequence(last), id: Identity.notification(at: now, using: &generator),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            contentID: ContentID(unchecked: "gallery://photo/\(Int.random(in: 0..<100_000, using: &generator))"),
            receivedAt: now)
        let session = SessionID(unchecked: "session-\(Int.random(in: 0..<64, using: &generator))")
        return NewNotification(
            header, source: PluginID(unchecked: "routerd.source.push"),
            dedupeKeys: [Identity.ulid(at: now, using: &generator) + "-" + String(generator.next(), radix: 16)],
            payload: payload,
            decision: Decision(
                tier: .can, session: session, reason: "can: SELF BEGINSWITH \"gallery://photo/\"",
                registryVersion: 12_345),
            placement: .lane)
    }

    private func settlements(_ open: [NewNotification]) -> [StoreChange] {
        open.flatMap { notification -> [StoreChange] in
            var metrics = TransferMetrics()
            (metrics.total, metrics.remoteAddress, metrics.httpVersion) = (1000, "127.0.0.1:8080", "1.1")
            let attempt = AttemptRecord(
                sequence: notification.sequence, number: 1,
                session: notification.decision.session ?? SessionID(unchecked: ""),
                startedAt: notification.receivedAt, status: 204, failure: nil, retryAfterSeconds: nil,
                metrics: metrics, responseExcerpt: [])
            return [
                .recordAttempt(attempt),
                .settle(notification.sequence, .delivered, at: notification.receivedAt.advanced(byMilliseconds: 50)),
            ]
        }
    }
}

/// The pages in a write-ahead log. See "The WAL File Format" in SQLite's documentation.
private struct LogFile {
    private(set) var pages: [Int: Int] = [:]
    private var frameBytes = 0
    var bytes: Int { pages.values.reduce(0, +) * frameBytes }

    init(_ data: Data) throws {
        func word(_ offset: Int) -> Int { data[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        frameBytes = 24 + word(8)
        let salt = data[16..<24]
        for start in stride(from: 32, through: data.count - frameBytes, by: frameBytes)
        where data[start + 8..<start + 16].elementsEqual(salt) {
            pages[word(start), default: 0] += 1
        }
    }

    /// Bytes of each table and index for one notification.
    func profile(_ store: SQLiteStore, each count: Int, batch: Int) throws -> String {
        let rows = try store.reading { db in try Row.fetchAll(db, sql: "SELECT name, pageno FROM dbstat") }
        var owners: [String: Int] = [:]
        for row in rows { owners[row["name"], default: 0] += pages[row["pageno"]] ?? 0 }
        let lines = owners.filter { $0.value > 0 }.sorted { $0.value > $1.value }
            .map { "  \($0.key): \($0.value * frameBytes / count)" }
        return "bytes of log a notification, \(batch) a transaction: \(bytes / count)\n"
            + lines.joined(separator: "\n")
    }
}
