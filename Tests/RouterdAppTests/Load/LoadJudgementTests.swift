import Glibc
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdBench

/// The judgements of `bench load`: the oracle, the generator, the search for the highest rate.
@Suite("Load judgements")
struct LoadJudgementTests {
    @Test func aWebhookOfAnotherSessionIsMisrouted() {
        var books = LoadLedger()
        books.accept("a", for: 1, due: 0, at: 1)
        books.receive("a", by: 1, at: 2)
        #expect(books.misrouted == 0 && books.isRouted)
        // The webhook comes before the answer.
        books.receive("b", by: 2, at: 3)
        books.accept("b", for: 1, due: 0, at: 4)
        #expect(books.misrouted == 1 && !books.isRouted && books.isConserved)
    }

    /// Order counts in one session, where the second request was sent after the first one's answer.
    @Test(arguments: [(2, 5, 1, 1), (6, 5, 1, 0), (2, 5, 2, 0)] as [(UInt64, UInt64, Int, Int)])
    func anEarlierNotificationMustNotBeOvertaken(accepted: UInt64, sent: UInt64, session: Int, overtaken: Int) {
        var books = LoadLedger()
        books.accept("a", for: 1, due: 0, at: accepted)
        books.accept("b", for: session, due: sent, sent: sent, at: 7)
        books.receive("b", by: session, at: 8)
        books.receive("a", by: 1, at: 9)
        #expect(books.overtaken == overtaken)
    }

    @Test func badReceiversAreLeftOutOfTheTimes() {
        var books = LoadLedger { $0 != 9 }
        books.accept("a", for: 9, due: 0, at: 1)
        #expect(books.isConserved && books.acceptedForBad == 1 && books.missing == 0)
        books.receive("a", by: 9, isTaken: false, at: 2)
        books.accept("b", for: 1, due: 0, at: 1)
        books.receive("b", by: 1, isTaken: false, at: 3_000_000)
        #expect(books.missing == 1 && books.attemptTimes.count == 1 && books.deliveryTimes.count == 0)
        // A retry is no duplicate.
        books.receive("b", by: 1, at: 9_000_000)
        #expect(books.duplicates == 0 && books.missing == 0 && isAbout(9, books.deliveryTimes.max))
        #expect(isAbout(3, books.attemptTimes.max) && books.deliveryTimes.count == 1)
    }

    @Test func timesFromTheSendingLeaveTheWaitOut() {
        var books = LoadLedger()
        books.accept("a", due: 0, sent: 8_000_000, at: 9_000_000)
        #expect(isAbout(9, books.acceptTimes.max) && isAbout(1, books.acceptTimesFromSent.max))
    }

    @Test func aBusyOrLateGeneratorGivesNoVerdict() {
        #expect(GeneratorVerdict(latenessP99: 1, busiestThread: 0.8).reason == nil)
        #expect(GeneratorVerdict(latenessP99: 1.1, busiestThread: 0).reason?.contains("1.10 ms late") == true)
        #expect(GeneratorVerdict(latenessP99: 0, busiestThread: 0.9).reason?.contains("90 %") == true)
        let plan = LoadPlan(rate: 1, seconds: 1, sessions: 1, payloadBytes: 64, seed: 1)
        let report = LoadReport(
            plan: plan, offered: 0, ledger: LoadLedger(), elapsedSeconds: 1,
            generator: GeneratorVerdict(latenessP99: 0, busiestThread: 0.9))
        #expect(report.noVerdict != nil && report.lines.contains { $0.hasPrefix("NO VERDICT") })
        #expect(String(decoding: report.html, as: UTF8.self).contains("No verdict on the times"))
    }

    @Test func aThreadsTimeIsReadAfterItsName() {
        let line = "12 (a) b 3) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20 0 1"
        #expect(GeneratorWatch.ticks(in: line) == 42)
        #expect(GeneratorWatch.ticks(in: "12 no name") == nil)
    }

    @Test func theBusiestThreadIsTheOneWithTheMostTimeSinceTheEarlierMoment() {
        let second = Int(sysconf(Int32(_SC_CLK_TCK)))
        let (start, end) = (ContinuousClock.now, ContinuousClock.now.advanced(by: .seconds(600)))
        let earlier = GeneratorWatch(ticks: ["old": 900 * second, "busy": 10 * second], at: start)
        let later = GeneratorWatch(
            ticks: ["old": 901 * second, "busy": 310 * second, "new": 60 * second], at: end)
        #expect(abs(later.busiestThread(since: earlier) - 0.5) < 0.01)
        #expect(later.busiestThread(since: later) == 0)
    }

