import PredicateEngine
import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// Explanations, compared with evaluating every session; their effort is counted and never timed.
@Suite("Explanations")
struct ExplanationTests {
    private static func tenant(_ scenes: [Scene], strict: Bool = false) -> Tenant {
        var tenant = Tenant(application: .gallery(strict: strict))
        for (place, scene) in scenes.enumerated() { tenant.put(scene.session(created: Int64(place))) }
        return tenant
    }

    private static func scenes(_ generator: inout SeededGenerator) -> [Scene] {
        let predicates = [
            "TRUEPREDICATE", "FALSEPREDICATE", "SELF == 'x'", "SELF BEGINSWITH 'doc/'", "SELF LIKE[cd] '*/?'",
            "SELF > 'doc/1'", "NOT SELF CONTAINS[c] 'DOC'", "'a doc/1' CONTAINS SELF",
        ]
        return (1...Int.random(in: 1...30, using: &generator)).map { number in
            Scene(
                SessionID(unchecked: "s\(number)"), can: predicates.randomElement(using: &generator) ?? "",
                prefers: predicates.randomElement(using: &generator) ?? "",
                ActivationState.allCases.randomElement(using: &generator) ?? .background,
                level: Int.random(in: -1...1, using: &generator) * 3000,
                activated: Bool.random(using: &generator) ? Int64.random(in: 0...2, using: &generator) : nil,
                device: [nil, "d1", "d2"].randomElement(using: &generator) ?? nil)
        }
    }

