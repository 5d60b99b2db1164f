import Router
import RouterPlugin
import RouterTesting
import Testing

/// Laws of the choice over random tenants.
@Suite("The choice: laws")
struct InvarianceTests {
    static let seeds = Array(0..<150) as [UInt64]
    static let contents: [ContentID?] = [nil, "doc/1", "doc/2", "x"]

    /// Random scenes with a fixed order of creation, so that they can be inserted in any order.
    private static func scenes(_ generator: inout SeededGenerator) -> [SceneSession] {
        let predicates = [
            "TRUEPREDICATE", "FALSEPREDICATE", "SELF == 'x'", "SELF BEGINSWITH 'doc/'", "SELF == 'doc/2'",
        ]
        return (1...Int.random(in: 1...10, using: &generator)).map { number in
            Scene(
                SessionID(unchecked: "s\(number)"), can: predicates.randomElement(using: &generator) ?? "",
                prefers: predicates.randomElement(using: &generator) ?? "",
                ActivationState.allCases.randomElement(using: &generator) ?? .background,
                level: Int.random(in: 0...1, using: &generator),
                activated: Bool.random(using: &generator) ? Int64.random(in: 0...2, using: &generator) : nil,
                device: [nil, "d1", "d2"].randomElement(using: &generator) ?? nil,
                disabled: Int.random(in: 0..<8, using: &generator) == 0
            ).session(created: Int64(number))
        }
    }

    private static func tenant(_ sessions: [SceneSession]) -> Tenant {
        var tenant = Tenant(application: .gallery())
        for session in sessions { tenant.put(session) }
        return tenant
    }

    private static func outcomes(_ tenant: Tenant) -> [ChoiceOutcome] {
        contents.flatMap { content in
            [nil, "d1"].map { Chooser().choose(for: .about(content, device: $0), from: tenant, at: .epoch).outcome }
        }
    }

    @Test("The order of insertion never matters beyond the order of creation", arguments: seeds)
    func permutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let sessions = Self.scenes(&generator)
        let expected = Self.outcomes(Self.tenant(sessions))
        for _ in 0..<4 {
            #expect(Self.outcomes(Self.tenant(sessions.shuffled(using: &generator))) == expected)
        }
    }

    @Test("A session that neither can nor prefers changes nothing", arguments: seeds)
    func bystander(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let sessions = Self.scenes(&generator)
        let bystander = Scene(
            "bystander", can: "FALSEPREDICATE", prefers: "SELF == 'never'", .foregroundActive, level: 9, activated: 99
        ).session(created: -1)
        for content in Self.contents where content != nil {
            let without = Chooser().choose(for: .about(content), from: Self.tenant(sessions), at: .epoch).outcome
            // Without any session a single-scene application may create one; a bystander is a session.
            if case .newSession = without { continue }
            let with = Chooser().choose(for: .about(content), from: Self.tenant([bystander] + sessions), at: .epoch)
            #expect(with.outcome == without)
        }
    }

    @Test("Removing all sessions but the winner leaves the winner", arguments: seeds)
    func winnerAlone(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let sessions = Self.scenes(&generator)
        for content in Self.contents {
            let choice = Chooser().choose(for: .about(content), from: Self.tenant(sessions), at: .epoch)
            guard case .session(let winner) = choice.outcome else { continue }
            let alone = Self.tenant(sessions.filter { $0.key.session == winner })
            let again = Chooser().choose(for: .about(content), from: alone, at: .epoch)
            #expect(again.outcome == choice.outcome && again.decision.tier == choice.decision.tier)
        }
    }

    @Test("Rules that only accept, and rules that look ahead and only accept, change nothing", arguments: seeds)
    func acceptingRules(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let tenant = Self.tenant(Self.scenes(&generator))
        for content in Self.contents {
            let expected = Chooser().choose(for: .about(content), from: tenant, at: .epoch)
            for looksAhead in [false, true] {
                let rules = [SayingRule(looksAhead: looksAhead, [:])]
                let found = Chooser(rules: rules).choose(for: .about(content), from: tenant, at: .epoch)
                #expect(found.outcome == expected.outcome && found.decision == expected.decision)
            }
        }
    }

    @Test("An explanation makes the same decision and puts its winner first", arguments: seeds)
    func explanation(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let sessions = Self.scenes(&generator)
        let tenant = Self.tenant(sessions)
        let devices: [DeviceID?] = [nil, "d1"]
        for (content, device) in Self.contents.flatMap({ content in devices.map { (content, $0) } }) {
            let question = NotificationView.about(content, device: device)
            let choice = Chooser().choose(for: question, from: tenant, at: .epoch)
            let told = Chooser().explain(question, from: tenant, at: .epoch, limit: 1000)
            #expect(told.outcome == choice.outcome && told.decision == choice.decision)
            let inScope = sessions.filter { $0.disabled == nil && (device == nil || $0.device == device) }
            #expect(told.sessionsInScope == inScope.count)
            #expect(told.considered.count == told.sessionsInScope)
            if case .session(let winner) = choice.outcome {
                #expect(told.considered.first?.session == winner)
                #expect(told.considered.first?.tier == choice.decision.tier)
            }
            let ranks = told.considered.filter { $0.tier == nil }.compactMap { tenant.sessions[$0.session] }
                .map { Rank(RegistryEntry($0), in: .can) }
            #expect(ranks == ranks.sorted())
            let short = Chooser().explain(question, from: tenant, at: .epoch, limit: 2)
            #expect(short.considered == Array(told.considered.prefix(2)))
        }
    }
}
