package import RouterPlugin

/// The processes of a remote rule as a value: which of them is started, asked, ended, and for how long the rule is left
/// alone.
///
///     idle ─ start ─▶ starting ─ ready ─▶ ready ─ fault ─▶ backing off ─ time ─▶ starting
///                        └──────── fault ────────────────────▲
///     all of them ─ too many faults one after the other ─▶ quarantined ─ enable ─▶ idle
///
/// The owner performs the actions in order, and reports what became of them.
package struct WorkerPool: Sendable {
    /// A process, for as long as it lives; another process at the same place has another generation.
    package struct Worker: Hashable, Sendable {
        package let place: Int
        package let generation: Int
    }

    package enum Phase: Hashable, Sendable {
        /// Not started. Can transition to: starting.
        case idle
        /// Started, and has not said that it is ready. Can transition to: ready, backingOff.
        case starting(until: Timestamp)
        /// Takes questions. Can transition to: backingOff.
        case ready
        /// Ended, and started again at that time. Can transition to: starting.
        case backingOff(until: Timestamp)
    }

    /// The state of the whole pool, for lists.
    package enum State: String, Hashable, Sendable {
        case idle, starting, ready, backingOff, quarantined
    }

    package enum Action: Hashable, Sendable {
        case start(Worker)
        /// Nil if it has done nothing wrong.
        case kill(Worker, RuleFault?)
        case send(question: Int64, to: Worker)
        case answer(question: Int64, RuleFault?)
        case quarantine(RuleFault)
    }

    package struct Limits: Hashable, Sendable {
        package var workers = 1
        package var questionMilliseconds = 100
        package var startMilliseconds: Int64 = 10_000
        /// Questions that a worker has not answered.
        package var pipelined = 64
        /// Questions that wait for a worker.
        package var waiting = 1024
        package var quarantineAfter = 10
        package var firstBackOffMilliseconds: Int64 = 100
        package var lastBackOffMilliseconds: Int64 = 30_000
        /// The time after which one fault no longer counts for the next wait, good answers or not.
        package var forgivenessMilliseconds: Int64 = 30_000

        package init() {}
    }

    private struct Slot {
        var phase = Phase.idle
        var generation = 0
        var asked: [Int64] = []
    }

    private struct Question {
        var deadline: Timestamp
        var worker: Worker?
    }

    package let limits: Limits
    private var slots: [Slot]
    private var questions: [Int64: Question] = [:]
    /// Questions that no worker has, oldest first.
    private var waiting: [Int64] = []
    /// Faults since the last good answer.
    package private(set) var consecutiveFaults = 0
    package private(set) var isQuarantined = false
    /// Faults that the next wait doubles for, as of the last one: a plugin that answers between two faults is not started
    /// without end.
    private var recentFaults = 0
    private var lastFault: Timestamp?
    private var isStopped = false

    package init(_ limits: Limits) {
        self.limits = limits
        slots = Array(repeating: Slot(), count: max(1, limits.workers))
    }

    package var phases: [Phase] { slots.map(\.phase) }

    package var state: State {
        if isQuarantined { return .quarantined }
        if slots.contains(where: { $0.phase == .ready }) { return .ready }
        if slots.contains(where: { if case .starting = $0.phase { true } else { false } }) { return .starting }
        return slots.contains { $0.phase != .idle } ? .backingOff : .idle
    }

    /// The earliest time at which `passed` has something to do.
    package var nextDue: Timestamp? {
        let phases = slots.compactMap { slot -> Timestamp? in
            switch slot.phase {
            case .idle, .ready: nil
            case .starting(let until), .backingOff(let until): isQuarantined ? nil : until
            }
        }
        return (phases + questions.values.map(\.deadline)).min()
    }

    /// Starts the workers that are not running.
    package mutating func start(at now: Timestamp) -> [Action] {
        guard !isQuarantined else { return [] }
        return slots.indices.compactMap { slots[$0].phase == .idle ? begin($0, at: now) : nil }
    }

    /// A question has come.
    package mutating func ask(_ question: Int64, at now: Timestamp) -> [Action] {
        if isQuarantined { return [.answer(question: question, .quarantined)] }
        guard waiting.count < limits.waiting else { return [.answer(question: question, .overloaded)] }
        let deadline = now.advanced(byMilliseconds: Int64(limits.questionMilliseconds))
        questions[question] = Question(deadline: deadline)
        waiting.append(question)
        return start(at: now) + distribute()
    }

    /// A worker has said that it is ready. It says so once.
    package mutating func ready(_ worker: Worker, at now: Timestamp) -> [Action] {
        guard isCurrent(worker) else { return [] }
        guard case .starting = slots[worker.place].phase else { return fault(.malformed, of: worker, at: now) }
        slots[worker.place].phase = .ready
        return distribute()
    }

    /// A worker has answered a question. An answer to a question that it was not asked is a fault; an answer that comes
    /// too late finds another generation, or none.
    package mutating func answered(_ question: Int64, by worker: Worker, at now: Timestamp) -> [Action] {
        guard isCurrent(worker) else { return [] }
        guard questions[question]?.worker == worker else { return fault(.malformed, of: worker, at: now) }
        questions[question] = nil
        slots[worker.place].asked.removeAll { $0 == question }
        consecutiveFaults = 0
        return [.answer(question: question, nil)] + distribute()
    }

    /// A worker has ended, or broken the protocol: it is ended, and its questions are answered by the fault.
    package mutating func fault(_ fault: RuleFault, of worker: Worker, at now: Timestamp) -> [Action] {
        guard isCurrent(worker) else { return [] }
        let asked = slots[worker.place].asked
        slots[worker.place].asked = []
        slots[worker.place].generation += 1
        var actions: [Action] = [.kill(worker, fault)]
        for question in asked {
            questions[question] = nil
            actions.append(.answer(question: question, fault))
        }
        consecutiveFaults += 1
        if consecutiveFaults >= limits.quarantineAfter { return actions + quarantine(because: fault) }
        let forgiven = lastFault.map { ($0.milliseconds - now.milliseconds) / limits.forgivenessMilliseconds } ?? 0
        recentFaults = max(0, recentFaults + Int(clamping: forgiven)) + 1
        lastFault = now
        let wait = RetryPolicy.doubled(
            limits.firstBackOffMilliseconds, times: recentFaults - 1, atMost: limits.lastBackOffMilliseconds)
        slots[worker.place].phase = .backingOff(until: now.advanced(byMilliseconds: wait))
        return actions
    }

    /// Time has passed: workers that wait are started, and questions that were not answered in time are given up. A worker
    /// that has such a question does not answer in time, and is ended.
    package mutating func passed(to now: Timestamp) -> [Action] {
        var actions: [Action] = []
        for question in questions.filter({ $0.value.deadline <= now }).keys.sorted() {
            if let worker = questions[question]?.worker {
                actions += fault(.late, of: worker, at: now)
            } else if questions.removeValue(forKey: question) != nil {
                waiting.removeAll { $0 == question }
                actions.append(.answer(question: question, .late))
            }
        }
        for place in slots.indices where !isQuarantined {
            switch slots[place].phase {
            case .starting(let until) where until <= now:
                actions += fault(.unready, of: worker(place), at: now)
            case .backingOff(let until) where until <= now: actions.append(begin(place, at: now))
            default: break
            }
        }
        return actions
    }

    /// Takes the rule into use again.
    package mutating func enable(at now: Timestamp) -> [Action] {
        guard !isStopped else { return [] }
        isQuarantined = false
        consecutiveFaults = 0
        recentFaults = 0
        for place in slots.indices {
            if case .backingOff = slots[place].phase { slots[place].phase = .idle }
        }
        return start(at: now)
    }

    /// Ends all workers, for good.
    package mutating func stop() -> [Action] {
        isStopped = true
        isQuarantined = true
        return end(answering: .ended)
    }

    private func worker(_ place: Int) -> Worker { Worker(place: place, generation: slots[place].generation) }

    private func isCurrent(_ worker: Worker) -> Bool {
        slots.indices.contains(worker.place) && slots[worker.place].generation == worker.generation
    }

    private mutating func begin(_ place: Int, at now: Timestamp) -> Action {
        slots[place].phase = .starting(until: now.advanced(byMilliseconds: limits.startMilliseconds))
        return .start(worker(place))
    }

    /// Gives the waiting questions to the workers that have the fewest.
    private mutating func distribute() -> [Action] {
        var actions: [Action] = []
        while let question = waiting.first {
            let free = slots.indices.filter { slots[$0].phase == .ready && slots[$0].asked.count < limits.pipelined }
            guard let place = free.min(by: { slots[$0].asked.count < slots[$1].asked.count }) else { break }
            waiting.removeFirst()
            slots[place].asked.append(question)
            let worker = worker(place)
            questions[question]?.worker = worker
            actions.append(.send(question: question, to: worker))
        }
        return actions
    }

    private mutating func quarantine(because fault: RuleFault) -> [Action] {
        isQuarantined = true
        return end(answering: .quarantined) + [.quarantine(fault)]
    }

    private mutating func end(answering fault: RuleFault) -> [Action] {
        var actions: [Action] = []
        for place in slots.indices {
            switch slots[place].phase {
            case .ready, .starting: actions.append(.kill(worker(place), nil))
            case .idle, .backingOff: break
            }
            slots[place].generation += 1
            slots[place].phase = .idle
            slots[place].asked = []
        }
        actions += questions.keys.sorted().map { .answer(question: $0, fault) }
        questions = [:]
        waiting = []
        return actions
    }
}
