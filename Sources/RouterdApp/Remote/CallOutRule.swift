import DequeModule
import Dispatch
package import Logging
package import Router
package import RouterPlugin

/// A remote rule behind a URL: the questions of the process rung, as the bodies of requests.
package actor CallOutRule: RuleTransport {
    private let rule: RemoteRule
    private let settings: CallOutSettings
    private let transport: any Transport
    private let clock: SteadyClock
    private let logger: Logger
    nonisolated let executor = QueueExecutor(label: "routerd.plugin")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var health: CallOutHealth
    private var figures = RemoteRuleStatus(rung: "http", state: "ready")
    private var lastCall: Int64 = 0
    private var cache = CallOutCache(limit: DaemonLimits.pluginCacheVerdicts)
    /// Questions that are on their way, and those that wait for one of them, oldest first.
    private var underWay = 0
    private var waiting: Deque<Call> = []
    private var isStopped = false

    private struct Call: Sendable {
        var notification: NotificationView
        var candidates: [Candidate]
        var now: Timestamp
        var asked: Timestamp
        var key: CallOutCache.Key?
        var began: ContinuousClock.Instant
        var completion: @Sendable (RuleAnswer) -> Void
    }

    package init(
        _ rule: RemoteRule, _ settings: CallOutSettings, transport: any Transport, clock: SteadyClock,
        logger: Logger = Logger(label: "routerd.plugin") { _ in SwiftLogNoOpLogHandler() }
    ) {
        (self.rule, self.settings, self.transport, self.clock, self.logger) = (rule, settings, transport, clock, logger)
        health = CallOutHealth(quarantineAfter: rule.quarantineAfter)
        figures.cacheHits = settings.cacheBy.isEmpty ? nil : 0
    }

    package nonisolated func ask(
        _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
        completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        executor.queue.async { self.assumeIsolated { $0.begin(notification, candidates, now, completion) } }
    }

    package func status() -> RemoteRuleStatus {
        var status = figures
        switch health.refusal(at: clock.now) {
        case nil: status.state = "ready"
        case .quarantined: status.state = "quarantined"
        default: status.state = "backingOff"
        }
        return status
    }

    package nonisolated func refused(_ failure: RuleFailure) {
        executor.queue.async { self.assumeIsolated { $0.note(failure) } }
    }

    private func note(_ failure: RuleFailure) {
        figures.count(failure, at: clock.now)
        tell("a plugin's answer cannot be used", failure, at: .info)
    }

    package func enable() {
        figures.quarantinedAt = nil
        health.enable()
    }

    package func start() {}

    /// Asks about no candidate: a server that understands the question has nothing to say.
    package func prepare() async -> RuleFailure? {
        let application = rule.applications?.min() ?? ApplicationID(unchecked: "com.example.App")
        let view = NotificationView(
            application: application, device: nil, contentID: nil, priority: .normal, payload: Array("{}".utf8))
        let answer = await withCheckedContinuation { continuation in
            ask(view, [], at: clock.now) { continuation.resume(returning: $0) }
        }
        guard case .fault(let fault) = answer else { return nil }
        return figures.lastFault?.0 ?? RuleFailure(fault)
    }

    package func stop() {
        isStopped = true
        while let call = waiting.popFirst() { refuse(call, RuleFailure(.ended)) }
    }

    private func begin(
        _ notification: NotificationView, _ candidates: [Candidate], _ now: Timestamp,
        _ completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        let key = CallOutCache.Key(notification, by: settings.cacheBy)
        let time = clock.now
        if let key, let answer = cache.answer(to: key, about: candidates, at: time) {
            figures.cacheHits? += 1
            return completion(.verdicts(answer))
        }
        let call = Call(
            notification: notification, candidates: candidates, now: now, asked: time, key: key, began: .now,
            completion: completion)
        if isStopped { return refuse(call, RuleFailure(.ended)) }
        if let refusal = health.refusal(at: time) { return refuse(call, refusal) }
        if underWay < DaemonLimits.callOutsUnderWay { return send(call) }
        guard waiting.count < DaemonLimits.callOutsWaiting else { return refuse(call, RuleFailure(.overloaded)) }
        waiting.append(call)
    }

    private func refuse(_ call: Call, _ failure: RuleFailure) {
        figures.count(failure, at: clock.now)
        call.completion(.fault(failure.fault))
    }

    /// The server is left alone for an earlier fault, which stays the last one.
    private func refuse(_ call: Call, _ refusal: RuleFault) {
        figures.count(refusal)
        call.completion(.fault(refusal))
    }

    /// Sends a question. The time limit counts from the question on: one that waits as long is late, and those before it have
    /// ended by then.
    private func send(_ call: Call) {
        let left = Int64(rule.timeoutMilliseconds) - (clock.now.milliseconds - call.asked.milliseconds)
        guard left > 0 else { return refuse(call, RuleFailure(.late)) }
        if let refusal = health.admit(at: clock.now) { return refuse(call, refusal) }
        lastCall += 1
        figures.calls += 1
        underWay += 1
        let number = lastCall
        let question = RuleProtocol.question(
            number, call.notification, call.candidates, at: call.now, userInfo: rule.userInfo, with: rule.settings)
        transport.start(request(question, within: Int(left))) { [executor] result in
            executor.queue.async { self.assumeIsolated { $0.ended(call, number, result) } }
        }
    }

    private func request(_ body: [UInt8], within milliseconds: Int) -> WebhookRequest {
        WebhookRequest(
            url: settings.url,
            headers: [
                HeaderField("content-type", "application/json"),
                HeaderField("user-agent", "routerd/\(RouterdVersion.current)"),
            ],
            body: body, connectTimeoutMilliseconds: milliseconds, timeoutMilliseconds: milliseconds,
            responseLimit: RuleProtocol.answerBytes)
    }

    private func ended(_ call: Call, _ number: Int64, _ result: TransferResult) {
        underWay -= 1
        figures.times.add(call.began.duration(to: .now))
        call.completion(finish(call, number, result))
        while underWay < DaemonLimits.callOutsUnderWay, let next = waiting.popFirst() { send(next) }
    }

    private func finish(_ call: Call, _ number: Int64, _ result: TransferResult) -> RuleAnswer {
        let now = clock.now
        do throws(RuleFailure) {
            let answer = try read(result, number, of: call)
            health.answered()
            if let key = call.key {
                cache.keep(
                    answer, for: key, until: now.advanced(byMilliseconds: 1000 * Int64(settings.cacheSeconds)), at: now)
            }
            return .verdicts(answer)
        } catch {
            figures.count(error, at: now)
            let faults = health.consecutiveFaults
            health.failed(askedAt: call.asked, at: now)
            // The first fault after a good answer has a line, and not each question that fails with it.
            if faults == 0 { tell("a plugin's server has failed", error, at: .info) }
            if health.isQuarantined, figures.quarantinedAt == nil {
                figures.quarantinedAt = now
                tell("a plugin is out of use after too many faults", error, at: .warning)
            }
            return .fault(error.fault)
        }
    }

    private func tell(_ sentence: Logger.Message, _ failure: RuleFailure, at level: Logger.Level) {
        logger.log(level: level, sentence, metadata: ["plugin": "\(rule.id)", "fault": "\(failure)"])
    }

    private func send(_ body: [UInt8]) async -> TransferResult {
        await withCheckedContinuation { continuation in
            transport.start(request(body, within: rule.timeoutMilliseconds)) { continuation.resume(returning: $0) }
        }
    }

    private func read(
        _ result: TransferResult, _ number: Int64, of call: Call
    ) throws(RuleFailure) -> [SessionID: RoutingVerdict] {
        switch result.outcome {
        case .failure(let failure):
            if failure.hasRunOutOfTime { throw RuleFailure(.late) }
            throw RuleFailure(.unreachable, because: "\(failure.kind.rawValue): \(failure.message)")
        case .response(let response):
            guard response.status == 200 else {
                throw RuleFailure(.unreachable, because: "status \(response.status)")
            }
            guard !response.bodyTruncated else { throw RuleFailure(.tooLarge) }
            let message = try RuleProtocol.read(response.body, from: rule.id)
            guard case .verdicts(number, let verdicts) = message else {
                throw RuleFailure(.malformed, because: "the message does not answer the question \(number)")
            }
            return try verdicts.covering(call.candidates, askedAt: call.now)
        }
    }
}

extension CallOutRule: GarbageTransport {
    nonisolated var settingsOfQuestions: JSONValue? { rule.settings }

    /// The server may refuse the message by a status or close its connection, and answers the question.
    func violationAfterGarbage(before question: [UInt8]) async -> String? {
        let refusal = await send(Array("no JSON".utf8))
        switch refusal.outcome {
        case .response(let response) where response.status == 200: return "it answers a body that is no JSON with 200"
        case .failure(let failure) where failure.hasRunOutOfTime:
            return "it is late with an answer to a body that is no JSON"
        default: break
        }
        let answer = await send(question)
        guard case .response(let response) = answer.outcome, response.status == 200,
            let message = try? RuleProtocol.read(response.body, from: rule.id),
            case .verdicts(1, _) = message
        else { return "it does not answer the question after a body that is no JSON" }
        return nil
    }
}
