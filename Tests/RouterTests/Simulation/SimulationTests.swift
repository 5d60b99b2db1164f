import Glibc
import RouterTesting
import Testing

/// Whole histories drawn from seeds. A failure prints its seed, which reproduces it.
///
/// Fifty seeds in a debug build, which checks more on the way; `make soak` runs ten thousand of them, optimised.
/// `ROUTERD_SIM_SEEDS` runs that many longer histories, `ROUTERD_SIM_FIRST` says with which seed they begin.
@Suite("Simulation")
struct SimulationTests {
    static let long = number("ROUTERD_SIM_SEEDS") ?? 0
    static let first = number("ROUTERD_SIM_FIRST") ?? 0

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }

    /// Runs seeds until one fails.
    private func run(_ seeds: Range<UInt64>, ticks: Int) {
        for seed in seeds {
            let report = Simulation.run(seed: seed, ticks: ticks)
            guard report.isSound else {
                Issue.record("\(report)")
                return
            }
        }
    }

    @Test("No invariant is broken, and everything settles in the end", arguments: 0..<2)
    func short(share: UInt64) {
        run(share * 25..<(share + 1) * 25, ticks: 25)
    }

    @Test("The same, longer", .enabled(if: long > 0), arguments: 0..<2)
    func soak(half: UInt64) {
        let share = (Self.long + 1) / 2
        run(Self.first + half * share..<Self.first + (half + 1) * share, ticks: 400)
    }

    @Test("The same seed gives the same history, another seed another one")
    func deterministic() {
        for seed in [1, 2, 3] as [UInt64] {
            let (first, second) = (Simulation.run(seed: seed, ticks: 40), Simulation.run(seed: seed, ticks: 40))
            #expect(first.fingerprint == second.fingerprint && first.actions == second.actions)
            #expect(first.statistics == second.statistics)
            #expect(first.fingerprint != Simulation.run(seed: seed + 3, ticks: 40).fingerprint)
        }
    }

    /// A simulator without events would find nothing.
    @Test("Every kind of fault occurs")
    func eventful() {
        var total = SimulationStatistics()
        for seed in 0..<60 as Range<UInt64> {
            total = total + Simulation.run(seed: seed, ticks: 25).statistics
        }
        #expect(total.accepted > 600 && total.duplicates > 20 && total.crashes > 20 && total.jumps > 10, "\(total)")
        #expect(total.forgotten > 200 && total.replayed > 30, "\(total)")
        #expect(total.events > 200 && total.discards > 10, "\(total)")
        #expect(
            total.refusals > 20 && total.postponements > 50 && total.stops > 10 && total.reloads > 10,
            "\(total)")
        #expect(total.postponedDecisions > 100, "\(total)")
        #expect(total.attempts > 600 && total.arrivals < total.attempts && total.openings > 6, "\(total)")
    }

    @Test("Gates hold, release, and are taken over")
    func gates() {
        var total = SimulationStatistics()
        for seed in 0..<20 as Range<UInt64> {
            let report = Simulation.run(seed: seed, ticks: 40) { options in
                options.gated = 1000
                options.gate = 900
                options.sessionsPerApplication = 8
            }
            if !report.isSound { Issue.record("\(report)") }
            total = total + report.statistics
        }
        #expect(total.gated > 50 && total.flowed > 20 && total.takeovers > 5, "\(total)")
    }

    @Test("Passcodes lock, open, are changed, mistyped and wiped")
    func passcodes() {
        var total = SimulationStatistics()
        for seed in 0..<100 as Range<UInt64> {
            let report = Simulation.run(seed: seed, ticks: 100) { options in
                options.gated = 1000
                options.gate = 100
                options.locked = 1000
                options.passcode = 900
                options.ingest = 200
                options.registration = 50
                options.motion = 100
                options.sessionsPerApplication = 4
            }
            if !report.isSound { Issue.record("\(report)") }
            total = total + report.statistics
        }
        #expect(total.locks > 50 && total.unlocks > 30 && total.signatures > 5, "\(total)")
        #expect(total.wrongPasscodes > 50 && total.exhausted > 5 && total.changes > 5, "\(total)")
        #expect(total.crashes > 30 && total.jumps > 5 && total.takeovers > 5, "\(total)")
    }
}
