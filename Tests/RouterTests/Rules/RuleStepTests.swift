import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// The steps of conditions: a decision under rules gives way as one among predicates does, and rules are bounded.
@Suite("Steps of rules")
struct RuleStepTests {
    private static func rule(
        _ name: String, when condition: String, then outcome: JSONValue = "veto"
    ) throws -> any RoutingRule {
        var entry = JSONObject()
        (entry["name"], entry["when"], entry["then"]) = (.string(name), .string(condition), outcome)
        return try DeclaredRuleTests.rule(.object(entry))
    }

    /// Rules whose conditions take some thousand steps each for `payload`, and fail or hold.
    private static func costly(_ count: Int, then outcome: JSONValue = "drop") throws -> [any RoutingRule] {
        try (0..<count).map { try rule("r\($0)", when: "payload.t LIKE[cd] '*ab*b\($0)*'", then: outcome) }
    }

    private static let payload = #"{"t": "\#(String(repeating: "ab", count: 500))b7", "list": ["p1", "c2"], "p": "p2"}"#

    private static func view(_ payload: String = payload) -> NotificationView {
        NotificationView(
            application: .gallery, device: nil, contentID: "x", priority: .high, payload: Array(payload.utf8))
    }

    /// The choice in turns, and the number of tries.
    private func tryOut(
        _ chooser: Chooser, _ view: NotificationView, in tenant: Tenant, steps: Int
    ) -> (found: (outcome: ChoiceOutcome, decision: Decision, amendment: Amendment), tries: Int, work: DecisionWork) {
        var (work, tries) = (DecisionWork(limit: steps), 1)
        var found = chooser.tryOut(view, in: tenant, &work, at: .epoch)
        while work.isUnfinished, tries < 1000 {
            work.resume(steps)
            found = chooser.tryOut(view, in: tenant, &work, at: .epoch)
            tries += 1
        }
        return (found, tries, work)
    }

    @Test("A decision under rules in turns is the one without them", arguments: [1, 20_000])
    func inTurns(steps: Int) throws {
        let tenant = Tenant(.gallery(), RuleTests.scenes)
        let quiet = try Self.rule("quiet", when: "payload.t CONTAINS[c] 'ABB7'", then: ["priority": 5])
        let low = try Self.rule("low", when: "priority < 10 AND payload.t ENDSWITH 'b7'", then: ["expireSeconds": 9])
        let both = try Self.rule("both", when: "candidate.session IN payload.list OR candidate.session == payload.p")
        let shadow = RuleInstance(try Self.rule("s", when: "payload.t LIKE '*b7'", then: "drop"), mode: .shadow)
        let sets: [[any RoutingRule]] = [
            try Self.costly(6), try Self.costly(9), [quiet, low], [both], [shadow],
            try Self.costly(6) + [quiet, low, both, shadow],
        ]
        for rules in sets {
            let chooser = Chooser(rules: rules)
            let wanted = chooser.tryOut(Self.view(), in: tenant, at: .epoch)
            let (found, tries, _) = tryOut(chooser, Self.view(), in: tenant, steps: steps)
            #expect(found == wanted)
            #expect(tries <= 2 * rules.count + 12, "\(tries) tries")
            #expect(chooser.explain(Self.view(), from: tenant, at: .epoch, limit: 9).decision == wanted.decision)
        }
    }

    @Test("A comparison is evaluated once a decision, whatever the number of candidates, tries and rules in shadow")
    func once() throws {
        let tenant = Tenant(.gallery(), (0..<30).map { Scene(SessionID(unchecked: "s\($0)")) })
        let veto = try Self.rule("veto", when: "candidate.session BEGINSWITH 's'")
        let costly = try Self.costly(6)
        let alone = tryOut(Chooser(rules: costly + [veto]), Self.view(), in: tenant, steps: .max)
        let shadows = (0..<8).map { RuleInstance(veto, name: PluginID(unchecked: "rules.s\($0)"), mode: .shadow) }
        let beside = tryOut(Chooser(rules: costly + [veto] + shadows), Self.view(), in: tenant, steps: .max)
        #expect(beside.work.steps < 2 * alone.work.steps, "\(beside.work.steps) of \(alone.work.steps) steps")
        // The last try knows the answers of the others; it parses the payload for none of them.
        let inTurns = tryOut(Chooser(rules: costly + [veto]), Self.view(), in: tenant, steps: 1)
        #expect(inTurns.tries >= 6 && inTurns.work.steps < alone.work.steps / 3, "\(inTurns.work.steps) steps")
    }

