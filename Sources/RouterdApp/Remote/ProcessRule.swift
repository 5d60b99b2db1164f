import Dispatch
package import Logging
import Router
package import RouterPlugin

/// A remote rule in processes of its own: performs what ``WorkerPool`` decides.
package actor ProcessRule: RuleTransport {
    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private struct Call {
        var notification: NotificationView
        var now: Timestamp
        var candidates: [Candidate]
        var began: ContinuousClock.Instant
        var verdicts: [SessionID: RoutingVerdict]?
        var completion: @Sendable (RuleAnswer) -> Void

        func message(_ id: Int64) -> [UInt8] {
            RuleProtocol.framed(RuleProtocol.question(id, notification, candidates, at: now))
        }
    }

    private struct Running {
        var child: ChildProcess
        var reader = FrameReader(limit: RuleProtocol.answerBytes)
        var log: [UInt8] = []
        var linesLeft = DaemonLimits.pluginLogLines
    }

    private let rule: RemoteRule
    private let launch: ChildProcess.Launch
    private let clock: SteadyClock
    private let logger: Logger
    private var pool: WorkerPool
    private var running: [WorkerPool.Worker: Running] = [:]
    private var calls: [Int64: Call] = [:]
    private var lastCall: Int64 = 0
    private var figures = RemoteRuleStatus(rung: "process", state: "idle")
    private let alarm = Alarm()

    /// - Parameters:
    ///   - launcher: The program whose command `plugin-child` confines the plugin.
    ///   - folder: The working folder of the plugin.
    ///   - reads: The paths that it may read, beside those of the system's programs.
    package init(
        _ rule: RemoteRule, _ settings: ProcessSettings, launcher: String, folder: String, reads: [String],
        clock: SteadyClock, logger: Logger
    ) {
        self.rule = rule
        self.clock = clock
        self.logger = logger
        executor = QueueExecutor(label: "routerd.plugin")
        launch = ChildProcess.launch(settings, reading: reads, by: launcher, in: folder)
        var limits = WorkerPool.Limits()
        limits.workers = settings.workers
        limits.questionMilliseconds = rule.timeoutMilliseconds
        limits.quarantineAfter = rule.quarantineAfter
        pool = WorkerPool(limits)
    }

    package nonisolated func ask(
        _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
        completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        executor.queue.async {
            self.assumeIsolated { $0.begin(notification, candidates, now, completion) }
        }
    }

    package func status() -> RemoteRuleStatus {
        var status = figures
        status.state = pool.state.rawValue
        status.workers = pool.phases.map { phase in
            switch phase {
            case .idle: "idle"
            case .starting: "starting"
            case .ready: "ready"
            case .backingOff: "backingOff"
            }
        }
        return status
    }

    package func enable() {
        figures.quarantinedAt = nil
        perform(pool.enable(at: clock.now))
    }

    /// Sends a message that is no JSON to a process of its own. The plugin may end, or ignore it; it must not
    /// send more than its first message.
    package func violationAfterGarbage() async -> String? {
        let (events, event) = AsyncStream.makeStream(of: ChildProcess.Event.self)
        guard let child = ChildProcess(launch, on: executor.queue, events: { event.yield($0) }) else {
            return "the process cannot be started"
        }
        child.send(RuleProtocol.framed(RuleProtocol.hello(rule)))
        child.send(RuleProtocol.framed(Array("no JSON".utf8)))
        executor.queue.asyncAfter(deadline: .now() + .seconds(5)) { event.finish() }
        defer { child.end() }
        var reader = FrameReader(limit: RuleProtocol.answerBytes)
        var messages = 0
        for await event in events {
            if case .ended = event { return nil }
            guard case .bytes(let bytes) = event else { continue }
            guard let taken = try? reader.take(bytes) else { return "it answers with a message beyond the limit" }
            messages += taken.count
        }
        return messages > 1 ? "it answers a message that is no JSON" : nil
    }

    package func start() { perform(pool.start(at: clock.now)) }

    package func stop() { perform(pool.stop()) }

    private func begin(
        _ notification: NotificationView, _ candidates: [Candidate], _ now: Timestamp,
        _ completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        lastCall += 1
        figures.calls += 1
        calls[lastCall] = Call(
            notification: notification, now: now, candidates: candidates, began: .now, completion: completion)
        perform(pool.ask(lastCall, at: clock.now))
    }

    private func perform(_ actions: [WorkerPool.Action]) {
        for action in actions {
            switch action {
            case .start(let worker): start(worker)
            case .kill(let worker, let fault):
                running.removeValue(forKey: worker)?.child.end()
                if let fault { note(fault) }
            case .send(let question, let worker):
                // Made only now: many questions may wait, and their payloads are shared with the commands that ask.
                if let call = calls[question] { running[worker]?.child.send(call.message(question)) }
            case .answer(let question, let fault): answer(question, fault)
            case .quarantine(let fault):
                figures.quarantinedAt = clock.now
                logger.warning(
                    "a plugin is out of use after too many faults",
                    metadata: ["plugin": "\(rule.id)", "fault": "\(fault.rawValue)"])
            }
        }
        alarm.set(to: pool.nextDue, at: clock.now, on: executor.queue) { [weak self] in
            self?.assumeIsolated {
                $0.alarm.hasRung()
                $0.perform($0.pool.passed(to: $0.clock.now))
            }
        }
    }

    private func answer(_ question: Int64, _ fault: RuleFault?) {
        guard let call = calls.removeValue(forKey: question) else { return }
        figures.times.add(call.began.duration(to: .now))
        if let fault {
            switch fault {
            case .late, .overloaded, .quarantined: figures.count(fault, at: clock.now)
            default: break
            }
            call.completion(.fault(fault))
        } else {
            call.completion(.verdicts((call.verdicts ?? [:]).covering(call.candidates)))
        }
    }

    private func start(_ worker: WorkerPool.Worker) {
        let child = ChildProcess(launch, on: executor.queue) { [weak self] event in
            self?.assumeIsolated { $0.happened(event, to: worker) }
        }
        guard let child else { return failed(.unready, worker) }
        running[worker] = Running(child: child)
        child.send(RuleProtocol.framed(RuleProtocol.hello(rule)))
    }

    private func happened(_ event: ChildProcess.Event, to worker: WorkerPool.Worker) {
        guard running[worker] != nil else { return }
        switch event {
        case .ended: failed(.ended, worker)
        case .log(let bytes): log(bytes, of: worker)
        case .bytes(let bytes):
            do throws(RuleFault) {
                let messages = try running[worker]?.reader.take(bytes) ?? []
                for message in messages { try took(message, from: worker) }
            } catch {
                failed(error, worker)
            }
        }
    }

    private func took(_ message: [UInt8], from worker: WorkerPool.Worker) throws(RuleFault) {
        switch try RuleProtocol.read(message, from: rule.id, time: { Timestamp(rfc3339: $0) }) {
        case .ready(let version):
            figures.version = version
            perform(pool.ready(worker, at: clock.now))
        case .verdicts(let id, let verdicts):
            let actions = pool.answered(id, by: worker, at: clock.now)
            if actions.contains(.answer(question: id, nil)) { calls[id]?.verdicts = verdicts }
            perform(actions)
        }
    }

    private func failed(_ fault: RuleFault, _ worker: WorkerPool.Worker) {
        if running[worker]?.log.isEmpty == false { log([UInt8(ascii: "\n")], of: worker) }
        perform(pool.fault(fault, of: worker, at: clock.now))
    }

    /// A process was ended for a fault. Late answers are counted by question.
    private func note(_ fault: RuleFault) {
        if fault != .late { figures.count(fault, at: clock.now) }
        logger.info("a plugin's process has failed", metadata: ["plugin": "\(rule.id)", "fault": "\(fault.rawValue)"])
    }

    /// Lines of standard error, a bounded number for each process.
    private func log(_ bytes: [UInt8], of worker: WorkerPool.Worker) {
        guard var state = running[worker], state.linesLeft > 0 else { return }
        state.log += bytes.prefix(DaemonLimits.pluginLogBytes)
        while state.linesLeft > 0, let end = state.log.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: state.log[..<end].prefix(DaemonLimits.pluginLogBytes), as: UTF8.self)
            state.log.removeSubrange(...end)
            state.linesLeft -= 1
            logger.info("a plugin says", metadata: ["plugin": "\(rule.id)", "line": "\(line)"])
        }
        if state.log.count > DaemonLimits.pluginLogBytes { state.log.removeAll() }
        running[worker]?.log = state.log
        running[worker]?.linesLeft = state.linesLeft
    }
}
