import Router
import RouterPlugin

/// Conditions of rules without code, which hold for some candidates, and the texts that they look at.
struct RuleConditions {
    var texts: [String]
    var payload = "{}"
    var role = "windowApplication"
    var configuration = "main"

    /// Comparisons of a candidate with literals.
    static let literals = RuleConditions(texts: [
        "candidate.role == 'windowExternalDisplay'", "candidate.session IN {'lobby', 'kitchen'}",
        "candidate.activationState IN {'background', 'unattached'}", "candidate.secondsSinceActive < 60",
        "candidate.configuration BEGINSWITH 'kiosk'", "priority == 10 AND NOT candidate.preferenceLevel < 3",
    ])

    /// Patterns, and comparisons without case or diacritics.
    static let options = RuleConditions(texts: [
        "candidate.role ==[c] 'WINDOWEXTERNALDISPLAY'", "candidate.session LIKE '*7'",
        "candidate.session LIKE[c] 'S?SS*1*0'", "candidate.configuration CONTAINS[cd] 'MÄI'",
        "candidate.role IN[c] 'a windowApplication on a desk'", "candidate.session BETWEEN[c] {'A', 'session-5'}",
    ])

    /// Comparisons of a candidate with the notification.
    static let notification = RuleConditions(
        texts: [
            "candidate.device == device", "candidate.role == payload.role", "candidate.session IN payload.sessions",
            "candidate.configuration LIKE[c] payload.pattern", "candidate.secondsSinceActive > payload.age",
            "payload.text CONTAINS candidate.role", "ANY payload.sessions BEGINSWITH candidate.session",
            "candidate.preferenceLevel BETWEEN {payload.age, priority}",
        ],
        payload: """
            {"role": "windowExternalDisplay", "sessions": ["lobby", "kitchen"], "pattern": "M*N", "age": 3,
            "text": "a windowApplication on a desk"}
            """)

    /// Comparisons of texts beyond ASCII.
    static let beyondASCII = RuleConditions(
        texts: [
            "candidate.role ==[cd] 'FENETRE PRINCIPALE'", "candidate.configuration LIKE[c] 'KÜ*'",
            "candidate.configuration CONTAINS payload.part", "candidate.role ENDSWITH[d] 'salle'",
        ], payload: #"{"part": "ü"}"#, role: "fenêtre principale", configuration: "Küche, großes Fenster")
}

extension Benchmark {
    /// The verdict of one rule without code on one candidate, among rules of some conditions.
    static func verdicts(
        _ name: String, under conditions: RuleConditions, among population: Population
    ) throws -> Benchmark {
        let now = Timestamp(milliseconds: 1_767_225_600_000)
        let notification = NotificationView(
            application: ApplicationID(unchecked: "org.example.gallery"), device: nil,
            contentID: ContentID(unchecked: "article"), priority: .high, payload: Array(conditions.payload.utf8))
        let rules = try conditions.texts.enumerated().compactMap { number, condition in
            let rule = try DeclaredRule.kind { _ in nil }.make([
                "name": .string("rule-\(number)"), "when": .string(condition), "then": "veto",
            ])
            var facts = NotificationFacts(notification, at: now)
            return (rule as? DeclaredRule)?.concerning(&facts)
        }
        let candidates = Lasting(
            population.entries.map { entry in
                Candidate(
                    session: entry.session, device: entry.device, role: conditions.role,
                    configuration: conditions.configuration, activationState: entry.state,
                    lastActivatedAt: entry.lastActivatedAt, preferenceLevel: 0, tier: .can)
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
