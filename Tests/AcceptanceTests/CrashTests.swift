import Glibc
import HTTPTypes
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting

/// Kills the daemon under load, again and again: every notification that it has answered 202 is delivered, in order.
@Suite("kill -9", .longest)
struct CrashTests {
    /// The senders' record of their requests.
    private final class Book: Sendable {
        struct Entry: Sendable {
            let id: String
            let content: String
        }

        private let entries = Mutex<[Entry]>([])
        let accepted = Tally()

        func note(_ entry: Entry) {
            entries.withLock { $0.append(entry) }
            accepted.add()
        }

        var all: [Entry] { entries.withLock { $0 } }
    }

    private static let sessions = 3
    private static let connections = 6
    private static let kills = 4

    @Test func nothingThatWasAcceptedIsLost() async throws {
        let seed = TestSeed.next()
        let told: Comment = "ROUTERD_TEST_SEED=\(seed)"
        var generator = SplitMix64(seed: seed)
        let directory = try TemporaryDirectory()
        let book = Book()
        try await withReceiver { receiver in
            let url = receiver.url()
            for kill in 0..<Self.kills {
                let (program, port) = try await ServedDaemon.start(database: directory.file())
                if kill == 0 { try await Self.register(program, port, url) }
                let target = book.accepted.count + Int.random(in: 5...60, using: &generator)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for connection in 0..<Self.connections {
                        group.addTask { await Self.send(connection, round: kill, program, port, book) }
                    }
                    try await book.accepted.reached(target)
                    program.send(SIGKILL)
                    try await group.waitForAll()
                }
                #expect(try await program.ended().status == -SIGKILL, told)
            }
            let (program, port) = try await ServedDaemon.start(database: directory.file())
            let lists = try await ServedDaemon.connected(to: program, port: port) { daemon in
                try await Self.whenSettled(daemon)
            }
            program.send(SIGTERM)
            #expect(try await program.ended().status == 0, told)
            Self.check(lists, book, receiver.all, told)
        }
    }

    private static func register(_ program: Program, _ port: Int, _ url: String) async throws {
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            try await daemon.putGallery("{}")
            for session in 0..<sessions {
                try await daemon.putSession("s\(session)", at: url, conditions(can: "SELF BEGINSWITH 's\(session)/'"))
            }
        }
    }

    /// Posts one after another until the daemon is gone.
    private static func send(_ connection: Int, round: Int, _ program: Program, _ port: Int, _ book: Book) async {
        try? await ServedDaemon.connected(to: program, port: port) { daemon in
            for number in 0..<10_000 {
                let content = "s\(connection % sessions)/c\(connection)/\(round * 10_000 + number)"
                let answer = try await daemon.post(about: content)
                guard answer.status == 202 else { continue }
                book.note(Book.Entry(id: answer.id, content: content))
            }
        }
    }

    /// The contents of each session in the order of acceptance, when nothing waits any more.
    private static func whenSettled(_ daemon: ServedDaemon) async throws -> [[Book.Entry]] {
        try await daemon.until {
            let waiting = try await daemon.call(.get, "/v1/notifications?state=waiting&limit=1")
            let inFlight = try await daemon.call(.get, "/v1/notifications?state=inFlight&limit=1")
            return waiting.ids("notifications").isEmpty && waiting["cursor"] == .null
                && inFlight.ids("notifications").isEmpty && inFlight["cursor"] == .null
        }
        var lists: [[Book.Entry]] = []
        for session in 0..<sessions {
            var entries: [Book.Entry] = []
            var cursor = ""
            repeat {
                let page = try await daemon.call(
                    .get, "/v1/notifications?session=s\(session)&state=delivered&limit=1000\(cursor)")
                for entry in page["notifications"].asArray ?? [] {
                    entries.append(
                        Book.Entry(
                            id: entry["id"]?.asString ?? "",
                            content: entry["targetContentIdentifier"]?.asString ?? ""))
                }
                cursor = page["cursor"].asString.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            lists.append(entries.reversed())
        }
        return lists
    }

    private static func check(
        _ lists: [[Book.Entry]], _ book: Book, _ webhooks: [Receiver.Webhook], _ told: Comment
    ) {
        // Every notification that was answered 202 is delivered, and the receiver has seen it.
        let delivered = Set(lists.joined().map(\.id))
        let seen = Set(webhooks.map(\.id))
        for entry in book.all {
            #expect(delivered.contains(entry.id), told)
            #expect(seen.contains("dlv_" + entry.id.dropFirst(4)), told)
        }
        #expect(Set(lists.joined().map(\.content)).count == lists.joined().count, told)
        #expect(webhooks.allSatisfy { $0.isVerified }, told)
        for (session, list) in lists.enumerated() {
            var first: [String] = []
            var known: Set<String> = []
            for webhook in webhooks where webhook.contentID?.hasPrefix("s\(session)/") == true {
                if known.insert(webhook.id).inserted { first.append(webhook.contentID ?? "") }
            }
            #expect(first == list.map(\.content), told)
            // A connection waits for each answer, so its own order is the order of acceptance.
            for connection in 0..<connections {
                let own = list.map(\.content).filter { $0.hasPrefix("s\(session)/c\(connection)/") }
                let numbers = own.compactMap { $0.split(separator: "/").last.flatMap { Int($0) } }
                #expect(numbers == numbers.sorted(), told)
            }
        }
        // Only attempts under way at a kill may come twice: one a lane.
        let again = webhooks.count - seen.count
        #expect(again <= kills * sessions, "\(again) repeated; \(told.rawValue)")
    }
}
