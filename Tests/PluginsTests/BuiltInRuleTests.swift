import Foundation
import Plugins
import Router
import RouterPlugin
import RouterTesting
import Testing

/// Rules that stand in a configuration by their kinds: what each decides, and that it conforms.
struct BuiltInRuleTests {
    private static let noon = Timestamp(milliseconds: 1_767_225_600_000 + 43_200_000)

    private static func rule(_ entry: JSONValue) throws -> any RoutingRule {
        try #require(try RoutingRuleCatalog(BuiltInPlugins.ruleKinds).rules(configuredBy: [entry]).first)
    }

    private func view(_ payload: String = "{}", content: String? = nil, _ priority: Priority = .normal)
        -> NotificationView
    {
        NotificationView(
            application: ApplicationID(unchecked: "a"), device: nil,
            contentID: content.map { ContentID(unchecked: $0) }, priority: priority, payload: Array(payload.utf8))
    }

    private func candidate(_ session: String, device: String? = nil, configuration: String = "Default") -> Candidate {
        Candidate(
            session: SessionID(unchecked: session), device: device.map { DeviceID(unchecked: $0) }, role: "r",
            configuration: configuration, activationState: .background, lastActivatedAt: nil, preferenceLevel: 0,
            tier: .can)
    }

    private static let entries: [JSONValue] = [
        ["id": "routerd.rule.digest", "everyMinutes": 15, "belowPriority": 5],
        ["id": "routerd.rule.not-before", "member": "at"],
        ["id": "routerd.rule.originator", "member": "from"],
        ["id": "routerd.rule.canary", "configuration": "Default Configuration", "percent": 50],
        ["id": "routerd.rule.maintenance", "devices": ["a"], "until": "2026-01-01T12:00:00Z", "then": "hold"],
        ["id": "routerd.rule.maintenance", "configurations": ["a"], "from": "2026-01-01T12:00:00Z"],
        ["id": "routerd.rule.sticky", "withinSeconds": 60],
        ["id": "routerd.rule.least-busy"],
        ["id": "routerd.rule.rate-limit", "perSession": 10, "perContent": 2, "seconds": 30, "then": "veto"],
    ]

    @Test(arguments: entries)
    func itConforms(entry: JSONValue) throws {
        #expect(RoutingRuleSuite.violations(of: try Self.rule(entry), seed: 3) == [])
        let kind = try #require(BuiltInPlugins.ruleKinds.first { .string($0.id.text) == entry["id"] })
        #expect(PluginManifestSuite.violations(of: kind, example: entry) == [])
    }

    @Test func aDigestWaitsForTheEndOfItsWindowOnce() throws {
        let rule = try Self.rule(["id": "routerd.rule.digest", "everyMinutes": 15])
        let (received, end) = (Self.noon.advanced(byMilliseconds: 60_000), Self.noon.advanced(byMilliseconds: 900_000))
        let late = end.advanced(byMilliseconds: 3)
        guard case .hold(let until, _) = rule.verdict(on: candidate("a"), for: view(), at: received) else {
            Issue.record("not held")
            return
        }
        #expect(until == end)
        let again = NotificationView(view(), receivedAt: received)
        #expect(rule.verdict(on: candidate("a"), for: again, at: late) == .accept)
        #expect(rule.verdict(on: candidate("a"), for: view("{}", .high), at: received) == .accept)
    }

