import Router
import RouterPlugin
import RouterdApp
import RouterdBench
import Testing

@testable import DaemonTesting

/// The pure part of `bench load`: due times of requests, the books, and the report.
@Suite("Load") struct LoadTests {
    private static let plan = LoadPlan(rate: 2000, seconds: 5, sessions: 7, payloadBytes: 300, seed: 42)

    @Test func arrivalsAreThoseOfARateAndDoNotChange() {
        let arrivals = Self.plan.arrivals()
        #expect(arrivals == Self.plan.arrivals())
        // Ten thousand on average, with a standard deviation of a hundred.
        #expect((9500...10_500).contains(arrivals.count))
        #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0.due <= $1.due })
        #expect(arrivals.allSatisfy { $0.due < 5_000_000_000 && (0..<7).contains($0.content) })
        #expect(Set(arrivals.map(\.content)).count == 7)
        let gaps = zip(arrivals, arrivals.dropFirst()).map { Double($1.due - $0.due) / 500_000 }
        // Of exponentially distributed gaps, one in e is longer than the mean.
        let long = Double(gaps.count { $0 > 1 }) / Double(gaps.count)
        #expect((0.34...0.40).contains(long))
        var other = Self.plan
        other.seed = 43
        #expect(other.arrivals() != arrivals)
    }

    @Test(arguments: [64, 300, 5000]) func payloadsNameTheirSessionAndHaveTheirSize(bytes: Int) throws {
        var plan = Self.plan
        plan.payloadBytes = bytes
        let payload = LoadPayloads(plan)[3]
        #expect(try JSONValue(parsing: payload)["notification-content-id"]?.asString == plan.workload.contents[3])
        #expect(payload.count == max(bytes, 65))
    }

    @Test func acceptedAndDeliveredAreConserved() {
        var books = LoadLedger()
        books.sent(due: 0, at: 1000)
        books.accept("a", due: 0, at: 2_000_000)
        #expect(!books.isConserved && books.missing == 1)
        books.receive("a", at: 5_000_000)
        // The webhook arrives before the answer.
        books.receive("b", at: 6_000_000)
        #expect(books.unexpected == 1 && !books.isConserved)
        books.accept("b", due: 1_000_000, at: 7_000_000)
        books.refuse(503)
        books.refuse(503)
        #expect(books.isConserved && books.delivered == 2 && books.accepted == 2 && books.answered == 4)
        #expect(books.refused == [503: 2])
        #expect((6...6.01).contains(books.acceptTimes.max) && (5...5.01).contains(books.deliveryTimes.percentile(50)))
        #expect(books.lateness.count == 1)
    }

    @Test func aSecondArrivalIsADuplicateAndCountsOnce() {
        var books = LoadLedger()
        books.accept("a", due: 0, at: 1)
        for time in 1...3 { books.receive("a", at: UInt64(time) * 1_000_000) }
        #expect(books.duplicates == 2 && books.delivered == 1 && books.isConserved)
        #expect(books.deliveryTimes.count == 1 && books.deliveryTimes.max == 1)
    }

    @Test func aWebhookThatNobodyAskedForNeedsARequestWithoutAnAnswer() {
        var books = LoadLedger()
        books.receive("x", at: 1)
        #expect(!books.isConserved)
        books.leaveUnanswered("timed-out")
        #expect(books.isConserved && books.unexpected == 1)
        books.receive("y", at: 1)
        #expect(!books.isConserved)
    }

    @Test func theReportSaysTheSameInAllForms() throws {
        var books = LoadLedger()
        books.accept("a", due: 0, at: 1_500_000)
        books.leaveUnanswered("<timed & out>")
        let closed = LoadReport(plan: Self.plan, offered: 0, ledger: LoadLedger(), elapsedSeconds: 1)
        #expect(closed.isConserved)
        #expect(!LoadReport(plan: Self.plan, offered: 1, ledger: LoadLedger(), elapsedSeconds: 1).isConserved)
        let report = LoadReport(plan: Self.plan, offered: 2, ledger: books, elapsedSeconds: 1.25)
        let json = try JSONValue(parsing: report.json)
        #expect(json["conserved"] == false && json["missing"] == 1 && json["accepted"] == 1)
        #expect(json["acceptMilliseconds"]?["max"]?.asDouble == 1.5)
        // A percentile of a single request says nothing.
        #expect(json["acceptMilliseconds"]?["count"] == 1 && json["acceptMilliseconds"]?["p99"] == nil)
        #expect(json["unanswered"]?["<timed & out>"] == 1)
        #expect(report.lines.contains { $0.contains("NOT CONSERVED") })
        let page = String(decoding: report.html, as: UTF8.self)
        #expect(page.contains("Not conserved: 1 missing") && page.contains("&lt;timed &amp; out&gt;"))
        #expect(!page.contains("<timed") && page.contains("<polyline"))
    }

    /// Milliseconds up to the given time, and two seconds with webhooks.
    @Test(arguments: [1_500_000, 90_000_000_000, 4_000_000_000_000] as [UInt64])
    func everyLabelLiesWithinItsChart(longest: UInt64) throws {
        var books = LoadLedger()
        for second in 0..<3 as Range<UInt64> {
            books.sent(due: second * 1_000_000_000, at: second * 1_000_000_000)
            books.accept("\(second)", due: second * 1_000_000_000, at: second * 1_000_000_000 + longest)
            books.receive("\(second)", at: second * 1_000_000_000 + longest)
        }
        let page = String(
            decoding: LoadReport(plan: Self.plan, offered: 3, ledger: books, elapsedSeconds: 3).html, as: UTF8.self)
        let charts = page.matches(of: /<svg viewBox="0 0 (?<width>[0-9.]+) [0-9.]+".*?<\/svg>/.dotMatchesNewlines())
        #expect(!charts.isEmpty)
        for chart in charts {
            let width = try #require(Double(chart.output.width))
            let label = /<text x="(?<x>[0-9.-]+)"(?<attributes>[^>]*)>(?<text>[^<]+)</
            let labels = chart.output.0.matches(of: label)
            #expect(labels.count > 5)
            for label in labels {
                let x = try #require(Double(label.output.x))
                // A digit of the usual fonts has 0.6 of the 13 pixels of a line.
                let length = 0.6 * 13 * Double(label.output.text.count)
                let anchor = label.output.attributes.firstMatch(of: /text-anchor="(?<value>\w+)"/)?.output.value
                let start = anchor == "end" ? x - length : anchor == "middle" ? x - length / 2 : x
                #expect(start >= 0 && start + length <= width, "\(label.output.text) at \(x), \(anchor ?? "start")")
            }
        }
    }
}