    /// A daemon that sustains so many a second.
    @Test(arguments: [1, 3, 100, 730, 12_345] as [Double])
    func theSearchFindsTheHighestRate(capacity: Double) throws {
        var search = RateSearch(from: 500, mostRuns: 40)
        while let rate = search.next { search.note(rate <= capacity ? .sustained : .exceeded) }
        let (low, high) = (try #require(search.sustained), try #require(search.exceeded))
        #expect(low <= capacity && capacity < high && high / low <= 1.05 + 1e-9)
        #expect(!search.isBoundedByGenerator)
    }

    @Test func theSearchEndsAndTellsItsBound() {
        var search = RateSearch(from: 8, mostRuns: 5)
        while search.next != nil { search.note(.sustained) }
        #expect(search.runs == 5 && search.sustained == 128 && search.exceeded == nil)
        var bounded = RateSearch(from: 8)
        bounded.note(.sustained)
        while bounded.next != nil { bounded.note(.noVerdict) }
        #expect(bounded.isBoundedByGenerator && bounded.sustained == 8)
        // One late moment of the generator is no bound.
        var moment = RateSearch(from: 8)
        moment.note(.noVerdict)
        #expect(moment.next == 8)
        for outcome in [.sustained, .exceeded] as [RateSearch.Outcome] { moment.note(outcome) }
        #expect(moment.sustained == 8 && moment.exceeded == 16 && !moment.isBoundedByGenerator)
        // A lower rate would have fewer requests still.
        var short = RateSearch(from: 8)
        short.note(.tooFew)
        #expect(short.next == nil && short.hasTooFew && short.runs == 1)
        var hopeless = RateSearch(from: 4)
        while hopeless.next != nil { hopeless.note(.exceeded) }
        #expect(hopeless.sustained == nil)
    }

    @Test(
        arguments: [
            ("p99=50ms", "accept", 99.0, 50.0), ("p999=1.5s", "accept", 99.9, 1500),
            ("delivery.p90=2ms,lost=0", "delivery", 90, 2), ("p99=50", nil, nil, nil), ("p98=1ms", nil, nil, nil),
            ("p99=-1ms", nil, nil, nil), ("p99=", nil, nil, nil), ("p99=infms", nil, nil, nil),
            ("p99=1ms,lost=-1", nil, nil, nil), ("lost=0,lost=1", nil, nil, nil), ("x.p99=1ms", nil, nil, nil),
            ("p99=1ms,", nil, nil, nil),
        ] as [(String, String?, Double?, Double?)])
    func goalsAreRead(text: String, times: String?, percentile: Double?, milliseconds: Double?) {
        let bound = LoadGoal(text)?.bounds.first
        #expect(bound?.percentile == percentile && bound?.milliseconds == milliseconds && bound?.times == times)
        if text.hasSuffix("lost=0") { #expect(LoadGoal(text)?.counts == [.lost: 0]) }
    }

    /// The report of a run with so many acceptances of so many milliseconds.
    private static func report(
        _ count: Int, of milliseconds: UInt64 = 1, by generator: GeneratorVerdict? = nil, isInterrupted: Bool = false,
        wasKilled: Bool = false, _ change: (inout LoadLedger) -> Void = { _ in }
    ) -> LoadReport {
        var books = LoadLedger()
        for number in 0..<count {
            books.accept("\(number)", due: 0, at: milliseconds * 1_000_000)
            books.receive("\(number)", at: milliseconds * 1_000_000)
        }
        change(&books)
        let plan = LoadPlan(rate: 1, seconds: 1, sessions: 1, payloadBytes: 64, seed: 1)
        return LoadReport(
            plan: plan, offered: books.answered, ledger: books, elapsedSeconds: 1, generator: generator,
            wasKilled: wasKilled, isInterrupted: isInterrupted)
    }

    @Test func refusedRunsHaveFailed() throws {
        #expect(Self.report(1).failures().isEmpty)
        let refused = Self.report(0) { for _ in 0..<3 { $0.refuse(413) } }
        #expect(refused.failures() == ["nothing was accepted", "refused 3, at most 0"])
        #expect(refused.lines.contains { $0.hasSuffix("NOTHING ACCEPTED") }, "\(refused.lines)")
        #expect(refused.lines.contains("FAILED: nothing was accepted"))
        #expect(String(decoding: refused.html, as: UTF8.self).contains("Failed: refused 3, at most 0."))
        #expect(try JSONValue(parsing: refused.json)["failures"]?.asArray?.count == 2)
        let partly = { (books: inout LoadLedger) in
            books.refuse(503)
            books.leaveUnanswered("connection-refused")
        }
        #expect(Self.report(9, partly).failures() == ["refused 1, at most 0", "unanswered 1, at most 0"])
        #expect(Self.report(9, wasKilled: true, partly).failures().isEmpty)
        #expect(Self.report(9, partly).failures(of: LoadGoal("refused=1,unanswered=1")).isEmpty)
    }

    @Test func boundsAreJudged() {
        let goal = LoadGoal("p99=50ms,duplicates=0")
        #expect(Self.report(800, of: 40).failures(of: goal).isEmpty)
        #expect(Self.report(800, of: 60).failures(of: goal).first?.hasPrefix("p99=50ms: it is 60") == true)
        #expect(Self.report(799, of: 40).failures(of: goal).first?.contains("799 requests are too few") == true)
        let late = GeneratorVerdict(latenessP99: 9, busiestThread: 0)
        #expect(Self.report(800, of: 40, by: late).failures(of: goal).first?.hasPrefix("p99=50ms: no verdict") == true)
        let again = Self.report(800, of: 40) { $0.receive("1", at: 50_000_000) }
        #expect(again.failures().isEmpty && again.failures(of: goal) == ["duplicates 1, at most 0"])
        #expect(Self.report(1) { $0.receive("1", isSigned: false, at: 1) }.failures().contains("forged 1, at most 0"))
    }

    @Test func outcomesOfASearchNeedAVerdict() throws {
        let goal = try #require(LoadGoal("p99=50ms,lost=0"))
        #expect(Self.report(800, of: 40).outcome(goal) == .sustained)
        #expect(Self.report(800, of: 60).outcome(goal) == .exceeded)
        #expect(Self.report(700, of: 40).outcome(goal) == .tooFew)
        let late = GeneratorVerdict(latenessP99: 9, busiestThread: 0)
        #expect(Self.report(800, of: 60, by: late).outcome(goal) == .noVerdict)
        #expect(Self.report(800, of: 40) { $0.refuse(503) }.outcome(goal) == .exceeded)
        // Without a connection for long: too slow all the same if the daemon's own part is.
        let waiting = GeneratorVerdict(latenessP99: 0, connectionWaitP99: 9, busiestThread: 0)
        #expect(waiting.reason?.contains("raise --connections") == true)
        #expect(Self.report(800, of: 40, by: waiting).outcome(goal) == .noVerdict)
        #expect(Self.report(800, of: 60, by: waiting).outcome(goal) == .exceeded)
    }

    @Test func anInterruptedRunIsNotAccused() {
        let report = Self.report(5, isInterrupted: true) { $0.accept("late", due: 0, at: 1) }
        #expect(report.failures().isEmpty && report.lines.first?.hasPrefix("INTERRUPTED") == true)
        #expect(!report.lines.contains { $0.contains("NOT CONSERVED") }, "\(report.lines)")
        #expect(Self.report(5) { $0.accept("late", due: 0, at: 1) }.failures() == ["lost 1, at most 0"])
    }

    @Test func aWaitForAConnectionIsNoTimeOfTheDaemon() {
        var books = LoadLedger()
        books.accept("a", forOneOf: [0], due: 0, sent: 1_000_000, begun: 8_000_000, at: 9_000_000)
        books.waited(7_000_000)
        #expect(isAbout(9, books.acceptTimes.max) && isAbout(1, books.acceptTimesFromSent.max))
        #expect(isAbout(7, books.connectionWaits.max))
    }

    @Test func sharesOfReceiversAreExact() throws {
        let mix = try #require(ReceiverMix("slow=10,hang=5,500=10,429=5"))
        let behaviours = (0..<200).map { mix.behaviour(of: $0, among: 200) }
        func count(_ behaviour: ReceiverMix.Behaviour) -> Int { behaviours.count { $0 == behaviour } }
        #expect([.slow, .hangs, .status(500), .status(429), .good].map(count) == [20, 10, 20, 10, 140])
        #expect(mix.text == "slow=10,hang=5,500=10,429=5")
        for text in ["", "slow", "slow=0", "slow=60,hang=50", "quick=1", "200=5", "slow=1,slow=2"] {
            #expect(ReceiverMix(text) == nil, "\(text)")
        }
    }

    @Test(arguments: LoadPlan.Shape.allCases)
    func everyShapeHasTheSameRateOnAverage(shape: LoadPlan.Shape) {
        var plan = LoadPlan(rate: 1000, seconds: 10, sessions: 3, payloadBytes: 64, seed: 5)
        plan.shape = shape
        let arrivals = plan.arrivals()
        #expect((9500...10_500).contains(arrivals.count), "\(arrivals.count)")
        #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0.due <= $1.due })
        let first = arrivals.count { $0.due < 1_000_000_000 }
        let last = arrivals.count { $0.due >= 9_000_000_000 }
        switch shape {
        case .steady: #expect((850...1150).contains(first) && (850...1150).contains(last))
        case .steps: #expect((330...470).contains(first) && (1450...1750).contains(last))
        case .bursts: #expect((2800...3200).contains(first) && (430...570).contains(last))
        }
    }

    @Test func clientsOfAClosedRunDiffer() {
        let plan = LoadPlan(rate: 1, seconds: 1, sessions: 50, payloadBytes: 64, seed: 5)
        let lists = (0..<3).map { Array(plan.contents(ofClient: $0).prefix(40)) }
        #expect(Set(lists).count == 3 && lists[0] == Array(plan.contents(ofClient: 0).prefix(40)))
        #expect(lists.joined().allSatisfy { (0..<50).contains($0) })
    }
}

/// Whether a time is that of its bucket: the histogram keeps three digits.
private func isAbout(_ milliseconds: Double, _ time: Double) -> Bool {
    (milliseconds...milliseconds * 1.001).contains(time)
}
