import Dispatch
package import Logging
import Router
package import RouterPlugin

/// A remote rule in processes of its own: performs what ``WorkerPool`` decides.
package actor ProcessRule: RuleTransport, GarbageTransport {
    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private struct Call {
        var notification: NotificationView
        var now: Timestamp
        var candidates: [Candidate]
        var began: ContinuousClock.Instant
        var verdicts: [SessionID: RoutingVerdict]?
        var isSent = false
        var completion: @Sendable (RuleAnswer) -> Void

        func message(_ id: Int64, userInfo: [String]) -> [UInt8] {
            RuleProtocol.framed(RuleProtocol.question(id, notification, candidates, at: now, userInfo: userInfo))
        }
    }

    private struct Running {
        var child: ChildProcess
        var reader = FrameReader(limit: RuleProtocol.answerBytes)
        var log = LogLines(mostBytes: DaemonLimits.pluginLogBytes)
        var linesLeft = DaemonLimits.pluginLogLines
        /// The reason of the supervisor for the end of the process.
        var reason: String?
        /// The last line that the process has written to standard error.
        var lastLine: String?
    }

    /// The beginnings of lines by which the supervisor tells why a process ends.
    private static let reasons = ["the plugin is ended: ", "the plugin cannot be started: "]

    private let rule: RemoteRule
    private let launch: ChildProcess.Launch
    private let clock: SteadyClock
    private let logger: Logger
    private var pool: WorkerPool
    private var running: [WorkerPool.Worker: Running] = [:]
    private var calls: [Int64: Call] = [:]
    private var lastCall: Int64 = 0
    private var figures = RemoteRuleStatus(rung: "process", state: "idle")
    /// The causes of faults that the pool has not answered yet.
    private var causes: [WorkerPool.Worker: String] = [:]
    /// Wait for the first process that is ready, or for its fault.
    private var preparing: [CheckedContinuation<RuleFailure?, Never>] = []
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

    package nonisolated func refused(_ failure: RuleFailure) {
        executor.queue.async { self.assumeIsolated { $0.countRefused(failure) } }
    }

    private func countRefused(_ failure: RuleFailure) {
        figures.count(failure, at: clock.now)
        logger.info("a plugin's answer cannot be used", metadata: ["plugin": "\(rule.id)", "fault": "\(failure)"])
    }

    package func enable() {
        figures.quarantinedAt = nil
        perform(pool.enable(at: clock.now))
    }

    nonisolated var settingsOfQuestions: JSONValue? { nil }

    /// Sends a message that is no JSON, and then a question, to a process of its own. The plugin may end, or ignore the
    /// message and answer the question.
    func violationAfterGarbage(before question: [UInt8]) async -> String? {
        let (events, event) = AsyncStream.makeStream(of: ChildProcess.Event.self)
        guard let child = ChildProcess(launch, on: executor.queue, events: { event.yield($0) }) else {
            return "the process cannot be started"
        }
        for message in [RuleProtocol.hello(rule), Array("no JSON".utf8), question] {
            child.send(RuleProtocol.framed(message))
        }
        let limit = max(5000, rule.timeoutMilliseconds)
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(limit)) { event.finish() }
        defer { child.end() }
        var reader = FrameReader(limit: RuleProtocol.answerBytes)
        var isReady = false
        for await event in events {
            if case .ended = event { return nil }
            guard case .bytes(let bytes) = event else { continue }
            guard let messages = try? reader.take(bytes) else { return "it answers with a message beyond the limit" }
            for message in messages {
                let read = try? RuleProtocol.read(message, from: rule.id)
                switch read {
                case .ready? where !isReady: isReady = true
                case .verdicts(1, _)? where isReady: return nil
                default: return "it answers a message that is no JSON"
                }
            }
        }
        return "after a message that is no JSON it neither ends nor answers the next question"
    }

    package func start() { perform(pool.start(at: clock.now)) }

    package func prepare() async -> RuleFailure? {
        await withCheckedContinuation { continuation in
            preparing.append(continuation)
            perform(pool.start(at: clock.now))
        }
    }

    private func prepared(_ failure: RuleFailure?) {
        for continuation in preparing { continuation.resume(returning: failure) }
        preparing = []
    }

    package func stop() {
        perform(pool.stop())
        prepared(RuleFailure(.ended))
    }

    private func begin(
        _ notification: NotificationView, _ candidates: [Candidate], _ now: Timestamp,
        _ completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        if pool.isQuarantined {
            figures.count(.quarantined)
            return completion(.fault(.quarantined))
        }
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
                let cause = causes.removeValue(forKey: worker)
                if let fault { note(RuleFailure(fault, because: cause)) }
            case .send(let question, let worker):
                // Made only now: many questions may wait, and their payloads are shared with the commands that ask.
                if let call = calls[question] {
                    running[worker]?.child.send(call.message(question, userInfo: rule.userInfo))
                }
                calls[question]?.isSent = true
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
            case .late where call.isSent || pool.consecutiveFaults == 0, .overloaded:
                figures.count(RuleFailure(fault), at: clock.now)
            // No process was there to be asked: its own fault is the cause.
            case .late, .quarantined: figures.count(fault)
            default: break
            }
            call.completion(.fault(fault))
        } else {
            call.completion(.verdicts(call.verdicts ?? [:]))
        }
    }

    private func start(_ worker: WorkerPool.Worker) {
        let child = ChildProcess(launch, on: executor.queue) { [weak self] event in
            self?.assumeIsolated { $0.happened(event, to: worker) }
        }
        guard let child else { return failed(.unready, worker, because: "the system starts no process") }
        running[worker] = Running(child: child)
        child.send(RuleProtocol.framed(RuleProtocol.hello(rule)))
    }

    private func happened(_ event: ChildProcess.Event, to worker: WorkerPool.Worker) {
        guard running[worker] != nil else { return }
        switch event {
        case .ended(let status):
            failed(
                .ended, worker, because: running[worker]?.reason ?? ChildProcess.cause(ofStatus: status),
                isWordless: true)
        case .log(let bytes): log(running[worker]?.log.take(bytes) ?? [], of: worker)
        case .bytes(let bytes):
            do throws(RuleFailure) {
                for message in try messages(in: bytes, from: worker) { try took(message, from: worker) }
            } catch {
                failed(error.fault, worker, because: error.cause)
            }
        }
    }

    private func messages(
        in bytes: [UInt8], from worker: WorkerPool.Worker
    ) throws(RuleFailure) -> [[UInt8]] {
        do throws(RuleFault) {
            return try running[worker]?.reader.take(bytes) ?? []
        } catch {
            throw RuleFailure(error, because: running[worker]?.reader.textInPlaceOfLength.map(Self.cause(ofText:)))
        }
    }

    private static func cause(ofText text: String) -> String {
        "'\(text)' in the place of a length: wrote text to standard output?"
    }

    private func took(_ message: [UInt8], from worker: WorkerPool.Worker) throws(RuleFailure) {
        switch try RuleProtocol.read(message, from: rule.id) {
        case .ready(let version):
            figures.version = version
            perform(pool.ready(worker, at: clock.now))
            prepared(nil)
        case .verdicts(let id, var verdicts):
            if let call = calls[id] { verdicts = try verdicts.covering(call.candidates, askedAt: call.now) }
            let actions = pool.answered(id, by: worker, at: clock.now)
            if actions.contains(.answer(question: id, nil)) { calls[id]?.verdicts = verdicts }
            perform(actions)
        }
    }

    /// - Parameter isWordless: Whether the last words of the process say more than the cause.
    private func failed(
        _ fault: RuleFault, _ worker: WorkerPool.Worker, because cause: String? = nil, isWordless: Bool = false
    ) {
        // The text that explains the fault may still be in the pipe.
        let child = running[worker]?.child
        child?.readErrors()
        if let last = running[worker]?.log.finish() { log([last], of: worker) }
        let words = isWordless && running[worker]?.reason == nil ? running[worker]?.lastLine : nil
        causes[worker] = cause.map { cause in words.map { "\(cause): \($0)" } ?? cause }
        perform(pool.fault(fault, of: worker, at: clock.now))
    }

    /// A process was ended for a fault. Late answers are counted by question.
    private func note(_ failure: RuleFailure) {
        if failure.fault != .late { figures.count(failure, at: clock.now) }
        logger.warning("a plugin's process has failed", metadata: ["plugin": "\(rule.id)", "fault": "\(failure)"])
        prepared(failure)
    }

    /// Lines of standard error, a bounded number for each process.
    private func log(_ lines: [String], of worker: WorkerPool.Worker) {
        for line in lines {
            guard let left = running[worker]?.linesLeft, left > 0 else { return }
            running[worker]?.linesLeft = left - 1
            for beginning in Self.reasons where line.hasPrefix(beginning) {
                running[worker]?.reason = String(line.dropFirst(beginning.count))
            }
            let printable = line.unicodeScalars.filter { $0.properties.generalCategory != .control }
            if !printable.isEmpty {
                running[worker]?.lastLine = String(String.UnicodeScalarView(printable.prefix(200)))
            }
            logger.info("a plugin says", metadata: ["plugin": "\(rule.id)", "line": "\(line)"])
        }
    }
}