    @Test(
        arguments: [
            (#"{"notBefore": "2026-01-01T12:00:01Z"}"#, 1000),
            (#"{"notBefore": "2026-01-01T14:00:00.500+02:00"}"#, 500),
            (#"{"notBefore": 1767268802}"#, 2000), (#"{"notBefore": "2026-01-01T12:00:00Z"}"#, nil),
            (#"{"notBefore": "2026-01-01t12:00:01z"}"#, 1000),
            (#"{"notBefore": "2026-01-02T11:59:00+23:59"}"#, nil),
            (#"{"notBefore": "2026-01-02T11:59:01+23:59"}"#, 60_000 - 59_000),
            (#"{"notBefore": "2026-02-30T00:00:00Z"}"#, nil), (#"{"notBefore": "soon"}"#, nil), ("{}", nil),
            ("no JSON", nil),
        ] as [(String, Int64?)])
    func thePayloadNamesATime(payload: String, milliseconds: Int64?) throws {
        let rule = try Self.rule(["id": "routerd.rule.not-before"])
        let verdict = rule.verdict(on: candidate("a"), for: view(payload), at: Self.noon)
        let expected = milliseconds.map {
            RoutingVerdict.hold(
                until: Self.noon.advanced(byMilliseconds: $0), reason: "not before the time of the payload")
        }
        #expect(verdict == expected ?? .accept)
        var facts = NotificationFacts(view(payload), at: Self.noon)
        let bound = (rule as? any NotificationRule)?.concerning(&facts)
        #expect(bound?.verdict(on: candidate("a"), for: view(payload), at: Self.noon) == expected)
    }

    @Test func theOriginatorIsLeftOut() throws {
        let rule = try Self.rule(["id": "routerd.rule.originator"])
        let sent = view(#"{"originator": "desk"}"#)
        for (candidate, isVetoed) in [
            (candidate("desk"), true), (candidate("a", device: "desk"), true), (candidate("a", device: "phone"), false),
        ] {
            let verdict = rule.verdict(on: candidate, for: sent, at: Self.noon)
            #expect((verdict != .accept) == isVetoed)
        }
        #expect(rule.verdict(on: candidate("desk"), for: view(), at: Self.noon) == .accept)
    }

    @Test func aCanaryHasItsShareAndTheSameContentsAlways() throws {
        let rule = try Self.rule(["id": "routerd.rule.canary", "configuration": "Next", "percent": 20])
        let canary = candidate("c", configuration: "Next")
        var preferred = 0
        for number in 0..<5000 {
            let sent = view(content: "photo/\(number)")
            let verdict = rule.verdict(on: canary, for: sent, at: Self.noon)
            #expect(verdict == rule.verdict(on: canary, for: sent, at: .distantFuture))
            if case .prefer = verdict { preferred += 1 }
            #expect(rule.verdict(on: candidate("d"), for: sent, at: Self.noon) == .accept)
        }
        #expect((850...1150).contains(preferred), "\(preferred) of 5000")
        for (percent, name) in [(0, "veto"), (100, "prefer")] {
            let rule = CanaryRule(configuration: "Next", percent: percent)
            let verdict = rule.verdict(on: canary, for: view(content: "x"), at: Self.noon)
            #expect("\(verdict)".hasPrefix(name))
        }
    }

    @Test func aMaintenanceHasATime() throws {
        let rule = try Self.rule([
            "id": "routerd.rule.maintenance", "sessions": ["a"], "from": "2026-01-01T12:00:00Z",
            "until": "2026-01-01T13:00:00Z",
        ])
        func isVetoed(_ session: String, _ milliseconds: Int64) -> Bool {
            rule.verdict(
                on: candidate(session), for: view(), at: Self.noon.advanced(byMilliseconds: milliseconds)) != .accept
        }
        #expect(isVetoed("a", 0) && !isVetoed("b", 0) && !isVetoed("a", -1))
        #expect(isVetoed("a", 3_599_999) && !isVetoed("a", 3_600_000))
        let fault = #expect(throws: PluginConfigurationError.self) {
            try Self.rule(["id": "routerd.rule.maintenance", "sessions": ["a"], "then": "hold"])
        }
        #expect(fault?.pointer == "/0/then")
    }

    @Test func quietHoursMayHaveAZoneDaysAndDevices() throws {
        let rule = try Self.rule([
            "id": "routerd.rule.quiet-hours", "start": "22:00", "end": "07:00", "zone": "Europe/Berlin",
            "days": ["fri"], "devices": ["phone"],
        ])
        func held(_ time: String, _ device: String?) throws -> Timestamp? {
            let date = try Date.ISO8601FormatStyle().parse(time)
            let now = Timestamp(milliseconds: Int64(date.timeIntervalSince1970) * 1000)
            let verdict = rule.verdict(on: candidate("a", device: device), for: view(), at: now)
            if case .hold(let until, _) = verdict { return until } else { return nil }
        }
        // A Friday in summer: 22:00 in Berlin is 20:00 UTC.
        let end = Timestamp(milliseconds: 1783141200000)
        #expect(try held("2026-07-03T20:00:00Z", "phone") == end)
        #expect(try held("2026-07-03T20:00:00Z", "desk") == nil)
        #expect(try held("2026-07-03T20:00:00Z", nil) == nil)
        #expect(try held("2026-07-03T19:59:59Z", "phone") == nil)
        #expect(try held("2026-07-02T20:00:00Z", "phone") == nil)
        for (field, value) in [("zone", "Mars/Base"), ("days", ["f"])] as [(String, JSONValue)] {
            let usual: JSONValue = ["id": "routerd.rule.quiet-hours", "start": "22:00", "end": "07:00"]
            var entry = try #require(usual.asObject)
            entry[field] = value
            let fault = #expect(throws: PluginConfigurationError.self) { try Self.rule(.object(entry)) }
            #expect(fault?.pointer.hasPrefix("/0/\(field)") == true)
        }
    }
}
