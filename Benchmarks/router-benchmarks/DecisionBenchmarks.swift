import Router
import RouterPlugin

extension Benchmark {
    /// Decides questions one after another.
    static func decision(_ name: String, _ registry: IndexedRegistry, _ queries: [RegistryQuery]) -> Benchmark {
        let lasting = Lasting(queries)
        return Benchmark(name: "decision, \(name)", operations: queries.count) { decide(lasting, by: registry) }
    }

    /// The number of questions that have an answer.
    @inline(never)
    private static func decide(_ queries: Lasting<RegistryQuery>, by registry: IndexedRegistry) -> Int {
        var found = 0
        queries.forEach { if registry.best(for: $0) != nil { found += 1 } }
        return found
    }

    /// Questions about contents, to all sessions.
    static func decisions(
        _ name: String, among population: Population, asking count: Int = Population.subjectCount
    ) -> Benchmark {
        decision(name, population.registry, population.subjects.prefix(count).map { query($0) })
    }

    /// Questions of other kinds, to the same sessions.
    static func rarerDecisions(among mixed: Population) -> [Benchmark] {
        var random = Randomness(seed: 4)
        let unnamed = Array(repeating: RegistryQuery(contentID: nil), count: Population.subjectCount)
        let ofDevice = mixed.subjects.map {
            query($0, device: Population.device(ofSession: random.draw(mixed.entries.count)))
        }
        let long = mixed.subjects.map { query($0 + "/" + String(repeating: "z", count: 4_095 - $0.utf8.count)) }
        return [
            decision("content not named, 100,000", mixed.registry, unnamed),
            decision("of one device, 100,000", mixed.registry, ofDevice),
            strictDecision("a session that prefers must be able to and is, 100,000", among: mixed),
            decision("subject of 4 KiB, 100,000", mixed.registry, long),
            decision("subject not ASCII, 100,000", mixed.registry, mixed.subjects.map { query($0 + "/é") }),
        ]
    }

    /// Questions to applications where a session that prefers a content must also be able to show it.
    static func strictDecision(_ name: String, among population: Population) -> Benchmark {
        decision(name, population.registry, population.subjects.map { query($0, prefersRequiresCan: true) })
    }

    private static func query(
        _ subject: String, device: DeviceID? = nil, prefersRequiresCan: Bool = false
    ) -> RegistryQuery {
        RegistryQuery(
            device: device, contentID: ContentID(unchecked: subject), prefersRequiresCan: prefersRequiresCan)
    }
}
