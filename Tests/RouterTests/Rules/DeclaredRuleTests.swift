import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

/// Rules as a configuration declares them.
struct DeclaredRuleTests {
    private static let zones: [String: ZoneOffsets] = ["UTC": .utc]

    static func rule(_ object: JSONValue) throws(PluginConfigurationError) -> any RoutingRule {
        try DeclaredRule.kind { zones[$0] }.make(object)
    }

    private func view(
        _ content: ContentID? = "x", priority: Priority = .high, payload: String = "{}", device: DeviceID? = nil
    ) -> NotificationView {
        NotificationView(
            application: .gallery, device: device, contentID: content, priority: priority, payload: Array(payload.utf8))
    }

    private func choose(
        _ rules: JSONValue..., among scenes: [Scene] = RuleTests.scenes, for view: NotificationView,
        at now: Timestamp = .epoch
    ) throws -> (outcome: ChoiceOutcome, decision: Decision) {
        try Chooser(rules: rules.map { try Self.rule($0) }).choose(for: view, from: Tenant(.gallery(), scenes), at: now)
    }

    @Test func aVetoHasTheReasonOfTheRule() throws {
        let rule: JSONValue = [
            "name": "busy", "when": "candidate.session == 'p1'", "then": "veto", "reason": "p1 is busy",
        ]
        let (outcome, decision) = try choose(rule, for: view())
        #expect(outcome == .session("p2"))
        #expect(decision.vetoes == [Veto(session: "p1", rule: "rules.busy", reason: "p1 is busy")])
    }

    @Test func withoutAReasonTheNameIsShown() throws {
        let (outcome, decision) = try choose(["name": "stop", "then": "drop"], for: view())
        #expect(outcome == .dropped && decision.reason == "rules.stop: stop")
    }

    @Test func thePayloadDecides() throws {
        let rule: JSONValue = [
            "name": "loud", "when": "payload.level == 'info' AND ANY payload.tags == 'bulk'", "then": "drop",
        ]
        let loud = #"{"level": "info", "tags": ["a", "bulk"]}"#
        #expect(try choose(rule, for: view(payload: loud)).outcome == .dropped)
        #expect(try choose(rule, for: view(payload: #"{"level": "info", "tags": []}"#)).outcome == .session("p1"))
        #expect(try choose(rule, for: view(payload: "no JSON")).outcome == .session("p1"))
    }

    @Test func thePreferredCandidateIsTaken() throws {
        let rule: JSONValue = ["name": "second", "when": "candidate.session IN {'p2', 'c2'}", "then": "prefer"]
        let (outcome, decision) = try choose(rule, for: view())
        #expect(outcome == .session("p2") && decision.reason == "rules.second: second")
    }

    @Test func aRedirectNamesItsSession() throws {
        let rule: JSONValue = ["name": "wall", "when": "priority == 10", "then": ["redirect": "c2"]]
        #expect(try choose(rule, for: view()).outcome == .session("c2"))
        #expect(try choose(rule, for: view(priority: .low)).outcome == .session("p1"))
    }

