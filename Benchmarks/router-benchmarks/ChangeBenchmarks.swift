import Router
import RouterPlugin

/// A registry that changes, and the sessions that do, drawn once.
final class ChangingRegistry {
    private static let changes = 1_000

    private var registry: IndexedRegistry
    private let entries: Lasting<RegistryEntry>
    private var time: Int64 = 1_767_225_600_000

    init(_ population: Population) {
        var random = Randomness(seed: 5)
        registry = population.registry
        entries = Lasting((0..<Self.changes).map { _ in random.pick(population.entries) })
    }

    /// A session goes to another state, and then the next one does.
    var stateChanges: Benchmark {
        Benchmark(name: "state change, 100,000", operations: entries.count) {
            self.time += 1
            return Self.changeStates(of: self.entries, in: &self.registry, at: self.time)
        }
    }

    /// The same as one batch, of two that are made before the measurement: each session changes in either.
    var stateChangesTogether: Benchmark {
        let (first, second) = (Lasting([batch(0)]), Lasting([batch(1)]))
        return Benchmark(name: "state change, sixteen together, 100,000", operations: entries.count) {
            self.time += 1
            // No conditional expression: it would retain the batches that it chooses.
            if self.time % 2 == 0 { return Self.apply(first, to: &self.registry) }
            return Self.apply(second, to: &self.registry)
        }
    }

    private func batch(_ parity: Int) -> [RegistryChange] {
        var (number, changes) = (parity, [RegistryChange]())
        entries.forEach { entry in
            let state: ActivationState = number % 2 == 0 ? .background : .foregroundActive
            let time = Timestamp(milliseconds: self.time + Int64(parity))
            changes.append(.setState(entry.session, state, lastActivatedAt: time))
            number += 1
        }
        return changes
    }

    /// A session goes and comes again, and then the next one does.
    var replacements: Benchmark {
        Benchmark(name: "remove and insert, 100,000", operations: entries.count) {
            Self.replace(self.entries, in: &self.registry)
        }
    }

    @inline(never)
    private static func changeStates(
        of entries: Lasting<RegistryEntry>, in registry: inout IndexedRegistry, at time: Int64
    ) -> Int {
        var next: ActivationState = time % 2 == 0 ? .background : .foregroundActive
        entries.forEach { entry in
            registry.setState(entry.session, next, lastActivatedAt: Timestamp(milliseconds: time))
            next = next == .background ? .foregroundActive : .background
        }
        return registry.count
    }

    @inline(never)
    private static func apply(_ batches: Lasting<[RegistryChange]>, to registry: inout IndexedRegistry) -> Int {
        batches.forEach { registry.apply($0) }
        return registry.count
    }

    @inline(never)
    private static func replace(_ entries: Lasting<RegistryEntry>, in registry: inout IndexedRegistry) -> Int {
        entries.forEach { entry in
            registry.remove(entry.session)
            registry.insert(entry)
        }
        return registry.count
    }
}
