package import Router
package import RouterPlugin

/// The parameters of a simulation. All of them follow from the seed, so that a report needs only the seed.
package struct SimulationOptions: Sendable, CustomStringConvertible {
    package var applications: Int
    package var sessionsPerApplication: Int
    package var maximumInFlight: Int
    package var perOrigin: Int
    package var slow: Int
    package var maxInFlightPerSession: Int
    package var retrySchedule: [Int]
    package var moveLimit: Int
    package var rules: [SimulatedRule.Kind]
    /// The consequence of a missing answer of the remote rule; nil without a remote rule.
    package var remote: RemoteRule.Failure?
    package var retention: RetentionPolicy
    /// Chances per tick, in per mille.
    package var ingest: Int
    package var registration: Int
    package var recall: Int
    package var replay: Int
    /// Chance that a scene moves.
    package var motion: Int
    /// Chance that a session sends a request to its gate, and chance that an application has a gate.
    package var gate: Int
    package var gated: Int
    /// Chance of a request about a passcode, and chance that a gate asks for one.
    package var passcode: Int
    package var locked: Int
    package var commitFault: Int
    package var crash: Int
    /// Chance per crash that the clock has been set before the process starts again, in per mille.
    package var clockJump: Int
    package var behaviourChange: Int
    /// Chance that an endpoint that changes its behaviour becomes a faulty one, in per mille.
    package var trouble: Int
    /// Chance that a producer repeats a request, in per mille.
    package var repetition: Int
    /// Chance per turn that a shared transaction is refused as a conflict, in per mille.
    package var refusal: Int
    /// Chance per tick that the process stops gracefully, in per mille.
    package var stop: Int
    /// Chance per tick that the rules are replaced, in per mille.
    package var reload: Int

    /// The steps of decisions in a turn; nil for those of a daemon, which no decision of a simulation takes.
    package var stepsPerTurn: Int?
    /// Chance that time passes between two turns of a decision, in per mille.
    package var pause: Int
    /// Chance that a new notification is a broadcast, in per mille; with 0 no application takes one.
    package var broadcast: Int
    /// Chance that an endpoint is a stream, in per mille; with 0 no receiver connects out.
    package var streamed: Int
    /// Chance per tick that a receiver connects to a session, takes over or leaves, in per mille.
    package var stream: Int
    /// How many attempts over streams run at once.
    package var streamSlots: Int
    /// Chance per step of the process that a connection ends, in per mille.
    package var drop: Int

    package init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func draw(_ choices: Int...) -> Int { choices.randomElement(using: &generator) ?? 0 }
        applications = draw(1, 1, 2, 3)
        sessionsPerApplication = draw(1, 2, 4, 8)
        maximumInFlight = draw(1, 2, 4, 16, 64)
        perOrigin = draw(1, 2, 9, 64)
        slow = draw(1, 2, 8)
        maxInFlightPerSession = draw(1, 1, 1, 2, 3)
        moveLimit = draw(1, 2, 5, 512)
        let schedules = [[], [0], [1, 2], [5, 300, 1800], [5, 300, 1800, 7200, 18_000]]
        retrySchedule = schedules.randomElement(using: &generator) ?? []
        rules = SimulatedRule.Kind.allCases.filter { _ in draw(0, 0, 1) == 1 }
        ingest = draw(200, 600, 900)
        registration = draw(20, 100, 300)
        recall = draw(0, 20, 100)
        replay = draw(0, 50, 200)
        commitFault = draw(0, 0, 30, 200)
        crash = draw(0, 10, 30, 100)
        clockJump = draw(0, 200, 500)
        behaviourChange = draw(30, 150, 400)
        trouble = draw(0, 300, 600, 900)
        repetition = draw(50, 200, 400)
        let ages: [Int64?] = [nil, 0, 60_000, 3_600_000]
        let sizes: [Int64?] = [nil, nil, 0, 200]
        retention = RetentionPolicy(
            ageMilliseconds: ages.randomElement(using: &generator) ?? nil,
            maximumBytes: sizes.randomElement(using: &generator) ?? nil,
            repeatMilliseconds: [0, 5000, 600_000].randomElement(using: &generator) ?? 0)
        motion = draw(100, 300, 600)
        gate = draw(100, 400, 800)
        gated = draw(0, 0, 500, 1000)
        passcode = draw(100, 400, 800)
        locked = draw(0, 500, 1000)
        refusal = draw(0, 50, 300)
        stop = draw(0, 10, 40)
        reload = draw(0, 0, 20, 100)
        remote = [nil, nil, .open, .closed].randomElement(using: &generator) ?? nil
        stepsPerTurn = [nil, nil, 1, 600].randomElement(using: &generator) ?? nil
        pause = draw(0, 300, 900)
        broadcast = draw(0, 0, 100, 300)
        streamed = draw(0, 0, 400, 800)
        stream = draw(100, 400, 800)
        streamSlots = draw(1, 2, 16, 64)
        drop = draw(0, 5, 20, 60)
    }

    /// The steps of decisions before other commands have their turn.
    package var steps: EngineLoop.Steps {
        var steps = EngineLoop.Steps()
        guard let stepsPerTurn else { return steps }
        (steps.first, steps.least, steps.turn) = (stepsPerTurn, stepsPerTurn, stepsPerTurn)
        steps.round = 3 * stepsPerTurn
        return steps
    }

    package var caps: DeliveryCaps {
        var caps = DeliveryCaps(slots: maximumInFlight, perOrigin: perOrigin, slow: slow)
        caps.streams = streamSlots
        return caps
    }

    package var description: String {
        """
        applications \(applications), sessions \(sessionsPerApplication), in flight \(maximumInFlight)/\(perOrigin)/\(slow)/\
        \(maxInFlightPerSession), schedule \(retrySchedule), moves \(moveLimit), rules \(rules.map(\.rawValue)), \
        remote \(remote?.rawValue ?? "none"), \
        steps a turn \(stepsPerTurn.map { "\($0)" } ?? "many") (pauses \(pause)‰), ingest \(ingest)‰, \
        registration \(registration)‰, recalls \(recall)‰, replays \(replay)‰, motion \(motion)‰, gates \(gated)‰/\(gate)‰, \
        passcodes \(locked)‰/\(passcode)‰, \
        broadcasts \(broadcast)‰, streams \(streamed)‰/\(stream)‰/\(drop)‰ (\(streamSlots) slots), commit faults \(commitFault)‰, conflicts \(refusal)‰, stops \(stop)‰, reloads \(reload)‰, crashes \(crash)‰ (clock set \(clockJump)‰), \
        behaviour changes \(behaviourChange)‰, trouble \(trouble)‰, repetition \(repetition)‰, kept for \
        \(retention.ageMilliseconds.map { "\($0)ms" } ?? "ever"), \(retention.repeatMilliseconds)ms if larger than \
        \(retention.maximumBytes.map { "\($0)" } ?? "anything")
        """
    }
}

