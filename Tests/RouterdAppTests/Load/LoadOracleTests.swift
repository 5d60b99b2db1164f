import PredicateEngine
import Router
import RouterPlugin
import RouterdApp
import Testing

@testable import RouterdBench

/// The expected sessions of `bench load`, its workloads, and the daemon's figures.
@Suite("Load oracle")
struct LoadOracleTests {
    @Test("Without changes it names the session of the linear registry", arguments: LoadWorkload.Kind.allCases)
    func agreesWithTheRegistry(kind: LoadWorkload.Kind) throws {
        let workload = LoadWorkload(kind, sessions: 60, seed: 3)
        #expect(workload == LoadWorkload(kind, sessions: 60, seed: 3) && workload.sessions.count == 60)
        var (oracle, registry) = (LoadOracle(workload), LinearRegistry())
        for (place, session) in workload.sessions.enumerated() {
            let isActive = session.state == .foregroundActive && kind != .exact
            let time = Timestamp(milliseconds: 1_767_225_600_000 + Int64(place % 7))
            if isActive { oracle.activated(place, at: time.rfc3339) }
            registry.insert(
                RegistryEntry(
                    session: SessionID(unchecked: "\(place)"), conditions: session.conditions, state: session.state,
                    lastActivatedAt: isActive ? time : nil, creationSequence: Int64(place)))
        }
        var found = 0
        for (place, content) in workload.contents.enumerated() {
            let best = registry.best(for: RegistryQuery(contentID: ContentID(unchecked: content)))
            let expected = oracle.expected(place, from: 5, to: 6)
            #expect(expected.map(String.init) == (best.map { [$0.session.text] } ?? []), "\(content)")
            if best != nil { found += 1 }
        }
        #expect(found * 10 > workload.contents.count * 9)
        if kind == .mixed {
            let texts = workload.sessions.map { "\($0.conditions.canActivate)" }
            for word in ["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "IN {", "NOT"] {
                #expect(texts.contains { $0.contains(word) }, "\(word)")
            }
        }
    }

    private static func pair(_ states: [ActivationState]) -> LoadWorkload {
        LoadWorkload(
            recorded: "pair",
            sessions: states.map { LoadWorkload.Session(conditions: ActivationConditions(), state: $0) },
            contents: ["a"])
    }

    @Test("During a change of state the session before and the one after are expected, and then one alone")
    func changes() {
        var oracle = LoadOracle(Self.pair([.background, .foregroundInactive]))
        #expect(oracle.expected(0, from: 1, to: 2) == [1])
        oracle.change(0, to: .foregroundActive, at: 10)
        #expect(oracle.expected(0, from: 1, to: 9) == [1])
        #expect(oracle.expected(0, from: 9, to: 10) == [0, 1] && oracle.expected(0, from: 50, to: 60) == [0, 1])
        oracle.changed(0, activatedAt: "2026-01-01T00:00:00.000Z", at: 20)
        #expect(oracle.expected(0, from: 20, to: 30) == [0, 1] && oracle.expected(0, from: 21, to: 30) == [0])
        #expect(oracle.state(of: 0) == .foregroundActive)
        // The one activated last is better.
        oracle.change(1, to: .foregroundActive, at: 40)
        oracle.changed(1, activatedAt: "2026-01-01T00:00:00.001Z", at: 50)
        #expect(oracle.expected(0, from: 51, to: 52) == [1])
    }

    @Test("A session whose receiver answers 410 may be passed over")
    func goneSessions() {
        let oracle = LoadOracle(Self.pair([.foregroundActive, .background])) { $0 == 0 }
        #expect(oracle.expected(0, from: 1, to: 2) == [0, 1])
    }

    @Test("A notification of no session is not missing, and misrouted where it comes")
    func undeliverable() {
        var books = LoadLedger()
        books.accept("a", forOneOf: [], due: 0, sent: 0, begun: 0, at: 1)
        #expect(books.missing == 0 && books.undeliverable == 1 && books.isConserved && books.misrouted == 0)
        books.receive("a", by: 0, at: 2)
        #expect(books.misrouted == 1)
    }

    @Test("Webhooks of other runs have no session")
    func paths() {
        let plan = LoadPlan(rate: 1, seconds: 1, sessions: 3, payloadBytes: 64, seed: 1)
        let run = LoadRun(
            id: "r7", plan: plan, clients: [], application: "a", drainSeconds: 0, setting: LoadSetting(),
            display: ProgressDisplay(replacesText: false) { _ in })
        #expect((0..<3).allSatisfy { run.session(at: run.target($0)) == $0 })
        #expect(["/r7/3", "/r7/-1", "/r8/1", "/1", "/r7/1/1"].allSatisfy { run.session(at: $0) == nil })
    }

    @Test("The daemon's figures are the differences of its metrics")
    func figures() throws {
        func metrics(_ counts: [Int], sum: String, accepted: Int) -> DaemonFigures {
            DaemonFigures(
                metrics: """
                    # HELP routerd_decide_seconds The planning of a new notification.
                    routerd_decide_seconds_bucket{le="0.001"} \(counts[0])
                    routerd_decide_seconds_bucket{le="0.01"} \(counts[1])
                    routerd_decide_seconds_bucket{le="+Inf"} \(counts[2])
                    routerd_decide_seconds_sum \(sum)
                    routerd_decide_seconds_count \(counts[2])
                    routerd_other_seconds_sum 7
                    routerd_notifications_accepted_total \(accepted)
                    routerd_notifications_unaccounted 0
                    """)
        }
        let (before, after) = (
            metrics([5, 5, 5], sum: "0.001", accepted: 5), metrics([65, 104, 105], sum: "0.101", accepted: 105)
        )
        let run = try #require(after.since(before))
        let stage = try #require(run.histograms["routerd_decide_seconds"])
        #expect(run.histograms.count == 1 && run.accepted == 100 && run.unaccounted == 0 && stage.count == 100)
        #expect(abs(stage.mean - 1) < 1e-9 && stage.bound(of: 50) == 1 && stage.bound(of: 99) == 10)
        #expect(stage.bound(of: 99.9) == nil)
        #expect(before.since(after) == nil)
    }
}
