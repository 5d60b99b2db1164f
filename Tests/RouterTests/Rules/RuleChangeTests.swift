import Router
import RouterPlugin
import RouterTesting
import Testing

/// Rules that change a notification when it comes: its priority, its expiration, header fields of its webhook.
struct RuleChangeTests {
    private func rules(_ entries: JSONValue...) throws -> [any RoutingRule] {
        try RoutingRuleCatalog([DeclaredRule.kind { _ in .utc }]).rules(configuredBy: .array(entries))
    }

    private func accept(
        under rules: [any RoutingRule], payload: String = "{}"
    ) throws -> (notification: NewNotification, stored: StoredNotification?) {
        var bench = try Workbench(.gallery(), [Scene("a")], rules: rules)
        let accepted = try #require(try bench.accept(payload: payload).accepted)
        return (accepted, try bench.stored(accepted.sequence))
    }

    @Test func aChangeIsKeptWithTheNotification() throws {
        let changes: JSONValue = ["priority": 1, "expireSeconds": 60, "headers": ["x-team": "blue"]]
        let rules = try rules(["name": "bulk", "when": "payload.bulk == TRUE", "then": changes, "reason": "no hurry"])
        let (accepted, stored) = try accept(under: rules, payload: #"{"bulk": true}"#)
        #expect(accepted.priority == .low && accepted.expiration == .at(.second(60)))
        #expect(
            accepted.decision.reason.hasSuffix(
                "; rules.bulk: no hurry (priority 1, expires after 60 s, headers x-team)"), "\(accepted.decision)")
        #expect(stored?.header == accepted.header && stored?.decision == accepted.decision)
        #expect(stored?.payload?.headers == [.init("x-team", "blue")])
        #expect(
            stored?.payload?.contentType == "application/json"
                && stored?.payload?.bytes == Array(#"{"bulk": true}"#.utf8))
        let (other, _) = try accept(under: rules)
        #expect(other.priority == .high && other.expiration == .never && other.payload == .json(Array("{}".utf8)))
    }

    @Test func rulesThatFollowSeeTheNewPriority() throws {
        let rules = try rules(
            ["name": "drop", "when": "priority == 5", "then": "drop"],
            ["name": "one", "when": "priority == 10", "then": ["priority": 1]],
            ["name": "two", "when": "priority == 1", "then": ["priority": 5]])
        let (accepted, _) = try accept(under: rules)
        #expect(accepted.priority == .normal && accepted.placement == .settled(.deadLettered(.droppedByRule)))
    }

    @Test func aLaterChangeReplacesAnEarlierOneAndFieldsAreCounted() throws {
        let many = (0..<3).map { rule -> JSONValue in
            var fields = JSONObject()
            for place in 0..<8 { fields["x-\(rule)-\(place)"] = "v" }
            return ["name": .string("n\(rule)"), "then": ["headers": .object(fields)]]
        }
        let rules =
            try self.rules(
                ["name": "a", "then": ["headers": ["x-team": "blue"], "expireSeconds": 5]],
                ["name": "b", "then": ["headers": ["x-team": "red"], "expireSeconds": 6]])
            + RoutingRuleCatalog([DeclaredRule.kind { _ in .utc }]).rules(configuredBy: .array(many))
        let (accepted, _) = try accept(under: rules)
        #expect(accepted.expiration == .at(.second(6)))
        #expect(accepted.payload.headers.first == RenderedRequest.Header("x-team", "red"))
        #expect(accepted.payload.headers.count == RouterLimits.addedHeaders)
    }

    @Test func aRuleInShadowChangesNothingAndIsNoted() throws {
        let (accepted, _) = try accept(under: rules(["name": "low", "then": ["priority": 1], "mode": "shadow"]))
        #expect(accepted.priority == .high)
        #expect(accepted.decision.reason.hasSuffix("; in shadow rules.low: low (priority 1)"))
    }

    @Test func aRepetitionIsRecognisedAfterAChange() throws {
        var bench = try Workbench(.gallery(), [Scene("a")], rules: rules(["name": "low", "then": ["priority": 1]]))
        let first = try #require(try bench.accept(keys: ["k"]).accepted)
        #expect(try bench.accept(keys: ["k"]).duplicate?.id == first.id)
    }

    @Test func aReplayIsChangedLikeANewNotification() throws {
        var bench = try Workbench(
            .gallery(), [Scene("a")], rules: rules(["name": "team", "then": ["headers": ["x-team": "blue"]]]))
        let first = try #require(try bench.accept().accepted)
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        let stored = try #require(try bench.stored(first.sequence))
        let again = try #require(try bench.run(.accept(AcceptRequest(replaying: stored))).accepted)
        #expect(again.replayOf == first.id && again.payload == first.payload)
    }

    @Test func aTrialShowsTheChanges() throws {
        let chooser = Chooser(rules: try rules(["name": "low", "then": ["priority": 1]]))
        let view = NotificationView(application: .gallery, device: nil, contentID: "x", priority: .high, payload: [])
        let tenant = Tenant(.gallery(), [Scene("a")])
        let tried = chooser.tryOut(view, in: tenant, at: .epoch)
        #expect(tried.amendment.priority == .low && tried.decision.reason.hasSuffix("rules.low: low (priority 1)"))
        let explained = chooser.explain(view, from: tenant, at: .epoch, limit: 1)
        #expect(explained.amendment == tried.amendment && explained.decision == tried.decision)
        #expect(!tried.amendment.hasSameEffect(as: Chooser().tryOut(view, in: tenant, at: .epoch).amendment))
    }

    // MARK: Faults

    static let faults: [(changes: JSONValue, pointer: String, part: String)] = [
        (["priority": 2], "/then/priority", "1, 5 or 10"),
        (["expireSeconds": 0], "/then/expireSeconds", "604800"),
        (["headers": [:]], "/then/headers", "must have a field"),
        (["headers": ["x-a": 1]], "/then/headers/x-a", "must be a string"),
        (["headers": ["X-A": "1"]], "/then/headers/X-A", "lower case"),
        (["headers": ["webhook-id": "1"]], "/then/headers/webhook-id", "set by the router"),
        (["headers": ["connection": "close"]], "/then/headers/connection", "set by the router"),
        (["headers": ["x-a": "a\nb"]], "/then/headers/x-a", "visible ASCII"),
        (["headers": ["x-a": .string(String(repeating: "v", count: 1022))]], "/then/headers", "1024 bytes"),
        (["priority": 1, "hold": "end"], "/then/hold", "no such field"),
    ]

    @Test(arguments: faults.indices)
    func aFaultHasItsPlace(_ place: Int) {
        let (changes, pointer, part) = Self.faults[place]
        let error = #expect(throws: PluginConfigurationError.self) {
            _ = try DeclaredRuleTests.rule(["name": "a", "then": changes])
        }
        #expect(error?.pointer == pointer)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func aChangeCannotNameTheCandidate() {
        let error = #expect(throws: PluginConfigurationError.self) {
            _ = try DeclaredRuleTests.rule(
                ["name": "a", "when": "priority == 1 OR candidate.role == 'x'", "then": ["priority": 1]])
        }
        #expect(error?.pointer == "/when")
    }

    @Test(arguments: ["text/plain", "\na", "\n\n", "", "a\r\nb", "é\0"], [0, 1, 2])
    func aKeptHeadIsReadBack(contentType: String, count: Int) {
        let headers = (0..<count).map { RenderedRequest.Header("x-\($0)", $0 == 0 ? "a: b " : "") }
        let head = PayloadHead(contentType: contentType, headers: headers)
        #expect(PayloadHead(kept: head.kept) == head)
    }
}
