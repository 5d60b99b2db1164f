import Glibc

/// Measures the costs of decisions and changes, and compares the counts with thresholds.
@main
struct RouterBenchmarks {
    private static let usage = "usage: router-benchmarks [--json] [--only WORDS | --check < THRESHOLDS]"
    private static let rounds = 101

    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        var (isJSON, words, thresholds) = (false, String?.none, Thresholds?.none)
        while let argument = arguments.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--only" where thresholds == nil && !arguments.isEmpty: words = arguments.popFirst()
            case "--check" where words == nil:
                thresholds = try Thresholds(parsing: Array(AnyIterator { readLine() }).joined(separator: "\n"))
            default: fail([usage])
            }
        }
        let faults = CounterProof.faults()
        if !faults.isEmpty { fail(faults.map { "the counters do not count: \($0)" }) }
        let chosen = try Suite.benchmarks().filter { words.map($0.name.contains) ?? true }
        let measurements = chosen.map { Measurement($0, rounds: thresholds == nil ? rounds : 1) }
        guard let thresholds else {
            print(isJSON ? Report.json(measurements) : Report.table(measurements))
            return
        }
        let findings = thresholds.findings(on: measurements)
        for line in findings.couldBeLower { print(line) }
        if !findings.faults.isEmpty { fail(findings.faults) }
        print("\(measurements.count) benchmarks are within their thresholds")
    }

    private static func fail(_ lines: [String]) -> Never {
        for line in lines {
            let text = "router-benchmarks: \(line)\n"
            _ = write(STDERR_FILENO, text, text.utf8.count)
        }
        exit(1)
    }
}
