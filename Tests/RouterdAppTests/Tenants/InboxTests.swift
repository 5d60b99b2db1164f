import Glibc
import Router
import RouterPlugin
import Testing

@testable import RouterdApp

@Suite("Inbox") struct InboxTests {
    private static let a = ApplicationID(unchecked: "com.example.A")
    private static let b = ApplicationID(unchecked: "com.example.B")

    /// Commands of a session; the session's name says which entry they are of. Without an application they belong to no tenant.
    private static func entry(
        _ name: String, of application: ApplicationID?, _ count: Int = 1, isAnswered: Bool = true
    ) -> Inbox.Entry {
        let command =
            application.map {
                Command.refreshSession(SessionKey(application: $0, session: SessionID(unchecked: name)))
            } ?? .cancel(NotificationID(unchecked: name))
        let commands = Array(repeating: command, count: count)
        if isAnswered { return Inbox.Entry(commands: commands) { _ in } }
        return Inbox.Entry(commands: commands, answer: nil)
    }

    private static func names(_ entries: [Inbox.Entry]) -> [String] {
        entries.map {
            switch $0.commands.first {
            case .refreshSession(let key): key.session.text
            case .cancel(let id): id.text
            default: ""
            }
        }
    }

    /// An inbox with these entries, all of which it has room for.
    private static func inbox(_ entries: [Inbox.Entry], limit: Int = 10_000) -> Inbox {
        let inbox = Inbox(limit: limit)
        for (number, entry) in entries.enumerated() {
            #expect(inbox.offer(entry) == (number == 0 ? .takenWakeOwner : .taken))
        }
        return inbox
    }

    @Test("A tenant's command goes into the next round, however many another tenant has waiting")
    func nextRound() {
        let inbox = Self.inbox(
            (0..<20).map { Self.entry("a\($0)", of: Self.a, 128) } + [Self.entry("b", of: Self.b)])
        #expect(Self.names(inbox.take(commands: 256, shared: 128)) == ["a0", "b"])
        // One tenant alone has the whole round.
        #expect(Self.names(inbox.take(commands: 256, shared: 128)) == ["a1", "a2"])
    }

    @Test("Tenants with many commands have equal parts, whether each comes alone or all of them come in batches")
    func equalParts() {
        let inbox = Self.inbox(
            (0..<10).map { _ in Self.entry("a", of: Self.a, 128) } + (0..<1280).map { _ in Self.entry("b", of: Self.b) }
        )
        var counts: [String: Int] = [:]
        for _ in 0..<8 {
            for entry in inbox.take(commands: 256, shared: 128) {
                counts[Self.names([entry])[0], default: 0] += entry.commands.count
            }
        }
        #expect(abs(counts["a", default: 0] - counts["b", default: 0]) <= 128, "\(counts)")
        #expect(counts["a", default: 0] >= 384)
    }

    @Test("The commands of a tenant, and those of none, stay in their order")
    func order() {
        let inbox = Self.inbox(
            (0..<300).flatMap { number in
                [Self.entry("a\(number)", of: Self.a), Self.entry("n\(number)", of: nil, isAnswered: false)]
            })
        var taken: [String] = []
        while taken.count < 600 { taken += Self.names(inbox.take(commands: 50, shared: 50)) }
        #expect(taken.filter { $0.hasPrefix("a") } == (0..<300).map { "a\($0)" })
        #expect(taken.filter { $0.hasPrefix("n") } == (0..<300).map { "n\($0)" })
        #expect(inbox.take(commands: 50, shared: 50).isEmpty)
        #expect(inbox.offer(Self.entry("a", of: Self.a)) == .takenWakeOwner)
    }

    @Test("A heavy command takes as much of its tenant's turns as its work is worth")
    func weights() {
        let request = AcceptRequest(
            application: Self.a, source: PluginID(unchecked: "test"), device: nil,
            notification: IncomingNotification(contentID: nil, payload: []))
        let many = Inbox.Entry(commands: [.acceptAll(Array(repeating: request, count: 100))]) { _ in }
        let inbox = Self.inbox([many, many] + (0..<200).map { _ in Self.entry("b", of: Self.b) })
        let taken = Self.names(inbox.take(commands: 256, shared: 128))
        #expect(taken.count { $0 == "" } == 1 && taken.count { $0 == "b" } == 32)
        // Three more turns pay for the first one.
        let second = Self.names(inbox.take(commands: 256, shared: 128))
        #expect(second.count { $0 == "" } == 1 && second.count { $0 == "b" } == 64)
    }

    @Test("Work in the background runs at a lower priority than its callers")
    func priorities() async throws {
        let niceness: @Sendable () -> Int32 = { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
        let own = niceness()
        #expect(try await BackgroundThreads(1).perform(niceness) == 10)
        #expect(own < 10 && niceness() == own)
    }

    @Test("A full inbox has room for a tenant with less than its share, and for work that no client waits for")
    func room() {
        let inbox = Self.inbox((0..<10).map { Self.entry("a\($0)", of: Self.a, 10) }, limit: 100)
        #expect(inbox.offer(Self.entry("a", of: Self.a)) == .full)
        #expect(inbox.offer(Self.entry("a", of: Self.a), isAdmitted: true) == .taken)
        #expect(inbox.offer(Self.entry("outcome", of: nil, isAnswered: false)) == .taken)
        // Two tenants and the line of operators share the limit.
        #expect(inbox.offer(Self.entry("b", of: Self.b, 33)) == .taken)
        #expect(inbox.offer(Self.entry("b", of: Self.b)) == .full)
        for (name, share) in [("C", 25), ("D", 20), ("E", 16)] {
            #expect(inbox.offer(Self.entry("c", of: ApplicationID(unchecked: name), share)) == .taken)
        }
        // A seventh line would have 14 of 100, and 196 of 200 are taken.
        #expect(inbox.offer(Self.entry("f", of: ApplicationID(unchecked: "F"), 14)) == .full)
        _ = inbox.take(commands: .max, shared: .max)
        // An empty inbox has room for any entry.
        #expect(inbox.take(commands: 1, shared: 1).isEmpty)
        #expect(inbox.offer(Self.entry("b", of: Self.b, 1000)) == .takenWakeOwner)
    }
}
