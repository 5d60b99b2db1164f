import Plugins
import Router
import RouterPlugin
import RouterTesting
import Testing

/// Built-in rules that look at the past of an application.
struct HistoryRuleTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    private static func ago(_ seconds: Int64) -> Timestamp { now.advanced(byMilliseconds: -seconds * 1000) }

    private static func session(_ text: String) -> SessionID { SessionID(unchecked: text) }

    private static func rule(_ entry: JSONValue) throws -> any NotificationRule {
        let rules = try RoutingRuleCatalog(BuiltInPlugins.ruleKinds).rules(configuredBy: [entry])
        return try #require(rules.first as? any NotificationRule)
    }

    /// The rule as it is for one notification.
    private static func bound(_ entry: JSONValue, _ history: RuleHistory?) throws -> (any RoutingRule)? {
        let view = NotificationView(
            application: ApplicationID(unchecked: "a"), device: nil, contentID: ContentID(unchecked: "x"),
            priority: .normal, payload: [])
        var facts = NotificationFacts(view, at: now, knowing: history)
        return try rule(entry).concerning(&facts)
    }

    private static func verdict(_ entry: JSONValue, on name: String, _ history: RuleHistory?) throws -> RoutingVerdict {
        let candidate = Candidate(
            session: session(name), device: nil, role: "r", configuration: "Default", activationState: .background,
            lastActivatedAt: nil, preferenceLevel: 0, tier: .can)
        let view = NotificationView(
            application: ApplicationID(unchecked: "a"), device: nil, contentID: ContentID(unchecked: "x"),
            priority: .normal, payload: [])
        return try bound(entry, history)?.verdict(on: candidate, for: view, at: now) ?? .accept
    }

    private static let sticky: JSONValue = ["id": "routerd.rule.sticky", "withinSeconds": 60]

    @Test func theSessionThatTookTheContentLastIsPreferred() throws {
        let history = RuleHistory(ofContent: [
            .init(Self.session("b"), at: Self.ago(59)), .init(Self.session("a"), at: Self.ago(1)),
        ])
        let preferred = RoutingVerdict.prefer(reason: "it took the last one about this content")
        #expect(try Self.verdict(Self.sticky, on: "b", history) == preferred)
        #expect(try Self.verdict(Self.sticky, on: "a", history) == .accept)
        let waiting = RuleHistory(ofContent: [.init(Self.session("b"), at: nil)])
        #expect(try Self.verdict(Self.sticky, on: "b", waiting) == preferred)
        let old = RuleHistory(ofContent: [.init(Self.session("b"), at: Self.ago(60))])
        #expect(try Self.bound(Self.sticky, old) == nil)
        #expect(try Self.bound(Self.sticky, RuleHistory()) == nil && Self.bound(Self.sticky, nil) == nil)
    }

    @Test func theLeastBusyRuleOrdersByLanes() throws {
        let order = try Self.bound(["id": "routerd.rule.least-busy"], RuleHistory { $0.text.utf8.count })
        #expect(order is CandidateOrder && order?.id == LeastBusyRule.id)
        #expect(try Self.bound(["id": "routerd.rule.least-busy"], nil) == nil)
        #expect(LeastBusyRule().history == .lanes && StickyRule().history == .content)
    }

    @Test(arguments: ["hold", "veto", "drop"])
    func aSessionBeyondItsLimitIsSpared(excess: String) throws {
        let entry: JSONValue = ["id": "routerd.rule.rate-limit", "perSession": 2, "then": .string(excess)]
        let history = RuleHistory(ofApplication: [
            .init(Self.session("a"), at: nil), .init(Self.session("b"), at: Self.ago(3)),
            .init(Self.session("a"), at: Self.ago(20)), .init(Self.session("b"), at: Self.ago(61)),
        ])
        let reason = "2 for this session in 60 s"
        let expected: [String: RoutingVerdict] = [
            "hold": .hold(until: Self.ago(-40), reason: reason), "veto": .veto(reason: reason),
            "drop": .drop(reason: reason),
        ]
        #expect(try Self.verdict(entry, on: "a", history) == expected[excess])
        #expect(try Self.verdict(entry, on: "b", history) == .accept)
    }

    @Test func aContentBeyondItsLimitWaits() throws {
        let entry: JSONValue = ["id": "routerd.rule.rate-limit", "perContent": 1, "seconds": 10]
        let history = RuleHistory(ofContent: [.init(Self.session("a"), at: Self.ago(4))])
        let expected = RoutingVerdict.hold(until: Self.ago(-6), reason: "1 about this content in 10 s")
        for name in ["a", "b"] { #expect(try Self.verdict(entry, on: name, history) == expected) }
        let past = RuleHistory(ofContent: [.init(Self.session("a"), at: Self.ago(10))])
        #expect(try Self.bound(entry, past) == nil && Self.bound(entry, nil) == nil)
    }

    @Test func aLimitReadsTheFactsOfItsOwnFields() throws {
        let entries: [(JSONValue, RuleHistory.Parts)] = [
            (["id": "routerd.rule.rate-limit", "perSession": 1], .application),
            (["id": "routerd.rule.rate-limit", "perContent": 1], .content),
            (["id": "routerd.rule.rate-limit", "perContent": 1, "perSession": 1], [.content, .application]),
        ]
        for (entry, parts) in entries { #expect(try Self.rule(entry).history == parts) }
    }

    @Test(
        arguments: [
            ([:], "/0/perSession"), (["perSession": 0], "/0/perSession"), (["perContent": 65], "/0/perContent"),
            (["perContent": 1, "seconds": 0], "/0/seconds"), (["perContent": 1, "then": "next"], "/0/then"),
        ] as [(JSONValue, String)])
    func aFaultHasItsPlace(fields: JSONValue, pointer: String) throws {
        var entry = try #require(fields.asObject)
        entry["id"] = "routerd.rule.rate-limit"
        let fault = #expect(throws: PluginConfigurationError.self) { try Self.rule(.object(entry)) }
        #expect(fault?.pointer == pointer)
    }

    @Test func boundRulesConform() throws {
        let history = RuleHistory(
            ofContent: [.init(Self.session("win-7"), at: Self.ago(1))],
            ofApplication: [.init(Self.session("a"), at: Self.ago(1))])
        let entries: [JSONValue] = [
            Self.sticky, ["id": "routerd.rule.least-busy"],
            ["id": "routerd.rule.rate-limit", "perSession": 1, "then": "veto"],
            ["id": "routerd.rule.rate-limit", "perContent": 1, "then": "drop"],
        ]
        for entry in entries {
            let rule = try #require(try Self.bound(entry, history))
            #expect(RoutingRuleSuite.violations(of: rule, seed: 5) == [])
        }
    }
}
