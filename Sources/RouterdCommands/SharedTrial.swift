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
    /// Lines of the cache that a change misses among a million mixed sessions, counted; it is made twice.
    private static let linesPerChange = 16
    private static let bytesPerSession = 128

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
        time(rounds: rounds) { ending in
            guard !sessions.isEmpty else { return }
            let states = ActivationState.allCases
            Self.often(until: ending) { count in
                let session = sessions[count &* 7919 % sessions.count]
                let time = Timestamp(milliseconds: 1_767_225_600_000 + Int64(count))
                registry.change { _ = $0.setState(session, states[count % states.count], lastActivatedAt: time) }
            }
        }
    }

    /// The same while another thread writes to memory of its own, as large as the registry's, so many lines as the changes
    /// would: what it costs readers that they share caches, and the machine, with anybody.
    func timeBeside(rounds: Int) -> SortedTimes {
        let lines = max(sessions.count * Self.bytesPerSession / 64, 1)
        return time(rounds: rounds) { ending in
            var memory = [UInt64](repeating: 0, count: 8 * lines)
            Self.often(until: ending) { count in
                for line in count &* Self.linesPerChange..<(count &+ 1) &* Self.linesPerChange {
                    memory[8 * Int(UInt(bitPattern: line &* 0x9E37_79B1) % UInt(lines))] &+= 1
                }
            }
        }
    }

    private func time(rounds: Int, beside work: @escaping @Sendable (Ending) -> Void) -> SortedTimes {
        let (ending, group) = (Ending(), DispatchGroup())
        DispatchQueue(label: "beside").async(group: group) { work(ending) }
        defer {
            ending.hasCome.store(true, ordering: .relaxed)
            group.wait()
        }
        return timeQuiet(rounds: rounds)
    }

    /// Does something when it is due, 100,000 times a second: a thread that sleeps would not wake up so often.
    private static func often(until ending: Ending, _ body: (Int) -> Void) {
        let start = Nanoseconds.now
        var count = 0
        while !ending.hasCome.load(ordering: .relaxed) {
            guard (Nanoseconds.now - start) * Self.changesPerSecond / 1_000_000_000 > count else { continue }
            body(count)
            count += 1
        }
    }
}
