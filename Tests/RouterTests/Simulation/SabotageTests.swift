import RouterTesting
import Testing

/// Proves that the simulator finds faults: each sabotage of the loop has to be detected.
@Suite("Simulation: sabotage")
struct SabotageTests {
    /// The seeds that a sabotage may take; most need a handful.
    static let seeds = 0..<60 as Range<UInt64>

    /// The first words of the findings that show the sabotage.
    static let findings: [(Sabotage, [String])] = [
        (.acknowledgesBeforeCommit, ["acceptance: acknowledged, but not committed", "answered twice"]),
        (.appliesBeforeCommit, ["conservation: the engine holds", "acceptance: sent, but never accepted"]),
        (.forgetsFailedCommits, ["liveness: "]),
        (.forgetsFollowUps, ["liveness: "]),
        (.forgetsRecovery, ["liveness: "]),
        (.ignoresConflicts, ["the router contradicts its store", "decision: "]),
        (.startsTwice, ["attempts: two attempts"]),
        (.settlesBeforeSending, ["delivered, says the router; no endpoint has taken it"]),
        (.forgetsProgress, ["replayed"]),
        (.missesNobody, ["gate: "]),
        (.opensGates, ["hold: "]),
        (.holdsNothing, ["hold: "]),
        (.keepsTerms, ["gate: term "]),
        (.flowsOutOfOrder, ["hold: "]),
        (.keepsQuiet, ["gate: "]),
        (.believesEverybody, ["passcode: "]),
        (.countsInMemory, ["passcode: compared before"]),
        (.forgetsTries, ["passcode: "]),
        (
            .forgetsDeletions,
            [
                "registered while it is being deleted", "conservation: ", "liveness: the deletion of",
                "the router contradicts",
            ]
        ),
        (.hearsStaleTerms, ["gate: a stale term"]),
        (.neverLocks, ["passcode: ", "liveness: the lock of"]),
        (.tellsTheGone, ["gate: "]),
        (.showsTheNext, ["reset: "]),
        (.showsBeforeCover, ["cover: "]),
        (.staysInTheDemo, ["demo: "]),
        (.keepsFailuresQuiet, ["gate: "]),
        (.waitsForTheSilent, ["gate: "]),
        (.waitsForTheHidden, ["gate: "]),
        (.skipsConnecting, ["life cycle: "]),
        (.ignoresDraining, ["stop: an attempt is started"]),
        (.dropsLateOutcomes, ["stop: "]),
        (.forgetsVetoes, ["decision: "]),
        (.keepsOthersWaiting, ["turns: "]),
        (.breaksTheOrder, ["order: "]),
        (.repeatsReceivers, ["broadcast: "]),
        (.missesTheEnd, ["stream: "]),
        (.endsTheSuccessor, ["stream: "]),
        (.keepsSuperseded, ["stream: two connections"]),
        (.believesStrangers, ["acks: ", "delivered, says the router; no endpoint has taken it"]),
        (.acknowledgesInMemory, ["acks: "]),
        (.losesRefusedWords, ["stream: the attempt of"]),
        (.forgetsPresence, ["presence: "]),
        (.waitsForTheAbsent, ["away: "]),
        (.forgetsNumbers, ["stream: "]),
        (.countsNumbersInMemory, ["numbers: "]),
    ]

