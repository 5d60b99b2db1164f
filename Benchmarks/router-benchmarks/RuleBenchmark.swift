import Router
import RouterPlugin

extension Benchmark {
    /// The verdict of one rule without code on one candidate, among rules whose conditions compare the candidate with literals
    /// and hold for some candidates.
    static func verdicts(_ name: String, among population: Population) throws -> Benchmark {
        let now = Timestamp(milliseconds: 1_767_225_600_000)
        let notification = NotificationView(
            application: ApplicationID(unchecked: "org.example.gallery"), device: nil,
            contentID: ContentID(unchecked: "article"),
            priority: .high, payload: [])
        let conditions = [
            "candidate.role == 'windowExternalDisplay'", "candidate.session IN {'lobby', 'kitchen'}",
            "candidate.activationState IN {'background', 'unattached'}", "candidate.secondsSinceActive < 60",
            "candidate.configuration BEGINSWITH 'kiosk'", "priority == 10 AND NOT candidate.preferenceLevel < 3",
        ]
        let rules = try conditions.enumerated().compactMap { number, condition in
            let rule = try DeclaredRule.kind { _ in nil }.make([
                "name": .string("rule-\(number)"), "when": .string(condition), "then": "veto",
            ])
            var facts = NotificationFacts(notification, at: now)
            return (rule as? DeclaredRule)?.concerning(&facts)
        }
        let candidates = Lasting(
            population.entries.map { entry in
                Candidate(
                    session: entry.session, device: entry.device, role: "windowApplication", configuration: "main",
                    activationState: entry.state, lastActivatedAt: entry.lastActivatedAt, preferenceLevel: 0, tier: .can
                )
            })
        return Benchmark(name: "verdict, \(name)", operations: rules.count * candidates.count) {
            ask(rules, about: candidates, for: notification, at: now)
        }
    }

    /// The number of candidates that a rule vetoes.
    @inline(never)
    private static func ask(
        _ rules: [any RoutingRule], about candidates: Lasting<Candidate>, for notification: NotificationView,
        at now: Timestamp
    ) -> Int {
        var vetoed = 0
        candidates.forEach { candidate in
            for rule in rules {
                if case .veto = rule.verdict(on: candidate, for: notification, at: now) { vetoed += 1 }
            }
        }
        return vetoed
    }
}
