import DequeModule
import RouterPlugin

/// Decisions that take more steps than a round may give them, in a line for each application.
///
///     round    every command at hand, up to `first` steps an application
///                │ out of steps
///                ▼
///     line     A: decision, command, command …       one turn after another, each for `turn` steps,
///              B: decision                            until the round has taken `round` steps
///
/// Behind a decision in a line, the commands of its application's clients wait in their order. Commands of other applications
/// do not. Lines are counted in steps and keep no time.
struct DecisionLines: Sendable {
    /// A line; nil stands for the router's own work that belongs to no application.
    typealias Key = ApplicationID?

    private struct Line {
        var jobs: Deque<EngineLoop.Job> = []
        /// The answers that the decision of the first job has found so far.
        var work: DecisionWork?
        /// The follow-ups among the jobs. A change may ask for one again that has not been done yet.
        var followUps: Set<FollowUp> = []

        mutating func popFirst() -> EngineLoop.Job? {
            let job = jobs.popFirst()
            if let followUp = job?.followUp { followUps.remove(followUp) }
            return job
        }
    }

    /// The first job of a line, which has been taken out for its turn.
    struct Turn: Sendable {
        let key: Key
        let job: EngineLoop.Job
        var work: DecisionWork
    }

    var limits = EngineLoop.Steps()
    private var lines: [Key: Line] = [:]
    /// The lines in the order of their turns. A line whose job has been taken out is not among them.
    private var turns: Deque<Key> = []
    /// The steps of this round, by line, of those that have taken more than a few; and of all of them.
    private var spent: [Key: Int] = [:]
    private var spentByAll = 0
    /// Whether lines have had a turn in this round.
    private(set) var isInTurns = false

    /// Whether no decision waits to be finished.
    var isEmpty: Bool { lines.isEmpty }

    mutating func beginRound() {
        (spentByAll, isInTurns) = (0, false)
        if !spent.isEmpty { spent.removeAll(keepingCapacity: true) }
    }

    /// Whether this round has taken few steps so far.
    var isUntouched: Bool { spent.isEmpty && spentByAll <= limits.round - limits.first }

    /// The steps that a decision may take that has not waited.
    func allowance(of key: Key) -> Int {
        max(limits.least, min(limits.first - spent[key, default: 0], limits.round - spentByAll))
    }

    /// Whether so few steps count for the round only, and not for the application.
    func isFew(_ steps: Int) -> Bool { steps <= limits.least / 4 }

    mutating func spend(_ steps: Int) { spentByAll += steps }

    mutating func spend(_ steps: Int, of key: Key) {
        spentByAll += steps
        spent[key, default: 0] += steps
    }

    /// Whether commands of the application's clients wait.
    func hasLine(_ key: Key) -> Bool { lines[key] != nil }

    /// Adds a job to the end of a line; returns false if the line is full, which never keeps work of the router's own out. A
    /// follow-up that waits there is not added again.
    mutating func append(_ job: EngineLoop.Job, _ work: DecisionWork? = nil, to key: Key) -> Bool {
        var line = lines.removeValue(forKey: key) ?? Line()
        defer { lines[key] = line }
        guard job.ticket == nil || line.jobs.count < limits.waiting else { return false }
        if let followUp = job.followUp, !line.followUps.insert(followUp).inserted { return true }
        if line.jobs.isEmpty {
            line.work = work
            turns.append(key)
        }
        line.jobs.append(job)
        return true
    }

    /// Takes the first job of the line whose turn it is; nil if there is none, or no steps are left.
    mutating func take() -> Turn? {
        // Lines have one turn in each round, whatever else has taken steps.
        guard !isInTurns || spentByAll < limits.round, let key = turns.popFirst(),
            var line = lines.removeValue(forKey: key), let job = line.popFirst()
        else { return nil }
        isInTurns = true
        var work = line.work ?? DecisionWork(limit: limits.turn)
        if line.work != nil { work.resume(limits.turn) }
        line.work = nil
        lines[key] = line
        return Turn(key: key, job: job, work: work)
    }

    /// Ends a turn: its job has been planned, or has failed, unless it is put back to the front of its line.
    mutating func end(_ turn: Turn, puttingBack isPutBack: Bool) {
        var line = lines.removeValue(forKey: turn.key) ?? Line()
        if isPutBack {
            line.jobs.prepend(turn.job)
            if let followUp = turn.job.followUp { line.followUps.insert(followUp) }
            line.work = turn.work
        }
        guard !line.jobs.isEmpty else { return }
        lines[turn.key] = line
        turns.append(turn.key)
    }

    /// Drops the router's own work.
    mutating func drain() {
        for key in Array(lines.keys) {
            guard var line = lines.removeValue(forKey: key) else { continue }
            if line.jobs.first?.isFollowUp == true { line.work = nil }
            line.jobs.removeAll(where: \.isFollowUp)
            line.followUps = []
            if line.jobs.isEmpty {
                turns.removeAll { $0 == key }
            } else {
                lines[key] = line
            }
        }
    }
}

extension Command {
    /// The application in whose line a client's command waits behind decisions; nil if it waits for none.
    var waitingApplication: ApplicationID? {
        switch self {
        case .accept(let request): request.application
        case .acceptAll(let requests): requests.first?.application
        case .activate(let request): request.application
        case .putSession(let key, _, _), .patchSession(let key, _), .deleteSession(let key, _),
            .disconnectSession(let key), .refreshSession(let key), .resume(let key):
            key.application
        default: nil
        }
    }
}
