import Plugins
import RouterPlugin
import RouterTesting
import Testing

func candidate(_ state: ActivationState = .foregroundActive) -> Candidate {
    Candidate(
        session: SessionID(unchecked: "win-1"), device: nil, role: "windowApplication", configuration: "Default",
        activationState: state, lastActivatedAt: nil, preferenceLevel: 0, tier: .can
    )
}

func notification(_ priority: Priority, application: String = "com.example.Gallery") -> NotificationView {
    NotificationView(
        application: ApplicationID(unchecked: application), device: nil, contentID: nil, priority: priority, payload: []
    )
}

struct DailyWindowTests {
    private func time(_ hour: Int, _ minute: Int, milliseconds: Int64 = 0) -> Timestamp {
        Timestamp(milliseconds: 1_767_225_600_000 + Int64(hour * 60 + minute) * 60_000 + milliseconds)
    }

    @Test func theStartBelongsToItAndTheEndDoesNot() throws {
        let window = try #require(DailyWindow(startMinute: 9 * 60, endMinute: 17 * 60 + 30))
        #expect(window.end(at: time(8, 59, milliseconds: 59_999)) == nil)
        #expect(window.end(at: time(9, 0)) == time(17, 30))
        #expect(window.end(at: time(17, 29, milliseconds: 59_999)) == time(17, 30))
        #expect(window.end(at: time(17, 30)) == nil)
        #expect(window.end(at: time(24 + 12, 0)) == time(24 + 17, 30))
    }

    @Test func itMayWrapMidnight() throws {
        let window = try #require(DailyWindow(startMinute: 22 * 60, endMinute: 7 * 60))
        #expect(window.end(at: time(21, 59)) == nil)
        #expect(window.end(at: time(22, 0)) == time(24 + 7, 0))
        #expect(window.end(at: time(24, 0)) == time(24 + 7, 0))
        #expect(window.end(at: time(6, 59)) == time(7, 0))
        #expect(window.end(at: time(7, 0)) == nil)
    }

    @Test func itMayEndWithTheDay() throws {
        let window = try #require(DailyWindow(startMinute: 22 * 60, endMinute: 1440))
        #expect(window.end(at: time(21, 59)) == nil)
        #expect(window.end(at: time(23, 59)) == time(24, 0))
        #expect(window.end(at: time(24, 0)) == nil)
        let whole = try #require(DailyWindow(startMinute: 0, endMinute: 1440))
        #expect(whole.end(at: time(0, 0)) == time(24, 0))
    }

    @Test func theOffsetIsThatOfLocalTime() throws {
        let east = try #require(DailyWindow(startMinute: 22 * 60, endMinute: 7 * 60, utcOffsetMinutes: 120))
        #expect(east.end(at: time(20, 0)) == time(24 + 5, 0))
        #expect(east.end(at: time(19, 59)) == nil)
        #expect(east.end(at: time(5, 0)) == nil)
        let west = try #require(DailyWindow(startMinute: 0, endMinute: 60, utcOffsetMinutes: -570))
        #expect(west.end(at: time(9, 30)) == time(10, 30))
        #expect(west.end(at: time(9, 29)) == nil)
    }

    @Test func numbersHaveTheirRanges() {
        #expect(DailyWindow(startMinute: -1, endMinute: 0) == nil)
        #expect(DailyWindow(startMinute: 0, endMinute: 1441) == nil)
        #expect(DailyWindow(startMinute: 60, endMinute: 60) == nil)
        #expect(DailyWindow(startMinute: 0, endMinute: 1, utcOffsetMinutes: 1441) == nil)
        #expect(DailyWindow(startMinute: 1439, endMinute: 0, utcOffsetMinutes: -1440) != nil)
    }

