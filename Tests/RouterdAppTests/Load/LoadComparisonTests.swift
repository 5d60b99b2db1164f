import Glibc
import RouterPlugin
import Testing

@testable import RouterdBench

/// Differences between two reports of `bench load`.
@Suite("Load comparison")
struct LoadComparisonTests {
    /// The report of a run whose acceptances took these milliseconds.
    private static func report(_ milliseconds: some Sequence<UInt64>, rate: Double = 100) -> LoadReport {
        var ledger = LoadLedger()
        for (place, time) in milliseconds.enumerated() {
            ledger.accept("\(place)", due: 0, at: time * 1_000_000)
            ledger.receive("\(place)", at: time * 1_000_000)
        }
        let plan = LoadPlan(rate: rate, seconds: 1, sessions: 1, payloadBytes: 64, seed: 1)
        return LoadReport(plan: plan, offered: ledger.accepted, ledger: ledger, elapsedSeconds: 1)
    }

    private static func comparison(_ now: LoadReport, _ before: LoadReport) throws -> LoadComparison {
        LoadComparison(now, with: try JSONValue(parsing: before.json))
    }

    @Test("The interval of a percentile is that of order statistics")
    func intervals() throws {
        // Of 1 to 1000, the rank of the median is 500 ± 31, and that of p99 990 ± 7.
        let times = Self.report(1...1000).ledger.acceptTimes
        let (median, high) = (try #require(times.estimate(50)), try #require(times.estimate(99)))
        #expect(Int(median.value.rounded()) == 500 && (468...470).contains(Int(median.low.rounded())))
        #expect((531...533).contains(Int(median.high.rounded())))
        #expect((983...984).contains(Int(high.low.rounded())) && (996...999).contains(Int(high.high.rounded())))
        // Its bound would lie beyond the last of them.
        #expect(times.estimate(99.9) == nil && Self.report(1...799).ledger.acceptTimes.estimate(99) == nil)
        #expect(Self.report(1...800).ledger.acceptTimes.estimate(99) != nil)
        #expect(Self.report([UInt64]()).ledger.acceptTimes.estimate(50) == nil)
    }

    /// Runs of the same distribution differ by chance in one of twenty or fewer, in each percentile that has an interval.
    @Test("Runs that do not differ are seldom told apart", arguments: [90, 800, 1000, 8000])
    func falseVerdicts(count: Int) throws {
        var random = LoadRandom(state: 7)
        var verdicts: [String: Int] = [:]
        let pairs = count > 1000 ? 12 : 100
        for _ in 0..<pairs {
            let runs = (0..<2).map { _ in
                Self.report((0..<count).map { _ in UInt64(-100 * log(1 - Double.random(in: 0..<1, using: &random))) })
            }
            let comparison = try Self.comparison(runs[0], runs[1])
            for difference in comparison.differences where difference.name == "acceptMilliseconds" {
                let isTold = comparison.verdict(of: difference) != "no difference"
                verdicts[difference.percentile, default: 0] += isTold ? 1 : 0
            }
            let tooFew = comparison.tooFew.filter { $0.title == "until the answer 202" }.map(\.percentile)
            let some = ["p99", "p999"].filter { !Self.isEnough(count, for: $0) }
            #expect(tooFew == some)
        }
        #expect(verdicts.values.allSatisfy { $0 * 10 <= pairs }, "\(verdicts) of \(pairs)")
        #expect(verdicts.keys.contains("p999") == (count == 8000))
    }

    private static func isEnough(_ count: Int, for percentile: String) -> Bool {
        count >= (percentile == "p99" ? 800 : 8000)
    }

    @Test("A difference is told where its interval leaves zero out")
    func verdicts() throws {
        let (slow, fast) = (Self.report((1...1000).map { $0 * 2 }), Self.report(1...1000))
        let differences = try Self.comparison(slow, fast).differences
        #expect(differences.map(\.name).contains("deliveryMilliseconds") && differences.count == 9)
        let median = try #require(differences.first { $0.percentile == "p50" })
        #expect(
            try Self.comparison(slow, fast).verdict(of: median) == "slower"
                && Int(median.estimate.value.rounded()) == 500)
        #expect(median.estimate.low < median.estimate.value && median.estimate.value < median.estimate.high)
        let faster = try Self.comparison(fast, slow)
        #expect(faster.verdict(of: faster.differences[0]) == "faster")
        let same = try Self.comparison(fast, Self.report((1...1000).map { $0 + 1 }))
        #expect(same.differences.allSatisfy { same.verdict(of: $0) == "no difference" })
    }

    @Test("The interval of a difference adds the distances of both runs from their bounds")
    func intervalsOfDifferences() {
        let difference = LoadComparison.Difference(
            name: "a", title: "b", percentile: "p50", before: LoadEstimate(value: 10, low: 6, high: 13),
            now: LoadEstimate(value: 20, low: 16, high: 23))
        #expect(difference.estimate == LoadEstimate(value: 10, low: 5, high: 15))
    }

    @Test("Plans that differ are told, and give no verdict")
    func reservations() throws {
        let comparison = try Self.comparison(Self.report((1...99).map { $0 * 9 }), Self.report(1...99, rate: 200))
        #expect(comparison.reservations.count == 1)
        #expect(comparison.lines.last?.hasPrefix("NO VERDICT, the runs differ: rate was 200") == true)
        #expect(!comparison.differences.isEmpty)
        #expect(comparison.differences.allSatisfy { comparison.verdict(of: $0) == "no verdict" })
        #expect(comparison.lines.contains { $0.hasSuffix(": no verdict") }, "\(comparison.lines)")
        let written = try JSONValue(parsing: JSONWriter.object { comparison.write(to: &$0) })
        #expect(written["differences"]?.asArray?.allSatisfy { $0["verdict"] == "no verdict" } == true)
        #expect(try Self.comparison(Self.report(1...9), Self.report(1...9)).reservations.isEmpty)
    }

    @Test("The distribution is in HdrHistogram's text format, in milliseconds")
    func distributions() throws {
        let all = Self.report(1...1000).distributions
        #expect(all.map(\.name) == ["accept", "first-attempt", "delivery"])
        let lines = try #require(all.first).text.split(separator: "\n")
        #expect(lines[0].split(separator: " ") == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
        let rows = lines.dropFirst().filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
        #expect(rows.first.map { Double($0[0]) == 1 } == true && rows.last?[2] == "1000")
        #expect(lines.contains { $0.hasPrefix("#[Max") && $0.contains("Total count") })
    }

    @Test("Marks of the run are in the report, with their times")
    func marks() throws {
        var ledger = LoadLedger()
        ledger.startedAt = 1_000_000_000
        for second in (1...4) as ClosedRange<UInt64> { ledger.sent(due: 0, at: second * 1_000_000_000) }
        ledger.mark("the daemon was killed", at: 2_500_000_000)
        let plan = LoadPlan(rate: 1, seconds: 3, sessions: 1, payloadBytes: 64, seed: 1)
        let report = LoadReport(plan: plan, offered: 4, ledger: ledger, elapsedSeconds: 4)
        let mark = try JSONValue(parsing: report.json)["marks"]?.asArray?.first
        #expect(mark?["seconds"]?.asDouble == 1.5 && mark?["text"] == "the daemon was killed")
        #expect(report.lines.contains("1.50 s: the daemon was killed"), "\(report.lines)")
        let page = String(decoding: report.html, as: UTF8.self)
        #expect(page.contains(#"class="event""#) && page.contains("after 1.50 s"))
    }
}
