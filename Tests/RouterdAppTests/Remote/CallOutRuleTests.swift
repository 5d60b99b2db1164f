import Router
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import RouterdApp

/// The rule behind a URL: questions on their way, answers that are used again, and faults.
@Suite("CallOutRule", .longest)
struct CallOutRuleTests {
    /// A server whose answers the test gives.
    private final class Server: Transport {
        private typealias Request = (WebhookRequest, @Sendable (TransferResult) -> Void)
        private let requests = Mutex<[Request]>([])
        private let arrivals = AsyncStream.makeStream(of: Void.self)

        var waiting: Int { requests.withLock { $0.count } }

        func start(_ request: WebhookRequest, completion: @escaping @Sendable (TransferResult) -> Void) {
            requests.withLock { $0.append((request, completion)) }
            arrivals.continuation.yield()
        }

        /// Waits for that many more requests.
        func arrived(_ count: Int) async {
            var left = count
            for await _ in arrivals.stream {
                left -= 1
                if left == 0 { return }
            }
        }

        /// Answers the oldest request.
        func answer(_ make: (JSONValue) -> TransferResult.Outcome) {
            guard
                let (request, completion) = requests.withLock({ list -> Request? in
                    list.isEmpty ? nil : list.removeFirst()
                })
            else { return }
            completion(TransferResult(outcome: make((try? JSONValue(parsing: request.body)) ?? .null)))
        }

        static func verdicts(_ verdict: String) -> (JSONValue) -> TransferResult.Outcome {
            { question in
                let id = question["id"]?.asInt64 ?? 0
                let list = (question["candidates"]?.asArray ?? []).map { candidate in
                    #"{"session":"\#(candidate["session"]?.asString ?? "")","verdict":"\#(verdict)","reason":"r"}"#
                }
                let body = #"{"type":"verdicts","id":\#(id),"verdicts":[\#(list.joined(separator: ","))]}"#
                return .response(ReceivedResponse(status: 200, body: Array(body.utf8)))
            }
        }
    }

    private func rule(_ server: Server, cacheBy: [CallOutSettings.CacheKeyPart] = [], quarantineAfter: Int = 10)
        -> CallOutRule
    {
        var settings = CallOutSettings(url: "http://a/rule")
        settings.cacheBy = cacheBy
        let rule = RemoteRule(
            id: PluginID(unchecked: "com.example.rule.x"), transport: .callOut(settings), timeoutMilliseconds: 30_000,
            quarantineAfter: quarantineAfter)
        return CallOutRule(rule, settings, transport: server, clock: SteadyClock())
    }

    private func ask(_ rule: CallOutRule, _ application: String = "a", _ sessions: String...) async -> RuleAnswer {
        let view = NotificationView(
            application: ApplicationID(unchecked: application), device: nil, contentID: ContentID(unchecked: "x"),
            priority: .high, payload: Array("{}".utf8))
        let candidates = (sessions.isEmpty ? ["s"] : sessions).map { Candidate.named($0) }
        return await withCheckedContinuation { continuation in
            rule.ask(view, candidates, at: Timestamp(milliseconds: 0)) { continuation.resume(returning: $0) }
        }
    }

