import RouterTesting
import Testing

/// Proves that the simulator finds faults: each sabotage of the loop has to be detected.
@Suite("Simulation: sabotage")
struct SabotageTests {
    /// The seeds that a sabotage may take; most need a handful.
    static let seeds = 0..<60 as Range<UInt64>

    /// The first words of the findings that show the sabotage.
    static let findings: [(Sabotage, [String])] = [
        (.acknowledgesBeforeCommit, ["12.1 acknowledged, but not committed", "answered twice"]),
        (.appliesBeforeCommit, ["P2 the engine holds", "12.1 sent, but never accepted"]),
        (.forgetsFailedCommits, ["P8", "liveness"]),
        (.forgetsFollowUps, ["P8", "liveness"]),
        (.forgetsRecovery, ["P8", "liveness"]),
        (.ignoresConflicts, ["the router contradicts its store", "12.7"]),
        (.startsTwice, ["12.2 two attempts"]),
        (.settlesBeforeSending, ["delivered, says the router; no endpoint has taken it"]),
        (.forgetsProgress, ["replayed"]),
        (.missesNobody, ["gate: "]),
        (.opensGates, ["12.6 "]),
        (.holdsNothing, ["12.6 "]),
        (.keepsTerms, ["gate: term "]),
        (.flowsOutOfOrder, ["12.6 "]),
        (.keepsQuiet, ["gate: "]),
        (.believesEverybody, ["passcode: "]),
        (.countsInMemory, ["passcode: compared before"]),
        (.forgetsTries, ["passcode: "]),
        (
            .forgetsDeletions,
            ["registered while it is being deleted", "P2 ", "P8 the deletion of", "the router contradicts"]
        ),
        (.hearsStaleTerms, ["gate: a stale term"]),
        (.neverLocks, ["passcode: ", "P8 the lock of"]),
        (.tellsTheGone, ["gate: "]),
        (.showsTheNext, ["reset: "]),
        (.showsBeforeCover, ["cover: "]),
        (.keepsFailuresQuiet, ["gate: "]),
        (.waitsForTheSilent, ["gate: "]),
        (.waitsForTheHidden, ["gate: "]),
        (.skipsConnecting, ["life cycle: "]),
        (.ignoresDraining, ["stop: an attempt is started"]),
        (.dropsLateOutcomes, ["stop: "]),
        (.forgetsVetoes, ["12.7 "]),
        (.keepsOthersWaiting, ["turns: "]),
        (.breaksTheOrder, ["order: "]),
    ]

    private func run(_ seed: UInt64, _ sabotage: Sabotage?) -> Simulation.Report {
        Simulation.run(seed: seed, ticks: 40, sabotage: sabotage) { options in
            options.registration = 400
            options.commitFault = 100
            options.crash = 200
            options.replay = 100
            options.gated = 700
            options.gate = 600
            options.locked = 700
            options.passcode = 600
        }
    }

    @Test("Each sabotage is detected", arguments: findings)
    func noticed(sabotage: Sabotage, findings: [String]) {
        for seed in Self.seeds {
            let report = run(seed, sabotage)
            let isNoticed = report.violations.contains { violation in findings.contains { violation.hasPrefix($0) } }
            if isNoticed { return }
        }
        Issue.record("\(sabotage) was not noticed in \(Self.seeds.count) seeds.")
    }

    /// The cause of the findings is the sabotage, and not the world around it.
    @Test("The same worlds are sound without a sabotage")
    func control() {
        for seed in Self.seeds {
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
        for part in ["applications ", "crashes ", "violations:", "12.2", "last actions of"] {
            #expect(text.contains(part))
        }
        #expect(report.lastActions.count <= 50)
        #expect(Simulation.run(seed: report.seed, ticks: 40, sabotage: .startsTwice).description == text)
    }
}
