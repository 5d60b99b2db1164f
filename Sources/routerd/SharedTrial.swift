import Dispatch
import Glibc
import Router
import RouterPlugin
import Synchronization

/// Decisions of a registry that another thread changes meanwhile.
struct SharedTrial {
    /// So many sessions change their state in a second.
    static let changesPerSecond = 100_000
    private static let samples = 1_000_000

    private let registry: SharedRegistry
    private let sessions: [SessionID]
    private let queries: [RegistryQuery]

    /// Whether the one who decides has finished.
    private final class Ending: Sendable {
        let hasCome = Atomic(false)
    }

    init(entries: [RegistryEntry], queries: [RegistryQuery]) {
        var registry = IndexedRegistry()
        registry.reserve(entries.count)
        for entry in entries { registry.insert(entry) }
        self.registry = SharedRegistry(registry) { sched_yield() }
        sessions = entries.map(\.session)
        self.queries = queries
    }

    /// Times every decision by itself, while nothing changes.
    func timeQuiet(rounds: Int) -> SortedTimes {
        SortedTimes(of: queries, rounds: rounds, samples: Self.samples) { query in
            registry.read { $0.best(for: query) }
        }
    }

    /// The same while sessions change their states.
    func timeChanging(rounds: Int) -> SortedTimes {
        let (ending, changes) = (Ending(), DispatchGroup())
        DispatchQueue(label: "changes").async(group: changes) { change(until: ending) }
        defer {
            ending.hasCome.store(true, ordering: .relaxed)
            changes.wait()
        }
        return timeQuiet(rounds: rounds)
    }

    /// Changes one session after another, each when it is due: a thread that sleeps would not wake up so often.
    private func change(until ending: Ending) {
        guard !sessions.isEmpty else { return }
        let (states, start) = (ActivationState.allCases, Nanoseconds.now)
        var count = 0
        while !ending.hasCome.load(ordering: .relaxed) {
            guard (Nanoseconds.now - start) * Self.changesPerSecond / 1_000_000_000 > count else { continue }
            let session = sessions[count &* 7919 % sessions.count]
            let time = Timestamp(milliseconds: 1_767_225_600_000 + Int64(count))
            registry.change { _ = $0.setState(session, states[count % states.count], lastActivatedAt: time) }
            count += 1
        }
    }
}