    @Test(arguments: [
        ("p9", nil, "there is no such session"), ("off", nil, "it is disabled, or an observer"),
        ("other", "d1", "it is for another device than the notification"),
    ])
    func aRedirectInVainIsTold(to session: String, device: String?, obstacle: String) throws {
        let rule: JSONValue = ["name": "wall", "then": ["redirect": .string(session)]]
        let scenes = [
            Scene("a", device: "d1"), Scene("b", device: "d1"), Scene("other", device: "d2"),
            Scene("off", disabled: true),
        ]
        let sent = view(device: device.map { DeviceID(unchecked: $0) })
        let (outcome, decision) = try choose(rule, among: scenes, for: sent)
        #expect(outcome == .session("a"))
        #expect(
            decision.reason.hasSuffix("; rules.wall redirects to \(session) in vain: \(obstacle)"), "\(decision.reason)"
        )
        #expect(decision.reason.ranges(of: "in vain").count == 1)
        let explained = Chooser(rules: [try Self.rule(rule)]).explain(
            sent, from: Tenant(.gallery(), scenes), at: .epoch, limit: 10)
        let first = explained.considered.first { $0.session == "a" }
        #expect(first?.reason == "chosen" && first?.verdicts.map(\.obstacle) == [obstacle])
        let second = explained.considered.first { $0.session == "b" }
        #expect(second?.reason.contains("redirected") == false, "\(second?.reason ?? "")")
    }

    @Test func vetoedCandidatesDoNotHideARedirectInVain() throws {
        let (outcome, decision) = try choose(
            ["name": "wall", "then": ["redirect": "p9"]], ["name": "no", "then": "veto"], for: view())
        #expect(outcome == .undeliverable && decision.reason.contains("rules.wall redirects to p9 in vain"))
    }

    @Test func aHoldLastsUntilTheHoursEnd() throws {
        let rule: JSONValue = [
            "name": "night", "when": "priority < 10", "during": ["zone": "UTC", "from": "22:00", "to": "07:00"],
            "then": ["hold": "end"],
        ]
        let hour: Int64 = 3600
        let low = view(priority: .low)
        #expect(try choose(rule, for: low, at: .second(-hour)).outcome == .held(until: .second(7 * hour)))
        #expect(try choose(rule, for: low, at: .second(7 * hour)).outcome == .session("p1"))
        #expect(try choose(rule, for: view(), at: .epoch).outcome == .session("p1"))
    }

    @Test func outsideTheHoursTheRuleHoldsUntilTheyBegin() throws {
        let rule: JSONValue = [
            "name": "office",
            "outside": ["zone": "UTC", "days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "17:00"],
            "then": ["hold": "end"],
        ]
        let (hour, day): (Int64, Int64) = (3600, 86_400)
        // The test's time begins on a Thursday: Friday at 17:00 is outside, until Monday at 09:00.
        #expect(try choose(rule, for: view(), at: .second(day + 16 * hour)).outcome == .session("p1"))
        let monday = Timestamp.second(4 * day + 9 * hour)
        #expect(try choose(rule, for: view(), at: .second(day + 17 * hour)).outcome == .held(until: monday))
    }

    @Test func aHoldOfSecondsBeginsWhenTheNotificationComes() throws {
        let rule: JSONValue = ["name": "settle", "then": ["holdSeconds": 60]]
        #expect(try choose(rule, for: view()).outcome == .held(until: .second(60)))
        let earlier = NotificationView(view(), receivedAt: .epoch)
        #expect(try choose(rule, for: earlier, at: .second(59)).outcome == .held(until: .second(60)))
        #expect(try choose(rule, for: earlier, at: .second(60)).outcome == .session("p1"))
    }

    @Test func onlyTheApplicationsOfTheRuleAreConcerned() throws {
        let other: JSONValue = ["name": "other", "applications": ["com.example.Other"], "then": "drop"]
        #expect(try choose(other, for: view()).outcome == .session("p1"))
        let gallery: JSONValue = ["name": "gallery", "applications": ["com.example.Gallery"], "then": "drop"]
        #expect(try choose(gallery, for: view()).outcome == .dropped)
    }

    @Test func aComparisonOfCandidateAndNotificationIsMadeForEachCandidate() throws {
        let scenes = [Scene("a", .foregroundActive, device: "d1"), Scene("b", device: "d2")]
        let rule: JSONValue = [
            "name": "originator", "when": "candidate.device == payload.from.device", "then": "veto",
        ]
        let sent = view(payload: #"{"from": {"device": "d1"}}"#)
        let (outcome, decision) = try choose(rule, among: scenes, for: sent)
        #expect(outcome == .session("b") && decision.vetoes.map(\.session) == ["a"])
        #expect(try choose(rule, among: scenes, for: view(payload: "{}")).outcome == .session("a"))
    }

    @Test func anExplanationShowsTheVerdictOfEachRule() throws {
        let rules = [
            try Self.rule(["name": "one", "when": "priority == 1", "then": "drop"]),
            try Self.rule(["name": "two", "when": "candidate.session == 'p1'", "then": "veto"]),
        ]
        let explained = Chooser(rules: rules).explain(
            view(), from: Tenant(.gallery(), RuleTests.scenes), at: .epoch, limit: 10)
        let verdicts = explained.considered.first { $0.session == "p1" }?.verdicts
        #expect(verdicts?.map(\.rule) == ["rules.one", "rules.two"])
        #expect(verdicts?.map(\.verdict) == [.accept, .veto(reason: "two")])
    }

    // MARK: Faults

    static let faults: [(fields: JSONValue, pointer: String, part: String)] = [
        (["then": "veto"], "/name", "missing"),
        (["name": "a b", "then": "veto"], "/name", "letters"),
        (["name": "a"], "/then", "missing"),
        (["name": "a", "then": "vote"], "/then", "veto, prefer, drop"),
        (["name": "a", "then": ["redirect": "a/b"]], "/then", "redirect"),
        (["name": "a", "then": ["hold": "end"]], "/then", "during or outside"),
        (["name": "a", "then": ["holdSeconds": 0]], "/then/holdSeconds", "from 1 to 604800"),
        (["name": "a", "then": ["holdSeconds": 604_801]], "/then/holdSeconds", "seven days at most"),
        (["name": "a", "then": ["holdSeconds": "60"]], "/then/holdSeconds", "a whole number"),
        (["name": "a", "then": "veto", "unless": "x"], "/unless", "fields are"),
        (["name": "a", "then": "veto", "reason": "a\nb"], "/reason", "one line"),
        (["name": "a", "then": "veto", "when": "candidat.role == 'x'"], "/when", "there is no such value"),
        (["name": "a", "then": "veto", "when": "candidate.rol == 'x'"], "/when", "^~~~~~~~~~~~"),
        (["name": "a", "then": "veto", "when": "priority == 'high'"], "/when", "priority is a number"),
        (["name": "a", "then": "veto", "when": "candidate.activationState == 'front'"], "/when", "foregroundActive"),
        (["name": "a", "then": "veto", "when": "ANY kind == 'url'"], "/when", "no array"),
        (["name": "a", "then": "veto", "when": "priority BEGINSWITH '1'"], "/when", "no parts"),
        (["name": "a", "then": "veto", "when": "candidate.role MATCHES 'x'"], "/when", "regular expressions"),
        (["name": "a", "then": "veto", "during": ["from": "22:00"]], "/during/zone", "missing"),
        (
            ["name": "a", "then": "veto", "during": ["zone": "Mars/Base", "from": "22:00"]], "/during/zone",
            "no time zone"
        ),
        (["name": "a", "then": "veto", "during": [["zone": "UTC", "from": "9"]]], "/during/0/from", "time of day"),
        (
            ["name": "a", "then": "veto", "during": ["zone": "UTC", "from": "09:00", "to": "09:00"]], "/during/to",
            "length"
        ),
        (["name": "a", "then": "veto", "during": ["zone": "UTC", "days": ["someday"]]], "/during/days", "mon"),
        (["name": "a", "then": "veto", "during": ["zone": "UTC"]], "/during", "never ends"),
        (["name": "a", "then": "veto", "during": ["zone": "UTC", "id": "x"]], "/during/id", "no such field"),
        (
            ["name": "a", "then": "veto", "outside": ["zone": "UTC"], "during": ["zone": "UTC", "to": "09:00"]],
            "/outside", "beside"
        ),
    ]

    @Test(arguments: faults.indices)
    func aFaultHasItsPlace(_ place: Int) {
        let (fields, pointer, part) = Self.faults[place]
        let error = #expect(throws: PluginConfigurationError.self) { _ = try Self.rule(fields) }
        #expect(error?.pointer == pointer)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    // MARK: Laws

    static let conforming: [JSONValue] = [
        ["name": "a", "then": "veto"],
        ["name": "a", "when": "candidate.role LIKE '*a*' OR payload.aps.alert == 'x'", "then": "prefer"],
        ["name": "a", "when": "NOT candidate.device == device", "then": ["redirect": "win-7"]],
        ["name": "a", "during": ["zone": "UTC", "from": "22:00", "to": "07:00"], "then": ["hold": "end"]],
        [
            "name": "a", "outside": [["zone": "UTC", "days": ["sun"]], ["zone": "UTC", "to": "06:30"]],
            "then": ["hold": "end"],
        ],
        ["name": "a", "when": "priority < 10", "then": ["priority": 1, "headers": ["x-team": "blue"]]],
    ]

    @Test(arguments: conforming)
    func itConforms(_ fields: JSONValue) throws {
        #expect(RoutingRuleSuite.violations(of: try Self.rule(fields), seed: 1) == [])
    }

    /// A condition cut into parts gives what the whole predicate gives for notification and candidate as one value.
    @Test(arguments: 1...20)
    func aConditionInPartsIsTheWholeOne(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var (conditions, faults) = (0, 0)
        while conditions < 200 {
            let text = Self.condition(depth: 3, using: &generator)
            // A comparison that no value satisfies is a fault.
            guard let rule = try? Self.rule(["name": "a", "when": .string(text), "then": "veto"]) else {
                faults += 1
                try #require(faults < 400)
                continue
            }
            conditions += 1
            let predicate = try PayloadPredicate(format: text)
            for _ in 0..<10 {
                let (view, candidate) = Self.question(using: &generator)
                let verdict = rule.verdict(on: candidate, for: view, at: .epoch)
                let expected = predicate.evaluate(with: Self.value(view, candidate))
                #expect((verdict != .accept) == expected, "seed \(seed): \(text) for \(candidate)")
            }
        }
    }
}

// MARK: - Random conditions

extension DeclaredRuleTests {
    private static let texts = [
        "", "a", "ab", "win-1", "é", "e\u{301}", "wall", "WALL", "É", "w*", "?", "w\u{308}all", "ß", "SS", "\u{301}",
        "a\u{308}\u{323}b", "background", "\u{301}*", "\\*", "ṩ한ΐ", "a\nb",
    ]

    private static func pick<Element>(_ list: [Element], using generator: inout SeededGenerator) -> Element {
        list[Int.random(in: list.indices, using: &generator)]
    }

    private static func condition(depth: Int, using generator: inout SeededGenerator) -> String {
        guard depth > 0, Bool.random(using: &generator) else { return comparison(using: &generator) }
        let (left, right) = (
            condition(depth: depth - 1, using: &generator), condition(depth: depth - 1, using: &generator)
        )
        return pick(["(\(left)) AND (\(right))", "(\(left)) OR (\(right))", "NOT (\(left))"], using: &generator)
    }

    private static func comparison(using generator: inout SeededGenerator) -> String {
        func literal(_ generator: inout SeededGenerator) -> String {
            "'\(pick(texts, using: &generator).replacing("\\", with: "\\\\"))'"
        }
        let text = literal(&generator)
        let field = pick(
            [
                "candidate.session", "candidate.device", "candidate.role", "candidate.configuration", "device",
                "contentId",
                "payload.a",
            ], using: &generator)
        let other = pick(
            ["candidate.session", "candidate.device", "candidate.role", "device", "contentId", "payload.a", "kind"],
            using: &generator)
        let number2 = pick(
            ["candidate.secondsSinceActive", "candidate.preferenceLevel", "priority", "payload.a", "1.5"],
            using: &generator)
        let options = pick(["", "[c]", "[d]", "[cd]", "[n]", "[l]"], using: &generator)
        let relation = pick(
            ["==", "!=", "<", "<=", ">", ">=", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "IN"], using: &generator)
        let quantifier = pick(["ANY", "ALL", "NONE"], using: &generator)
        let number = pick([-1, 0, 1, 5, 10, 60], using: &generator)
        let order = pick(["<", "<=", ">", ">=", "==", "!="], using: &generator)
        let text2 = literal(&generator)
        return pick(
            [
                "\(field) == \(text)", "\(field) != \(text)", "\(field) IN {\(text), \(text2)}",
                "\(field) BEGINSWITH \(text)", "\(field) ENDSWITH \(text)", "\(field) CONTAINS \(text)",
                "\(field) ==[c] \(text)", "\(field) LIKE 'w*'", "\(field) == NULL", "\(text) == \(field)",
                "candidate.secondsSinceActive \(order) \(number)", "candidate.preferenceLevel \(order) \(number)",
                "priority \(order) \(number)", "candidate.activationState == 'background'",
                "candidate.activationState BEGINSWITH 'fore'", "candidate.prefers == TRUE",
                "candidate.device == device",
                "candidate.session == payload.a", "kind == 'url'", "ANY payload.list == \(text)",
                "candidate.preferenceLevel BETWEEN {0, \(number)}", "TRUEPREDICATE",
                "\(field) \(relation)\(options) \(text)", "\(text) \(relation)\(options) \(field)",
                "\(field) \(relation)\(options) \(other)", "\(field) \(relation)\(options) \(other)",
                "\(quantifier) payload.list \(relation)\(options) \(field)",
                "\(quantifier) {\(field), \(text)} \(relation)\(options) \(other)",
                "\(field) IN payload.list", "\(field) IN {\(other), \(text), NULL}", "payload.list CONTAINS \(field)",
                "{\(field), \(text)} == payload.list", "{\(field), \(text)} != {\(text2), \(other)}",
                "candidate.secondsSinceActive \(order) \(number2)", "\(number2) \(order) candidate.preferenceLevel",
                "candidate.preferenceLevel BETWEEN {\(number2), priority}",
                "\(field) BETWEEN\(options) {\(text), \(other)}",
                "candidate.preferenceLevel BETWEEN payload.list", "candidate.activationState == payload.a",
                "candidate.activationState \(relation)\(options) \(other)", "candidate.prefers == payload.a",
                "candidate.prefers \(order) \(number2)", "candidate.device == candidate.secondsSinceActive",
            ], using: &generator)
    }

    private static func question(using generator: inout SeededGenerator) -> (NotificationView, Candidate) {
        func id<Kind>(_: Kind.Type) -> Identifier<Kind> { Identifier(unchecked: pick(texts, using: &generator)) }
        func device() -> DeviceID? { Bool.random(using: &generator) ? id(IdentifierKinds.Device.self) : nil }
        let payload = pick(
            [
                #"{"a": "ab", "list": ["a", "é"]}"#, #"{"a": 5}"#, "{}", "x", #"{"a": "W*", "list": ["WALL", null]}"#,
                #"{"a": true, "list": [0, 5]}"#, #"{"a": "é", "list": ["win-1", "ab", 1, ["a"]]}"#,
                #"{"a": "the wall and the win-1 of É", "list": []}"#, #"{"a": null, "list": "a"}"#,
            ], using: &generator)
        let view = NotificationView(
            kind: pick([.notification, .url], using: &generator), application: .gallery, device: device(),
            contentID: Bool.random(using: &generator) ? id(IdentifierKinds.Content.self) : nil,
            priority: pick([.low, .normal, .high], using: &generator), payload: Array(payload.utf8))
        let candidate = Candidate(
            session: id(IdentifierKinds.Session.self), device: device(), role: pick(texts, using: &generator),
            configuration: pick(texts, using: &generator),
            activationState: pick(ActivationState.allCases, using: &generator),
            lastActivatedAt: pick([nil, .epoch, .second(-1), .second(-60), .second(5)], using: &generator),
            preferenceLevel: pick([-1, 0, 1, 60], using: &generator), tier: pick([.prefers, .can], using: &generator))
        return (view, candidate)
    }

    private static func value(_ view: NotificationView, _ candidate: Candidate) -> PayloadValue {
        let seconds = candidate.lastActivatedAt.map {
            max(0, (Timestamp.epoch.milliseconds - $0.milliseconds) / 1000)
        }
        let payload = (try? JSONValue(parsing: view.payload)).map(PayloadValue.init) ?? .null
        func text(_ text: String?) -> PayloadValue { text.map(PayloadValue.string) ?? .null }
        return .object(
            PayloadObject([
                ("application", .string(view.application.text)), ("device", text(view.device?.text)),
                ("contentId", text(view.contentID?.text)), ("priority", .integer(Int64(view.priority.rawValue))),
                ("kind", .string(view.kind.rawValue)), ("payload", payload),
                (
                    "candidate",
                    .object(
                        PayloadObject([
                            ("session", .string(candidate.session.text)), ("device", text(candidate.device?.text)),
                            ("role", .string(candidate.role)), ("configuration", .string(candidate.configuration)),
                            ("activationState", .string(candidate.activationState.name)),
                            ("secondsSinceActive", seconds.map(PayloadValue.integer) ?? .null),
                            ("preferenceLevel", .integer(Int64(candidate.preferenceLevel))),
                            ("prefers", .boolean(candidate.tier == .prefers)),
                        ]))
                ),
            ]))
    }
}
