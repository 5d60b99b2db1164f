import Glibc
import RouterTesting
import Testing

/// The number of histories of a test: a third, or all with `ROUTERD_FUZZ_ALL` (`make verify-index`).
enum SimulationRounds {
    static func of(_ all: Int) -> Int { getenv("ROUTERD_FUZZ_ALL") == nil ? all / 3 : all }
}

/// Whole histories drawn from seeds. A failure prints its seed, which reproduces it.
///
/// Fifty seeds in a debug build, which checks more on the way; `make soak` runs ten thousand of them, optimised.
@Suite("Simulation")
struct SimulationTests {
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
        #expect(total.gated > 20 && total.flowed > 5 && total.takeovers > 0, "\(total)")
        #expect(total.resets > 5 && total.demos > 0 && total.locks > 0, "\(total)")
        #expect(total.attempts > 600 && total.arrivals < total.attempts && total.openings > 6, "\(total)")
    }

    @Test("Broadcasts give each session at most one notification")
    func broadcasts() {
        var total = SimulationStatistics()
        for seed in 0..<40 as Range<UInt64> {
            let report = Simulation.run(seed: seed, ticks: 40) { options in
                options.broadcast = 600
                options.ingest = 600
                options.streamed = 0
                options.sessionsPerApplication = 8
            }
            if !report.isSound { Issue.record("\(report)") }
            total = total + report.statistics
        }
        #expect(total.broadcasts > 50 && total.repeatedBroadcasts > 10 && total.replayed > 10, "\(total)")
    }

    @Test("Receivers that connect out take over, leave, and answer in time, late, twice, for others, or not at all")
    func streams() {
        var total = SimulationStatistics()
        for seed in 0..<30 as Range<UInt64> {
            let report = Simulation.run(seed: seed, ticks: 60) { options in
                options.streamed = 700
                options.stream = 500
                options.commitFault = 30
                options.crash = 30
            }
            if !report.isSound { Issue.record("\(report)") }
            total = total + report.statistics
        }
        let streams = total.streams
        #expect(streams.connections > 300 && streams.takeovers > 50 && streams.ends > 100, "\(streams)")
        #expect(streams.cuts > 3 && streams.lapses > 20 && streams.redecided > 20, "\(streams)")
        #expect(streams.messages > 300 && streams.unwritten > 20, "\(streams)")
        #expect(streams.taken > 100 && streams.late > 10 && streams.afterCrash > 2, "\(streams)")
        #expect(streams.repeated > 10 && streams.unknown > 10 && streams.unkept > 3, "\(streams)")
        #expect(streams.refusals > 10 && streams.timeouts > 20 && streams.losses > 20, "\(streams)")
        #expect(total.arrivals > streams.messages && total.crashes > 20, "\(total)")
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
        for seed in 0..<UInt64(SimulationRounds.of(100)) {
            let report = Simulation.run(seed: seed, ticks: 60) { options in
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
        #expect(total.locks > 10 && total.unlocks > 5 && total.signatures > 0, "\(total)")
        #expect(total.wrongPasscodes > 10 && total.exhausted > 0 && total.changes > 0, "\(total)")
        #expect(total.crashes > 5 && total.jumps > 0 && total.takeovers > 0, "\(total)")
    }
}
