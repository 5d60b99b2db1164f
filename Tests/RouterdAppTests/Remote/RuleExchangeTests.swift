import HTTPTypes
import Router
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Rules in processes and behind URLs take the place of others whole, or not at all.
@Suite("RuleDesk: exchange", .longest)
struct RuleExchangeTests {
    /// A rule that vetoes each session, and keeps its answers back while the test wants it.
    private final class Script: RuleTransport {
        private struct State {
            var isHolding = false
            var isStopped = false
            var asked = 0
            var kept: [@Sendable () -> Void] = []
        }

        let reason: String
        private let failure: RuleFailure?
        private let state = Mutex(State())
        private let arrivals = AsyncStream.makeStream(of: Void.self)

        init(_ reason: String, failure: RuleFailure? = nil) { (self.reason, self.failure) = (reason, failure) }

        var asked: Int { state.withLock(\.asked) }
        var isStopped: Bool { state.withLock(\.isStopped) }

        func hold() { state.withLock { $0.isHolding = true } }

        func release() {
            let kept = state.withLock { state in
                defer { (state.isHolding, state.kept) = (false, []) }
                return state.kept
            }
            for answer in kept { answer() }
        }

        func arrived() async { for await _ in arrivals.stream { return } }

        func ask(
            _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
            completion: @escaping @Sendable (RuleAnswer) -> Void
        ) {
            let verdicts = candidates.map { ($0.session, RoutingVerdict.veto(reason: reason)) }
            let answer = RuleAnswer.verdicts(Dictionary(uniqueKeysWithValues: verdicts))
            let isKept = state.withLock { state in
                state.asked += 1
                if state.isHolding { state.kept.append { completion(answer) } }
                return state.isHolding
            }
            if !isKept { completion(answer) }
            arrivals.continuation.yield()
        }

        func status() async -> RemoteRuleStatus { RemoteRuleStatus(rung: "script", state: "ready") }
        func refused(_ failure: RuleFailure) {}
        func enable() async {}
        func start() async {}
        func prepare() async -> RuleFailure? { failure }
        func stop() async { state.withLock { $0.isStopped = true } }
    }

    private static let plugin = PluginID(unchecked: "com.example.rule.x")

    private static func rule(_ url: String) -> RemoteRule {
        RemoteRule(id: plugin, transport: .callOut(CallOutSettings(url: url)))
    }

    private static func document(_ url: String) -> String {
        "rules: [{id: routerd.rule.http, plugin: com.example.rule.x, url: '\(url)'}]"
    }

    /// Runs a daemon whose rule is the first script; a rule of another URL is the second one.
    private func withScripts(
        _ first: Script, _ second: Script, _ body: @escaping @Sendable (TestDaemon, RuleDesk) async throws -> Void
    ) async throws {
        let rule = Self.rule("http://127.0.0.1:9/first")
        let desk = RuleDesk([RuleDesk.Member(rule, first)]) { _ in second }
        try await withDaemon(.init(rules: [rule], desk: desk)) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: "http://127.0.0.1:9/hook")
            try await body(daemon, desk)
        }
    }

    private func decision(_ answer: Answer, _ daemon: TestDaemon) async throws -> [JSONValue?] {
        let stored = try await daemon.notification(answer.id)
        return [
            stored["decision", "rulesVersion"], stored["decision", "vetoes"].asArray?.first?["reason"],
        ]
    }

    /// A question under way is finished by the old rule, and its notification decided under the old version, whatever comes
    /// meanwhile; the next one waits, and is decided under the new one.
    @Test func aNotificationIsDecidedUnderOneVersion() async throws {
        let (old, new) = (Script("old"), Script("new"))
        try await withScripts(old, new) { daemon, desk in
            old.hold()
            async let first = daemon.post(about: "photo/1")
            await old.arrived()
            async let put = daemon.call(.put, "/v1/rules", Self.document("http://127.0.0.1:9/second"))
            while await !desk.isExchanging { await Task.yield() }
            async let second = daemon.post(about: "photo/2")
            // An application without a rule would not wait; this question is asked at the end of the exchange alone.
            #expect(new.asked == 0 && !old.isStopped)
            old.release()
            let (used, one, two) = (try await put, try await first, try await second)
            #expect(used["version"] == 1)
            let decisions = [try await decision(one, daemon), try await decision(two, daemon)]
            #expect(decisions == [[0, "old"], [1, "new"]])
            #expect(old.asked == 1 && new.asked == 1)
            #expect(old.isStopped && !new.isStopped)
        }
    }

    /// The version of each decision is that of the rules which were asked, however changes and notifications meet.
    @Test func noDecisionMixesTwoVersions() async throws {
        let rules = [Self.rule("http://127.0.0.1:9/0"), Self.rule("http://127.0.0.1:9/1")]
        let desk = RuleDesk([RuleDesk.Member(rules[0], Script("0"))]) { rule in
            Script(rule == rules[0] ? "0" : "1")
        }
        try await withDaemon(.init(rules: [rules[0]], desk: desk)) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: "http://127.0.0.1:9/hook")
            try await withThrowingTaskGroup(of: [Answer].self) { group in
                for task in 0..<4 {
                    group.addTask {
                        var answers: [Answer] = []
                        for number in 0..<25 { answers.append(try await daemon.post(about: "photo/\(task)-\(number)")) }
                        return answers
                    }
                }
                for version in 1...10 {
                    let answer = try await daemon.call(
                        .put, "/v1/rules", Self.document("http://127.0.0.1:9/\(version % 2)"))
                    #expect(answer["version"].asInt64 == Int64(version), "\(answer.text)")
                }
                for try await answers in group {
                    for answer in answers {
                        let found = try await decision(answer, daemon)
                        let version = try #require(found[0]?.asInt64)
                        #expect(found[1] == .string("\(version % 2)"))
                    }
                }
            }
        }
    }

    @Test func aRuleThatIsNotReadyChangesNothing() async throws {
        let (old, new) = (Script("old"), Script("new", failure: RuleFailure(.ended, because: "exit status 1")))
        try await withScripts(old, new) { daemon, desk in
            let refused = try await daemon.call(.put, "/v1/rules", Self.document("http://127.0.0.1:9/second"))
            expectProblem(refused, 409, "plugin-not-ready")
            #expect(refused["detail"].asString?.contains("\(Self.plugin) is not ready: ended: exit status 1") == true)
            let found = try await decision(try await daemon.post(about: "photo/1"), daemon)
            #expect(found == [0, "old"])
            #expect(new.isStopped && !old.isStopped && new.asked == 0)
            #expect(desk.members.map(\.rule) == [Self.rule("http://127.0.0.1:9/first")])
        }
    }

    /// A rule that stays keeps its processes, and one that goes is stopped.
    @Test func aRuleThatStaysIsNotStartedAgain() async throws {
        let (old, new) = (Script("old"), Script("new"))
        try await withScripts(old, new) { daemon, _ in
            let document = Self.document("http://127.0.0.1:9/first").replacing(
                "rules: [", with: "rules: [{name: x, then: veto}, ")
            let used = try await daemon.call(.put, "/v1/rules", document)
            #expect(used["version"] == 1)
            #expect(!old.isStopped && !new.isStopped)
            let emptied = try await daemon.call(.put, "/v1/rules", "rules: []")
            #expect(emptied["version"] == 2)
            #expect(old.isStopped)
            let posted = try await daemon.post(about: "photo/1")
            #expect(posted["decision", "session"] == "A")
        }
    }
}
