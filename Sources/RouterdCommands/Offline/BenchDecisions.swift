import ArgumentParser
import Router
import RouterdBench

extension Bench {
    struct Decisions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "decide", abstract: "Measure the decision alone, in this process.",
            discussion: """
                Files are those of `routerd decide`. Times are in nanoseconds: nsMean over a loop, percentiles of calls timed one \
                by one, less the time to read the clock.

                Changes are made one by one, and together: in batches of sixteen, whose memory the registry prefetches.

                For comparison, hashLookupNs is to find one of as many texts in a hash map, and linearScanNs to decide by \
                asking every session. Fields that end in ThreeLoads and FourLoads read and hash the subject and load so many \
                words from memory as large as the registry's, each from where the one before says.

                EXAMPLES
                  routerd bench decide --sessions sessions.jsonl --subjects subjects.txt
                """)

        @Option(help: "Sessions as JSON lines.")
        var sessions: String
        @Option(help: "Content ids, one a line.")
        var subjects: String
        @Option(name: .customLong("repeat"), help: "How often all subjects are decided.")
        var rounds = 10
        @Flag(help: "Print JSON, which is the default.")
        var json = false

        func validate() throws {
            guard rounds > 0 else { throw ValidationError("--repeat has to be at least 1.") }
        }

        func run() throws {
            var entries: [RegistryEntry] = []
            try SessionFile(path: sessions).forEach { entries.append(RegistryEntry($0)) }
            let queries = try SessionFile.subjects(subjects).map { RegistryQuery(contentID: $0) }
            guard !queries.isEmpty else { throw ValidationError("\(subjects) holds no subject.") }
            var trial = DecisionTrial(entries: entries, queries: queries)
            Console.print(trial.report(rounds: rounds))
        }
    }
}