    /// Every window at every time, the extreme ones included: an end lies ahead by less than a day, nothing is open at
    /// it, and the window is open for exactly as long as it says.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func anEndIsTheNextEnd(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let (start, end) = (
                Int.random(in: 0..<1440, using: &generator), Int.random(in: 0..<1440, using: &generator)
            )
            let offset = Int.random(in: -1440...1440, using: &generator)
            guard let window = DailyWindow(startMinute: start, endMinute: end, utcOffsetMinutes: offset) else {
                continue
            }
            let bits = generator.next() >> UInt64.random(in: 0..<64, using: &generator)
            let now = Timestamp(milliseconds: Int64(bitPattern: bits))
            guard let over = window.end(at: now) else { continue }
            #expect(over > now, "seed \(seed)")
            guard over < .distantFuture else { continue }
            let length = Int64((end - start + 1440) % 1440) * 60_000
            #expect(over.milliseconds - now.milliseconds <= length, "seed \(seed)")
            #expect(window.end(at: over) == nil, "seed \(seed)")
            #expect(window.end(at: over.advanced(byMilliseconds: -1)) == over, "seed \(seed)")
            #expect(window.end(at: over.advanced(byMilliseconds: -length)) == over, "seed \(seed)")
            #expect(window.end(at: over.advanced(byMilliseconds: -length - 1)) == nil, "seed \(seed)")
        }
        #expect(DailyWindow(startMinute: 0, endMinute: 1439)?.end(at: .distantFuture) == nil)
    }
}

struct QuietHoursRuleTests {
    private func rule(_ configuration: String) throws -> QuietHoursRule {
        try QuietHoursRule(configuration: parsed(configuration))
    }

    @Test func aNotificationOfLowPriorityWaits() throws {
        let rule = try rule(#"{"id":"routerd.rule.quiet-hours","start":"11:30","end":"13:05"}"#)
        let end = noon.advanced(byMilliseconds: 65 * 60_000)
        for priority in [Priority.low, .normal] {
            #expect(
                rule.verdict(on: candidate(), for: notification(priority), at: noon)
                    == .hold(until: end, reason: "quiet hours: priority \(priority.rawValue) waits")
            )
            #expect(rule.verdict(on: candidate(), for: notification(priority), at: end) == .accept)
        }
        #expect(rule.verdict(on: candidate(), for: notification(.high), at: noon) == .accept)
    }

    @Test func itMayBeNarrowed() throws {
        let rule = try rule(
            #"{"start":"11:00","end":"13:00","utcOffsetMinutes":0,"belowPriority":5,"applications":["com.example.A"]}"#
        )
        func isHeld(_ priority: Priority, _ application: String) -> Bool {
            rule.verdict(on: candidate(), for: notification(priority, application: application), at: noon) != .accept
        }
        #expect(isHeld(.low, "com.example.A"))
        #expect(!isHeld(.normal, "com.example.A"))
        #expect(!isHeld(.low, "com.example.B"))
    }