    @Test("Another application does not wait for conditions over a long payload")
    func otherApplications() throws {
        var limits = EngineLoop.Limits(retryMilliseconds: 500)
        (limits.steps.first, limits.steps.least, limits.steps.turn, limits.steps.round) = (10_000, 4000, 20_000, 40_000)
        var bench = LoopBench(
            .gallery(multipleScenes: true), [Scene("A")], rules: try Self.costly(7, then: "veto"), limits: limits)
        bench.offer(.putApplication(.of(.gallery(.other))))
        bench.offer(.putSession(SessionKey(application: .other, session: "B"), .of(Scene("B"))))
        bench.run()
        bench.startCounting()
        for number in 0..<3 { bench.offer(.accept(.of(payload: Self.payload + String(repeating: " ", count: number)))) }
        bench.offer(.acceptAll((0..<3).map { .of(ContentID(unchecked: "y\($0)"), payload: Self.payload) }))
        bench.offer(.accept(.of("b", to: .other)))
        bench.round()
        #expect(bench.answers.keys.sorted() == [4])
        bench.run()
        #expect(bench.answers.count == 5)
        #expect((0..<3).allSatisfy { bench.answers[$0]?.accepted?.decision.session == "A" })
    }

    @Test("Verdicts that compare candidates with values count for the share of the application")
    func candidates() throws {
        let tenant = Tenant(.gallery(), (0..<30).map { Scene(SessionID(unchecked: "s\($0)")) })
        let words = (0..<500).map { #""w\#($0)""# }.joined(separator: ",")
        let rule = try Self.rule("words", when: "NOT candidate.session IN payload.words")
        var work = DecisionWork.unlimited
        _ = Chooser(rules: [rule]).tryOut(Self.view(#"{"words": [\#(words)]}"#), in: tenant, &work, at: .epoch)
        #expect(work.stepsWithCandidates - work.steps >= 30 * (512 + 500 * 8))
    }

    @Test("A comparison of each candidate with too much of a payload never holds")
    func longValues() throws {
        let tenant = Tenant(.gallery(), RuleTests.scenes)
        let chooser = Chooser(rules: [try Self.rule("named", when: "payload.t CONTAINS candidate.session")])
        for (length, session) in [(1000, "p2"), (RouterLimits.payloadStepsPerVerdict, "p1")] as [(Int, SessionID)] {
            let sent = Self.view(#"{"t": "p1\#(String(repeating: "x", count: length))"}"#)
            #expect(chooser.tryOut(sent, in: tenant, at: .epoch).outcome == .session(session))
            #expect(tryOut(chooser, sent, in: tenant, steps: 1).found.outcome == .session(session))
        }
    }

    // MARK: Bounds

    private static func entry(_ name: String, _ condition: String, _ applications: [JSONValue] = []) -> JSONValue {
        var entry = JSONObject()
        (entry["name"], entry["when"], entry["then"]) = (.string(name), .string(condition), "veto")
        if !applications.isEmpty { entry["applications"] = .array(applications) }
        return .object(entry)
    }

    private static func fault(in entries: [JSONValue]) throws -> PluginConfigurationError? {
        let catalog = try RoutingRuleCatalog([DeclaredRule.kind { _ in nil }])
        #expect(catalog.read(.array(entries)).faults.isEmpty)
        return catalog.readBounded(.array(entries)).faults.first
    }

    @Test("Rules whose conditions could take too many steps for the longest payload are refused, with the figure")
    func tooCostly() throws {
        let one = 2 * 16 * RouterLimits.payloadBytes
        let most = RouterLimits.ruleStepsPerApplication / one
        let condition = Array(repeating: "payload.n == 1", count: 4).joined(separator: " OR ")
        let entries = (0..<most / 4).map { Self.entry("r\($0)", condition) }
        #expect(try Self.fault(in: entries) == nil)
        let fault = try #require(try Self.fault(in: entries + [Self.entry("more", "payload.n == 1")]))
        #expect(fault.code == "rules-too-costly" && fault.pointer == "/\(most / 4)/when")
        #expect(fault.message.contains("\(RouterLimits.ruleStepsPerApplication + one)"), "\(fault.message)")
        let pattern = String(repeating: "x", count: 1024)
        let long = try #require(try Self.fault(in: [Self.entry("r", "payload.t LIKE '*\(pattern.dropLast(2))*'")]))
        #expect(long.code == "rules-too-costly" && long.pointer == "/0/when")
    }

    @Test("A number of rules may apply to one application; others have as many of their own")
    func tooMany() throws {
        let most = RouterLimits.rulesPerApplication
        let shared = (0..<most - 1).map { Self.entry("r\($0)", "priority == \($0)") }
        let own = ["a", "b"].map { Self.entry("own-\($0)", "priority == 1", [.string("com.example.\($0)")]) }
        #expect(try Self.fault(in: shared + own) == nil)
        let more = Self.entry("more", "priority == 1", ["com.example.b"])
        let fault = try #require(try Self.fault(in: shared + own + [more]))
        #expect(fault.code == "too-many-rules" && fault.pointer == "/\(most + 1)")
        #expect(try Self.fault(in: shared + own + [Self.entry("all", "priority == 1")])?.code == "too-many-rules")
    }
}
