import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

extension Bench {
    struct Decisions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "decide", abstract: "Measure the decision alone, in this process.",
            discussion: """
                Files are those of `routerd decide`. Times are in nanoseconds: nsMean over a loop, percentiles of calls timed one \
                by one, less what it takes to read the clock.

                Fields that begin with shared are of a registry that others may change; with changing, of that one while \
                another thread changes the state of 100,000 sessions a second; with Beside, while it writes as many lines of \
                memory of its own. Changes are made one by one, and together: \
                sixteen of which the registry is told before the first, as in a transaction.

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
        @Flag(help: "Print JSON, which is what is printed anyway.")
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
            let decisions = trial.decide(rounds: rounds)
            let timed = trial.timeEach(rounds: rounds)
            let loads = trial.followLoads(rounds: rounds)
            let stateChange = (alone: trial.changeStates(together: 1), together: trial.changeStates(together: 16))
            let replace = (alone: trial.replaceSessions(together: 1), together: trial.replaceSessions(together: 16))
            let shared = SharedTrial(entries: entries, queries: queries)
            let (quiet, changing) = (shared.timeQuiet(rounds: rounds), shared.timeChanging(rounds: rounds))
            let beside = shared.timeBeside(rounds: rounds)
            let (hashLookup, linearScan) = (trial.lookUp(), trial.scan())
            Console.print(
                JSONWriter.object {
                    $0.field("sessions", entries.count)
                    $0.field("buildSeconds", trial.buildSeconds)
                    $0.field("bytesPerSession", trial.bytesPerSession)
                    $0.field("decisions", decisions.count)
                    $0.field("nsMean", decisions.meanNanoseconds)
                    $0.field("nsP50", timed[permille: 500])
                    $0.field("nsP99", timed[permille: 990])
                    $0.field("nsP999", timed[permille: 999])
                    $0.field("nsP50ThreeLoads", loads.three[permille: 500])
                    $0.field("nsP99ThreeLoads", loads.three[permille: 990])
                    $0.field("nsP50FourLoads", loads.four[permille: 500])
                    $0.field("nsP99FourLoads", loads.four[permille: 990])
                    $0.field("checksum", trial.checksum)
                    $0.field("stateChangeNs", stateChange.alone)
                    $0.field("stateChangeTogetherNs", stateChange.together)
                    $0.field("replaceNs", replace.alone)
                    $0.field("replaceTogetherNs", replace.together)
                    $0.field("nsP50Shared", quiet[permille: 500])
                    $0.field("nsP99Shared", quiet[permille: 990])
                    $0.field("nsP50Changing", changing[permille: 500])
                    $0.field("nsP99Changing", changing[permille: 990])
                    $0.field("nsP50Beside", beside[permille: 500])
                    $0.field("nsP99Beside", beside[permille: 990])
                    $0.field("hashLookupNs", hashLookup)
                    $0.field("linearScanNs", linearScan)
                })
        }
    }
}
