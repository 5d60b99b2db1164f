extension Benchmark {
    /// The baseline of decisions: a dictionary of as many texts, half of the texts looked for in it.
    static func lookup(_ size: Size) -> Benchmark {
        var random = Randomness(seed: 6)
        let count = size.rawValue
        let places = Dictionary(uniqueKeysWithValues: (0..<count).map { (Condition.document($0), $0) })
        let wanted = Lasting(
            (0..<Population.subjectCount).map { Condition.document(random.draw(count) + ($0 % 2 == 0 ? 0 : count)) })
        return Benchmark(name: "dictionary, \(size.words)", operations: wanted.count) { find(wanted, in: places) }
    }

    @inline(never)
    private static func find(_ wanted: Lasting<String>, in places: [String: Int]) -> Int {
        var found = 0
        wanted.forEach { if places[$0] != nil { found += 1 } }
        return found
    }
}