/// The history of a simulation: the last actions for people, and a fingerprint of all actions for comparing runs.
package struct ActionLog: Sendable {
    /// The number of actions kept for people.
    private let kept: Int
    /// FNV-1a over all actions.
    package private(set) var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325
    package private(set) var count = 0
    private var last: [String] = []

    package init(keeping kept: Int = 50) { self.kept = max(1, kept) }

    package mutating func add(_ action: String) {
        for byte in action.utf8 { fingerprint = (fingerprint ^ UInt64(byte)) &* 0x100_0000_01B3 }
        if last.count < kept { last.append(action) } else { last[count % kept] = action }
        count += 1
    }

    /// The last actions, oldest first.
    package var tail: [String] {
        let start = count > kept ? count % kept : 0
        return Array(last[start...] + last[..<start])
    }
}

/// Counts of events in a simulation.
package struct SimulationStatistics: Hashable, Sendable {
    package var accepted = 0
    package var duplicates = 0
    package var attempts = 0
    package var arrivals = 0
    package var crashes = 0
    package var jumps = 0
    package var forgotten = 0
    package var replayed = 0
    /// How often a breaker opened.
    package var openings = 0
    package var events = 0
    /// How many sessions with events to receive were discarded.
    package var discards = 0
    /// How many notifications a gate held, and how many of them were released.
    package var gated = 0
    package var flowed = 0
    /// How often a session became responsible at a gate without having asked for it.
    package var takeovers = 0
    /// How often a gate was reset, and how often a session began to show the demo.
    package var resets = 0
    package var demos = 0
    /// How often an application was locked, was unlocked, and was unlocked by a signature.
    package var locks = 0
    package var unlocks = 0
    package var signatures = 0
    /// How many passcodes were wrong, how many of them used up the last try, and how many were changed.
    package var wrongPasscodes = 0
    package var exhausted = 0
    package var changes = 0
    /// How many shared transactions were refused as a conflict, and planned again one by one.
    package var refusals = 0
    /// How often the engine's own work had to wait for the store.
    package var postponements = 0
    /// How often the process stopped gracefully, and how many outcomes it could not commit then.
    package var stops = 0
    package var losses = 0
    /// How often the rules were replaced.
    package var reloads = 0
    /// How often a round left decisions for their next turn.
    package var postponedDecisions = 0
    /// How many broadcasts were accepted with more than one notification, and how many were repeated.
    package var broadcasts = 0
    package var repeatedBroadcasts = 0
    package var streams = StreamStatistics()

    package init() {}

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.accepted += right.accepted
        sum.duplicates += right.duplicates
        sum.attempts += right.attempts
        sum.arrivals += right.arrivals
        sum.crashes += right.crashes
        sum.jumps += right.jumps
        sum.forgotten += right.forgotten
        sum.replayed += right.replayed
        sum.openings += right.openings
        sum.events += right.events
        sum.discards += right.discards
        sum.gated += right.gated
        sum.flowed += right.flowed
        sum.takeovers += right.takeovers
        sum.resets += right.resets
        sum.demos += right.demos
        sum.locks += right.locks
        sum.unlocks += right.unlocks
        sum.signatures += right.signatures
        sum.wrongPasscodes += right.wrongPasscodes
        sum.exhausted += right.exhausted
        sum.changes += right.changes
        sum.refusals += right.refusals
        sum.postponements += right.postponements
        sum.stops += right.stops
        sum.losses += right.losses
        sum.reloads += right.reloads
        sum.postponedDecisions += right.postponedDecisions
        sum.broadcasts += right.broadcasts
        sum.repeatedBroadcasts += right.repeatedBroadcasts
        sum.streams = left.streams + right.streams
        return sum
    }
}