    @Test(arguments: [
        ("{}", "missing-field", "/start"),
        (#"{"start":"22:00"}"#, "missing-field", "/end"),
        (#"{"start":22,"end":"07:00"}"#, "wrong-type", "/start"),
        (#"{"start":"24:00","end":"07:00"}"#, "invalid-value", "/start"),
        (#"{"start":"22:60","end":"07:00"}"#, "invalid-value", "/start"),
        (#"{"start":"9:00","end":"07:00"}"#, "invalid-value", "/start"),
        (#"{"start":"22.00","end":"07:00"}"#, "invalid-value", "/start"),
        (#"{"start":"22:00","end":"0:700"}"#, "invalid-value", "/end"),
        (#"{"start":"22:00","end":"24:01"}"#, "invalid-value", "/end"),
        (#"{"start":"22:00","end":"22:00"}"#, "invalid-value", "/end"),
        (#"{"start":"22:00","end":"07:00","utcOffsetMinutes":1441}"#, "invalid-value", "/utcOffsetMinutes"),
        (#"{"start":"22:00","end":"07:00","belowPriority":7}"#, "invalid-value", "/belowPriority"),
        (#"{"start":"22:00","end":"07:00","applications":["a","b c"]}"#, "invalid-value", "/applications/1"),
        (#"{"start":"22:00","end":"07:00","aplications":[]}"#, "unknown-field", "/aplications"),
    ])
    func aFaultIsNamedWithItsPlace(configuration: String, code: String, pointer: String) throws {
        let error = #expect(throws: PluginConfigurationError.self) { try rule(configuration) }
        #expect(error?.code == code)
        #expect(error?.pointer == pointer)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func itConforms(seed: UInt64) throws {
        #expect(RoutingRuleSuite.violations(of: try rule(#"{"start":"22:00","end":"07:00"}"#), seed: seed) == [])
        #expect(RoutingRuleSuite.violations(of: try rule(#"{"start":"00:00","end":"24:00"}"#), seed: seed) == [])
    }
}

struct StateFloorRuleTests {
    private func rule(_ configuration: String) throws -> StateFloorRule {
        try StateFloorRule(configuration: parsed(configuration))
    }

    @Test func itKeepsWhatIsNotUrgentFromWakingAnybody() throws {
        let rule = try rule("{}")
        for state in ActivationState.allCases {
            for priority in Priority.allCases {
                let isVetoed = rule.verdict(on: candidate(state), for: notification(priority), at: noon) != .accept
                #expect(isVetoed == (state == .unattached && priority == .low))
            }
        }
        #expect(
            rule.verdict(on: candidate(.unattached), for: notification(.low), at: noon)
                == .veto(reason: "state floor: unattached is below background for priority 1")
        )
    }

    @Test func floorAndPriorityAreConfigured() throws {
        let rule = try rule(#"{"floor":"foregroundActive","atOrBelowPriority":5}"#)
        func isVetoed(_ state: ActivationState, _ priority: Priority) -> Bool {
            rule.verdict(on: candidate(state), for: notification(priority), at: noon) != .accept
        }
        #expect(isVetoed(.foregroundInactive, .normal) && isVetoed(.foregroundInactive, .low))
        #expect(!isVetoed(.foregroundActive, .low) && !isVetoed(.unattached, .high))
    }

    @Test(arguments: [
        (#"{"floor":"onScreen"}"#, "invalid-value", "/floor"),
        (#"{"floor":1}"#, "wrong-type", "/floor"),
        (#"{"atOrBelowPriority":"low"}"#, "wrong-type", "/atOrBelowPriority"),
        (#"{"roof":"background"}"#, "unknown-field", "/roof"),
        ("[]", "wrong-type", ""),
    ])
    func aFaultIsNamedWithItsPlace(configuration: String, code: String, pointer: String) throws {
        let error = #expect(throws: PluginConfigurationError.self) { try rule(configuration) }
        #expect(error?.code == code)
        #expect(error?.pointer == pointer)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func itConforms(seed: UInt64) throws {
        #expect(RoutingRuleSuite.violations(of: try rule(#"{"floor":"foregroundActive"}"#), seed: seed) == [])
    }
}

struct BuiltInPluginsTests {
    @Test func theyFitTogether() throws {
        let catalog = try RoutingRuleCatalog(BuiltInPlugins.ruleKinds)
        let rules = try catalog.rules(
            configuredBy: parsed(
                #"[{"id":"routerd.rule.quiet-hours","start":"22:00","end":"07:00"},{"id":"routerd.rule.state-floor"},"#
                    + #"{"id":"routerd.rule.process","plugin":"com.example.rule.a","command":["/bin/rule"]},"#
                    + #"{"id":"routerd.rule.http","plugin":"com.example.rule.b","url":"https://rules.example.com/"}]"#
            )
        )
        let registry = try PluginRegistry(sourceKinds: BuiltInPlugins.sourceKinds, rules: rules)
        #expect(registry.sourceKinds.map(\.id.text).prefix(2) == ["routerd.source.push", "routerd.source.scene"])
        #expect(registry.rules.prefix(2).map(\.id) == catalog.kinds.prefix(2).map(\.id))
        #expect(registry.rules.dropFirst(2).map(\.id.text) == ["com.example.rule.a", "com.example.rule.b"])
        #expect(registry.sourceKind(named: "push") != nil)
        #expect(catalog.kinds.allSatisfy { $0.summary.hasSuffix(".") })
    }

    @Test func aMisspeltFieldIsNamed() throws {
        let catalog = try RoutingRuleCatalog(BuiltInPlugins.ruleKinds)
        let error = #expect(throws: PluginConfigurationError.self) {
            try catalog.rules(configuredBy: parsed(#"[{"id":"routerd.rule.state-floor","flor":"background"}]"#))
        }
        let fields = "id, floor, atOrBelowPriority, name, applications, mode"
        #expect(error?.description == "/0/flor: There is no such field; the fields are: \(fields).")
    }
}