    @Test func theAnswerCoversEveryCandidate() async {
        let server = Server()
        let rule = rule(server)
        async let answer = ask(rule, "a", "s", "t")
        await server.arrived(1)
        server.answer { question in
            let id = question["id"]?.asInt64 ?? 0
            let body = #"{"type":"verdicts","id":\#(id),"verdicts":[{"session":"t","verdict":"veto","reason":"r"}]}"#
            return .response(ReceivedResponse(status: 200, body: Array(body.utf8)))
        }
        #expect(
            await answer
                == .verdicts([Candidate.named("s").session: .accept, Candidate.named("t").session: .veto(reason: "r")]))
        #expect(await rule.status().calls == 1)
    }

    @Test func aKeptAnswerAsksNothing() async {
        let server = Server()
        let rule = rule(server, cacheBy: [.contentId])
        async let first = ask(rule)
        await server.arrived(1)
        server.answer(Server.verdicts("veto"))
        let kept = await first
        #expect(await ask(rule) == kept)
        let status = await rule.status()
        #expect(status.calls == 1 && status.cacheHits == 1)
        // Another application asks, although the content is the same.
        async let other = ask(rule, "b")
        await server.arrived(1)
        server.answer(Server.verdicts("accept"))
        #expect(await other != kept)
    }

    @Test func noMoreQuestionsAreOnTheirWayThanTheLimit() async {
        let server = Server()
        let rule = rule(server)
        let limit = DaemonLimits.callOutsUnderWay
        await withTaskGroup(of: RuleAnswer.self) { group in
            for _ in 0..<limit + 10 { group.addTask { await ask(rule) } }
            await server.arrived(limit)
            #expect(server.waiting == limit)
            for _ in 0..<10 {
                server.answer(Server.verdicts("accept"))
                await server.arrived(1)
                #expect(server.waiting <= limit)
            }
            while server.waiting > 0 { server.answer(Server.verdicts("accept")) }
            for await answer in group { #expect(answer == .verdicts([Candidate.named("s").session: .accept])) }
        }
    }

    /// Questions that fail together are one fault, and no quarantine.
    @Test func aPauseOfTheServerIsOneFault() async {
        let server = Server()
        let rule = rule(server, quarantineAfter: 5)
        await withTaskGroup(of: RuleAnswer.self) { group in
            for _ in 0..<20 { group.addTask { await ask(rule) } }
            await server.arrived(20)
            while server.waiting > 0 { server.answer { _ in .failure(TransferFailure(kind: .timedOut, message: "x")) } }
            for await answer in group { #expect(answer == .fault(.late)) }
        }
        #expect(await rule.status().state != "quarantined")
        #expect(await rule.status().faults[.late] == 20)
    }

    @Test(arguments: [
        (TransferResult.Outcome.response(ReceivedResponse(status: 500, body: [])), RuleFault.unreachable),
        (.response(ReceivedResponse(status: 302, body: [])), .unreachable),
        (.response(ReceivedResponse(status: 200, body: Array("{}".utf8))), .malformed),
        (
            .response(ReceivedResponse(status: 200, body: Array(#"{"type":"verdicts","id":99,"verdicts":[]}"#.utf8))),
            .malformed
        ),
        (.response(ReceivedResponse(status: 200, body: [], bodyTruncated: true)), .tooLarge),
        (.failure(TransferFailure(kind: .connectFailed, message: "x")), .unreachable),
        (.failure(TransferFailure(kind: .egressRefused, message: "x")), .unreachable),
    ])
    func aBadAnswerIsAFault(outcome: TransferResult.Outcome, fault: RuleFault) async {
        let server = Server()
        let rule = rule(server)
        async let answer = ask(rule)
        await server.arrived(1)
        server.answer { _ in outcome }
        #expect(await answer == .fault(fault))
        let status = await rule.status()
        #expect(status.faults == [fault: 1] && status.lastFault?.0.fault == fault)
    }

    @Test(arguments: [
        (TransferResult.Outcome.response(ReceivedResponse(status: 503, body: [])), "status 503"),
        (.failure(TransferFailure(kind: .egressRefused, message: "10.0.0.1")), "egress-refused: 10.0.0.1"),
    ])
    func aFaultHasItsCause(outcome: TransferResult.Outcome, cause: String) async {
        let server = Server()
        let rule = rule(server, quarantineAfter: 1)
        async let answer = ask(rule)
        await server.arrived(1)
        server.answer { _ in outcome }
        _ = await answer
        // A question in quarantine is counted, and hides nothing.
        #expect(await ask(rule) == .fault(.quarantined))
        let status = await rule.status()
        #expect(status.lastFault?.0 == RuleFailure(.unreachable, because: cause))
        #expect(status.calls == 1 && status.faults == [.unreachable: 1, .quarantined: 1])
    }

    @Test(arguments: [
        (#"{"session":"t","verdict":"veto","reason":"r"}"#, "session: t is none that was asked about"),
        (
            #"{"session":"s","verdict":"hold","until":"1969-12-31T23:59:59Z","reason":"r"}"#,
            "until: the hold of s is over at the time of the question"
        ),
        (
            #"{"session":"s","verdict":"hold","until":"1971-01-02T00:00:01Z","reason":"r"}"#,
            "until: the hold of s is longer than 366 days"
        ),
        (#"{"session":"s","verdict":"veto","reason":"r","untill":"x"}"#, "verdicts[0].untill: there is no such member"),
    ])
    func aVerdictThatMeansNothingIsAFault(verdict: String, cause: String) async {
        let server = Server()
        let rule = rule(server)
        async let answer = ask(rule)
        await server.arrived(1)
        server.answer { question in
            let body = #"{"type":"verdicts","id":\#(question["id"]?.asInt64 ?? 0),"verdicts":[\#(verdict)]}"#
            return .response(ReceivedResponse(status: 200, body: Array(body.utf8)))
        }
        #expect(await answer == .fault(.malformed))
        #expect(await rule.status().lastFault?.0 == RuleFailure(.malformed, because: cause))
    }

    @Test func aHoldMayLastAsLongAsTheBound() async {
        let server = Server()
        let rule = rule(server)
        async let answer = ask(rule)
        await server.arrived(1)
        server.answer { question in
            let verdict = #"{"session":"s","verdict":"hold","until":"1971-01-02T00:00:00Z","reason":"r"}"#
            let body = #"{"type":"verdicts","id":\#(question["id"]?.asInt64 ?? 0),"verdicts":[\#(verdict)]}"#
            return .response(ReceivedResponse(status: 200, body: Array(body.utf8)))
        }
        let end = Timestamp(milliseconds: RouterLimits.holdMilliseconds)
        #expect(await answer == .verdicts([Candidate.named("s").session: .hold(until: end, reason: "r")]))
    }

    /// The answer keeps the protocol, so that the server stays in use.
    @Test func anAnswerThatCannotBeUsedIsTheLastFault() async {
        let rule = rule(Server(), quarantineAfter: 1)
        let failure = RuleFailure(.malformed, because: "to: s is redirected to t, and there is no such session")
        rule.refused(failure)
        let status = await rule.status()
        #expect(status.lastFault?.0 == failure && status.faults == [.malformed: 1] && status.state == "ready")
    }

    /// The check before a rule is used asks about no candidate.
    @Test func aServerThatAnswersIsReady() async {
        let server = Server()
        let rule = rule(server)
        async let ready = rule.prepare()
        await server.arrived(1)
        server.answer { question in
            #expect(question["candidates"]?.asArray == [])
            return Server.verdicts("veto")(question)
        }
        #expect(await ready == nil)
        async let failure = rule.prepare()
        await server.arrived(1)
        server.answer { _ in .response(ReceivedResponse(status: 404, body: [])) }
        #expect(await failure == RuleFailure(.unreachable, because: "status 404"))
    }

    @Test func aStoppedRuleAnswersWithAFault() async {
        let rule = rule(Server())
        await rule.stop()
        #expect(await ask(rule) == .fault(.ended))
    }
}

extension Candidate {
    static func named(_ name: String) -> Candidate {
        Candidate(
            session: SessionID(unchecked: name), device: nil, role: "windowApplication", configuration: "Default",
            activationState: .background, lastActivatedAt: nil, preferenceLevel: 0, tier: .can)
    }
}
