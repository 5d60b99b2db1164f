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
    private var cache: [[String]: (answer: [SessionID: RoutingVerdict], until: Timestamp)] = [:]

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

    package func stop() {}

    private func begin(
        _ notification: NotificationView, _ candidates: [Candidate], _ now: Timestamp,
        _ completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        let key = key(of: notification)
        if let key, let kept = cache[key], kept.until > clock.now,
            candidates.allSatisfy({ kept.answer[$0.session] != nil })
        {
            figures.cacheHits? += 1
            return completion(
                .verdicts(kept.answer.filter { entry in candidates.contains { $0.session == entry.key } }))
        }
        if let refusal = health.refusal(at: clock.now) {
            figures.count(refusal, at: clock.now)
            return completion(.fault(refusal))
        }
        lastCall += 1
        figures.calls += 1
        let began = ContinuousClock.now
        let call = lastCall
        let request = WebhookRequest(
            url: settings.url,
            headers: [
                HeaderField("content-type", "application/json"),
                HeaderField("user-agent", "routerd/\(RouterdVersion.current)"),
            ],
            body: RuleProtocol.question(call, notification, candidates, at: now, with: rule.settings),
            connectTimeoutMilliseconds: rule.timeoutMilliseconds, timeoutMilliseconds: rule.timeoutMilliseconds,
            responseLimit: RuleProtocol.answerBytes)
        transport.start(request) { [executor] result in
            executor.queue.async {
                self.assumeIsolated { rule in
                    rule.figures.times.add(began.duration(to: .now))
                    completion(rule.finish(call, result, candidates, key))
                }
            }
        }
    }

    private func finish(
        _ call: Int64, _ result: TransferResult, _ candidates: [Candidate], _ key: [String]?
    ) -> RuleAnswer {
        do throws(RuleFault) {
            let answer = try read(result, call).covering(candidates)
            health.answered()
            if let key {
                if cache.count >= DaemonLimits.pluginCacheEntries { cache.removeAll() }
                let until = clock.now.advanced(byMilliseconds: 1000 * Int64(settings.cacheSeconds))
                cache[key] = (answer, until)
            }
            return .verdicts(answer)
        } catch {
            figures.count(error, at: clock.now)
            health.failed(at: clock.now)
            if health.isQuarantined, figures.quarantinedAt == nil { figures.quarantinedAt = clock.now }
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

    private func key(of notification: NotificationView) -> [String]? {
        guard !settings.cacheBy.isEmpty else { return nil }
        return settings.cacheBy.map { part in
            switch part {
            case .application: notification.application.text
            case .device: notification.device?.text ?? ""
            case .contentId: notification.contentID?.text ?? ""
            case .priority: "\(notification.priority.rawValue)"
            case .kind: notification.kind.rawValue
            }
        }
    }
}
