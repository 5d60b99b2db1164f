/// Everything that is measured, in the order in which it is shown.
enum Suite {
    static func benchmarks() throws -> [Benchmark] {
        let (thousand, mixed) = (try Population.mixed(.thousand), try Population.mixed(.hundredThousand))
        let documents = try Population.documents(.hundredThousand)
        let wishful = try Population.wishful(.hundredThousand)
        let changing = ChangingRegistry(mixed)
        return [
            .decisions("mixed, 1,000", among: thousand),
            .decisions("a document each, 1,000", among: try .documents(.thousand)),
            .decisions("mixed, 100,000", among: mixed),
            .decisions("a document each, 100,000", among: documents),
            .decisions("names of 36 bytes, 100,000", among: mixed.withLongNames()),
            .decisions("subject on the right, 1,000", among: try .turned(.thousand)),
            .decisions("orders of which none holds, 1,000", among: try .orders(.thousand)),
            .decisions("question marks behind a star, 1,000", among: try .patterns(.thousand), asking: 8),
        ] + Benchmark.rarerDecisions(among: mixed) + [
            .strictDecision("a session that prefers must be able to and is not, 100,000", among: wishful),
            .choice("with its reason, 100,000", among: documents),
            try .verdicts("rule without code, 1,000", under: .literals, among: thousand),
            try .verdicts("patterns and options, 1,000", under: .options, among: thousand),
            try .verdicts("candidate and notification, 1,000", under: .notification, among: thousand),
            try .verdicts("texts beyond ASCII, 1,000", under: .beyondASCII, among: thousand),
            changing.stateChanges,
            changing.stateChangesTogether,
            changing.replacements,
            try DeliveryBenchmark().delivered,
            .lookup(.thousand),
            .lookup(.hundredThousand),
        ]
    }
}
