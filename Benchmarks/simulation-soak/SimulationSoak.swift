import Glibc
import RouterTesting
import Synchronization

/// Runs many seeds of the simulator, and of the laws of the planner, in a bounded time; prints each failing seed and
/// how to see it again.
///
///     simulation-soak SEEDS FIRST TICKS SECONDS ACTIONS
///
/// ACTIONS is how many of a failing seed's last actions are shown.
@main
struct SimulationSoak {
    private struct Progress {
        var next: UInt64
        var done: UInt64 = 0
        var total = SimulationStatistics()
        var failing: [UInt64] = []
    }

    /// The board that all workers write to.
    private final class Board: Sendable {
        let progress: Mutex<Progress>

        init(from first: UInt64) { progress = Mutex(Progress(next: first)) }
    }

    /// The number of reports shown in full; of the others the seed is enough.
    private static let reportsShown = 3

    static func main() async {
        let numbers = CommandLine.arguments.dropFirst().map { UInt64($0) ?? 0 } + [0, 0, 0, 0, 0]
        let (seeds, first) = (numbers[0] == 0 ? 10_000 : numbers[0], numbers[1])
        let ticks = numbers[2] == 0 ? 100 : Int(clamping: numbers[2])
        let seconds = numbers[3] == 0 ? 1800 : Int64(clamping: numbers[3])
        let actions = numbers[4] == 0 ? 50 : Int(clamping: numbers[4])
        let deadline = ContinuousClock.now.advanced(by: .seconds(seconds))
        let board = Board(from: first)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) {
                group.addTask { work(board, end: first + seeds, ticks: ticks, actions: actions, until: deadline) }
            }
        }
        let result = board.progress.withLock { $0 }
        print("\(result.done) of \(seeds) seeds from \(first), \(ticks) ticks each: \(result.failing.count) failing")
        print("\(result.total)")
        for seed in result.failing.sorted() {
            print("seed \(seed) failed; again: make soak SEEDS=1 FIRST=\(seed) TICKS=\(ticks)")
        }
        if result.done < seeds { print("The time was up after \(seconds) s: the others have not been run.") }
        exit(result.failing.isEmpty && result.done == seeds ? 0 : 1)
    }

    private static func work(
        _ board: Board, end: UInt64, ticks: Int, actions: Int, until deadline: ContinuousClock.Instant
    ) {
        while ContinuousClock.now < deadline {
            let seed = board.progress.withLock { progress -> UInt64? in
                guard progress.next < end else { return nil }
                defer { progress.next += 1 }
                return progress.next
            }
            guard let seed else { return }
            let report = Simulation.run(seed: seed, ticks: ticks, actionsShown: actions)
            let laws = PlannerLaws.violations(seed: seed, steps: ticks)
            board.progress.withLock { progress in
                progress.done += 1
                progress.total = progress.total + report.statistics
                guard !report.isSound || !laws.isEmpty else { return }
                progress.failing.append(seed)
                guard progress.failing.count <= reportsShown else { return }
                if !report.isSound { print("\(report)\n") }
                if !laws.isEmpty { print("laws of the planner: \(laws.joined(separator: "\n"))\n") }
            }
        }
    }
}