    /// The expected sessions by brute force: the evaluator evaluates every session, and the results are sorted.
    private static func expected(_ tenant: Tenant, _ content: String, _ device: DeviceID?) -> [ExaminedSession] {
        let strict = tenant.application.routing.prefersRequiresCan
        let asked = tenant.sessions.values.filter { device == nil || $0.device == device }.map {
            session -> (SceneSession, ExaminedSession) in
            let can = session.conditions.canActivate.evaluate(with: content)
            let prefers = session.conditions.prefersToActivate.evaluate(with: content)
            let tier: MatchTier? = prefers && (can || !strict) ? .prefers : can ? .can : nil
            return (session, ExaminedSession(session: session.key.session, tier: tier, can: can, prefers: prefers))
        }
        let tiers: [MatchTier?] = [.prefers, .can, nil]
        return tiers.flatMap { tier -> [ExaminedSession] in
            let ranked = asked.filter { $0.1.tier == tier }.map { (Rank(RegistryEntry($0.0), in: tier ?? .can), $0.1) }
            return ranked.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    @Test("An explanation agrees with evaluating every session", arguments: 0..<100 as Range<UInt64>)
    func bruteForce(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let tenant = Self.tenant(Self.scenes(&generator), strict: Bool.random(using: &generator))
        for content in ["doc/1", "doc/\u{E4}", "x", "Doc/2"] as [ContentID] {
            for device in [nil, "d1", "d3"] as [DeviceID?] {
                let expected = Self.expected(tenant, content.text, device)
                let steps = [0, 3000, 20_000, .max].randomElement(using: &generator) ?? 0
                let told = Chooser().explain(
                    .about(content, device: device), from: tenant, at: .epoch, limit: 1000, steps: steps)
                let found = told.considered.map { one in
                    ExaminedSession(
                        session: one.session, tier: MatchTier.allCases.first { $0.tier == one.tier }, can: one.can,
                        prefers: one.prefers)
                }
                #expect(found == Array(expected.prefix(found.count)))
                #expect(found.count == expected.count || steps < .max)
                #expect(found.first == expected.first, "the first is shown at any cost")
            }
        }
    }

    /// The effort of showing this many sessions, and how many were shown.
    private static func effort(
        _ tenant: Tenant, _ content: ContentID, hasCandidates: Bool = true, steps: Int = .max, limit: Int = .max,
        device: DeviceID? = nil
    ) -> (effort: IndexEffort, shown: Int) {
        var shown = 0
        let query = RegistryQuery(device: device, contentID: content)
        var work = DecisionWork.unlimited
        let effort = tenant.registry.examine(query, hasCandidates: hasCandidates, steps: steps, &work) { _ in
            shown += 1
            return shown < limit
        }
        return (effort, shown)
    }

    @Test("A predicate is evaluated once, however many sessions share it", arguments: [nil, "d"] as [DeviceID?])
    func shared(device: DeviceID?) {
        let scenes = (0..<300).map {
            Scene(
                SessionID(unchecked: "s\($0)"), can: "SELF CONTAINS 'a-window'", prefers: "SELF CONTAINS 'another'",
                device: device)
        }
        let (effort, shown) = Self.effort(Self.tenant(scenes), "another one", device: device)
        #expect(shown == 300 && effort.asked == 2)
    }

    @Test("Each session's predicates are evaluated by the index, and for no more sessions than are shown")
    func withoutReceiver() {
        let scenes = (0..<300).map {
            Scene(SessionID(unchecked: "s\($0)"), can: "SELF > 'z\($0)'", prefers: "SELF > 'y\($0)'")
        }
        let (effort, shown) = Self.effort(Self.tenant(scenes), "a", hasCandidates: false, limit: 50)
        #expect(shown == 50 && effort.asked == 100)
    }

    @Test("Patterns with a question mark behind stars cost the same as in a decision")
    func hostilePatterns() {
        let patterns = (0..<14).map { "SELF LIKE '*\(String(repeating: "?", count: 1000 - $0))ab?*'" }
        let scenes = (0..<3).map {
            Scene(SessionID(unchecked: "s\($0)"), can: "(\(patterns.joined(separator: " OR "))) AND SELF < 'zz\($0)'")
        }
        let id = String(repeating: "a", count: 500) + "ab" + String(repeating: "a", count: 3500)
        let (effort, shown) = Self.effort(Self.tenant(scenes), ContentID(unchecked: id))
        #expect(shown == 3 && effort.asked == 3)
        #expect(effort.compared > 0 && effort.compared <= 3 * 15 * (40 * id.utf8.count + 256 * 1001 + 24_576))
    }

    @Test("An explanation ends when it has used up its steps", arguments: [nil, "d"] as [DeviceID?])
    func steps(device: DeviceID?) {
        func texts(_ number: Int) -> String {
            "ANY {\((0..<200).map { "'\(number)-\($0)-'" }.joined(separator: ","))} IN SELF"
        }
        let id = ContentID(unchecked: String(repeating: "1-2,", count: 1000))
        let scenes = (0..<100).map {
            Scene(SessionID(unchecked: "s\($0)"), can: texts($0), prefers: texts(1000 + $0), device: device)
        }
        let tenant = Self.tenant(scenes)
        for hasCandidates in [false, true] {
            let all = Self.effort(tenant, id, hasCandidates: hasCandidates, device: device).effort.compared
            // The first session takes more than others: in the course of it the subject's suffixes are sorted.
            let first = Self.effort(tenant, id, hasCandidates: false, limit: 1, device: device).effort.compared
            for part in [2, 5, 20] {
                let (effort, shown) = Self.effort(
                    tenant, id, hasCandidates: hasCandidates, steps: all / part, device: device)
                // The predicates of one session beyond it may be evaluated; at the start, those of all sessions, if
                // there may be candidates.
                if hasCandidates {
                    #expect(shown >= 1 && effort.compared <= all)
                } else {
                    #expect((1..<100).contains(shown))
                    #expect(effort.compared <= max(first, all / part) + all / 50)
                }
            }
        }
    }

    @Test("A search for candidates ends too, behind the first of them", arguments: [nil, "d"] as [DeviceID?])
    func stepsOfSearch(device: DeviceID?) {
        let first = Scene("first", can: "FALSEPREDICATE", prefers: "TRUEPREDICATE", level: 1, device: device)
        let scenes = (0..<1000).map {
            Scene(
                SessionID(unchecked: "s\($0)"), can: "FALSEPREDICATE", prefers: "SELF > 'z\($0)'", device: device)
        }
        let tenant = Self.tenant(scenes + [first])
        let question = IndexEffort.stepsOfQuestion
        let (effort, shown) = Self.effort(tenant, "a", steps: 100 * question, device: device)
        #expect(shown == 1 && (90...100).contains(effort.asked))
        let told = Chooser().explain(.about("a", device: device), from: tenant, at: .epoch, limit: 50, steps: 1)
        #expect(told.considered.map(\.session) == ["first"] && told.sessionsInScope == 1001)
    }
}
