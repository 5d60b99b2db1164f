import DequeModule
import Dispatch
package import Router
package import RouterPlugin

/// A remote rule behind a URL: the questions of the process rung, as the bodies of requests.
package actor CallOutRule: RuleTransport {
    private let rule: RemoteRule
    private let settings: CallOutSettings
    private let transport: any Transport
    private let clock: SteadyClock
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
        _ rule: RemoteRule, _ settings: CallOutSettings, transport: any Transport, clock: SteadyClock
    ) {
        (self.rule, self.settings, self.transport, self.clock) = (rule, settings, transport, clock)
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

    package func enable() {
        figures.quarantinedAt = nil
        health.enable()
    }

    package func start() {}

    package func stop() {
        isStopped = true
        while let call = waiting.popFirst() { refuse(call, .ended) }
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
        if isStopped { return refuse(call, .ended) }
        if let refusal = health.refusal(at: time) { return refuse(call, refusal) }
        if underWay < DaemonLimits.callOutsUnderWay { return send(call) }
        guard waiting.count < DaemonLimits.callOutsWaiting else { return refuse(call, .overloaded) }
        waiting.append(call)
    }

    private func refuse(_ call: Call, _ fault: RuleFault) {
        figures.count(fault, at: clock.now)
        call.completion(.fault(fault))
    }

    /// Sends a question. The time limit counts from the question on: one that waits as long is late, and those before it have
    /// ended by then.
    private func send(_ call: Call) {
        let left = Int64(rule.timeoutMilliseconds) - (clock.now.milliseconds - call.asked.milliseconds)
        guard left > 0 else { return refuse(call, .late) }
        if let refusal = health.admit(at: clock.now) { return refuse(call, refusal) }
        lastCall += 1
        figures.calls += 1
        underWay += 1
        let number = lastCall
        let request = WebhookRequest(
            url: settings.url,
            headers: [
                HeaderField("content-type", "application/json"),
                HeaderField("user-agent", "routerd/\(RouterdVersion.current)"),
            ],
            body: RuleProtocol.question(number, call.notification, call.candidates, at: call.now, with: rule.settings),
            connectTimeoutMilliseconds: Int(left), timeoutMilliseconds: Int(left),
            responseLimit: RuleProtocol.answerBytes)
        transport.start(request) { [executor] result in
            executor.queue.async { self.assumeIsolated { $0.ended(call, number, result) } }
        }
    }

    private func ended(_ call: Call, _ number: Int64, _ result: TransferResult) {
        underWay -= 1
        figures.times.add(call.began.duration(to: .now))
        call.completion(finish(call, number, result))
        while underWay < DaemonLimits.callOutsUnderWay, let next = waiting.popFirst() { send(next) }
    }

    private func finish(_ call: Call, _ number: Int64, _ result: TransferResult) -> RuleAnswer {
        let now = clock.now
        do throws(RuleFault) {
            let answer = try read(result, number).covering(call.candidates)
            health.answered()
            if let key = call.key {
                cache.keep(
                    answer, for: key, until: now.advanced(byMilliseconds: 1000 * Int64(settings.cacheSeconds)), at: now)
            }
            return .verdicts(answer)
        } catch {
            figures.count(error, at: now)
            health.failed(askedAt: call.asked, at: now)
            if health.isQuarantined, figures.quarantinedAt == nil { figures.quarantinedAt = now }
            return .fault(error)
        }
    }

    private func read(_ result: TransferResult, _ call: Int64) throws(RuleFault) -> [SessionID: RoutingVerdict] {
        switch result.outcome {
        case .failure(let failure): throw failure.hasRunOutOfTime ? .late : .unreachable
        case .response(let response):
            guard response.status == 200 else { throw .unreachable }
            guard !response.bodyTruncated else { throw .tooLarge }
            let message = try RuleProtocol.read(response.body, from: rule.id, time: { Timestamp(rfc3339: $0) })
            guard case .verdicts(call, let verdicts) = message else { throw .malformed }
            return verdicts
        }
    }
}