    /// The first seed of each sabotage's detection; a change of the simulator makes others, which the tests print.
    static let recorded: [Sabotage: UInt64] = [
        .acknowledgesBeforeCommit: 0, .acknowledgesInMemory: 0, .appliesBeforeCommit: 1, .believesEverybody: 0,
        .believesStrangers: 0, .breaksTheOrder: 54, .countsInMemory: 0, .countsNumbersInMemory: 0,
        .dropsLateOutcomes: 5, .endsTheSuccessor: 4, .flowsOutOfOrder: 1, .forgetsDeletions: 7,
        .forgetsFailedCommits: 4, .forgetsFollowUps: 0, .forgetsNumbers: 0, .forgetsPresence: 0,
        .forgetsProgress: 0, .forgetsRecovery: 4, .forgetsTries: 17, .forgetsVetoes: 49, .hearsStaleTerms: 9,
        .holdsNothing: 0, .ignoresConflicts: 0, .ignoresDraining: 15, .keepsFailuresQuiet: 0,
        .keepsOthersWaiting: 4, .keepsQuiet: 0, .keepsSuperseded: 0, .keepsTerms: 0, .losesRefusedWords: 0,
        .missesNobody: 0, .missesTheEnd: 0, .neverLocks: 5, .opensGates: 0, .repeatsReceivers: 6,
        .settlesBeforeSending: 0, .showsBeforeCover: 4, .showsTheNext: 0, .skipsConnecting: 0, .startsTwice: 0,
        .staysInTheDemo: 9, .tellsTheGone: 0, .waitsForTheAbsent: 32, .waitsForTheHidden: 5, .waitsForTheSilent: 39,
    ]

    /// The sabotages of receivers that connect out.
    private static let ofStreams: Set<Sabotage> = [
        .missesTheEnd, .endsTheSuccessor, .keepsSuperseded, .believesStrangers, .acknowledgesInMemory,
        .losesRefusedWords, .forgetsPresence, .waitsForTheAbsent, .forgetsNumbers, .countsNumbersInMemory,
    ]

    private func run(_ seed: UInt64, _ sabotage: Sabotage?) -> Simulation.Report {
        if sabotage == .staysInTheDemo {
            // A demo has to begin while notifications wait in the lane of its session: behind an open gate that is often asked.
            return Simulation.run(seed: seed, ticks: 60, sabotage: sabotage) { options in
                options.registration = 400
                options.gated = 700
                options.gate = 900
                options.ingest = 900
                options.locked = 0
                options.passcode = 0
            }
        }
        return Simulation.run(seed: seed, ticks: 40, sabotage: sabotage) { options in
            options.registration = 400
            options.commitFault = 100
            options.crash = 200
            options.replay = 100
            options.gated = 700
            options.gate = 600
            options.locked = 700
            options.passcode = 600
            if sabotage == .repeatsReceivers { options.broadcast = 500 }
            guard let sabotage, Self.ofStreams.contains(sabotage) else { return }
            options.streamed = 700
            options.stream = 500
        }
    }

    @Test("Each sabotage is detected", arguments: findings)
    func noticed(sabotage: Sabotage, findings: [String]) {
        let recorded = Self.recorded[sabotage].map { [$0] } ?? []
        for seed in recorded + Self.seeds {
            let report = run(seed, sabotage)
            let isNoticed = report.violations.contains { violation in findings.contains { violation.hasPrefix($0) } }
            if isNoticed {
                if recorded != [seed] { print("SabotageTests.recorded: .\(sabotage): \(seed),") }
                return
            }
        }
        Issue.record("\(sabotage) was not noticed in \(Self.seeds.count) seeds.")
    }

    /// The cause of the findings is the sabotage, and not the world around it.
    @Test("The same worlds are sound without a sabotage")
    func control() {
        for seed in Self.seeds.prefix(SimulationRounds.of(60)) {
            let report = run(seed, nil)
            guard report.isSound else {
                Issue.record("\(report)")
                return
            }
        }
    }

    @Test("Every sabotage is tried")
    func complete() {
        #expect(Set(Self.findings.map(\.0)) == Set(Sabotage.allCases))
    }

    @Test("A report shows all that is needed to reproduce the failure")
    func report() throws {
        let reports = Self.seeds.lazy.map { Simulation.run(seed: $0, ticks: 40, sabotage: .startsTwice) }
        let report = try #require(reports.first { !$0.isSound })
        let text = report.description
        #expect(text.hasPrefix("seed \(report.seed), tick "))
        for part in ["applications ", "crashes ", "violations:", "attempts: ", "last actions of"] {
            #expect(text.contains(part))
        }
        #expect(report.lastActions.count <= 50)
        #expect(Simulation.run(seed: report.seed, ticks: 40, sabotage: .startsTwice).description == text)
    }
}
