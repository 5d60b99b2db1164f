public import RouterPlugin

/// The laws that every routing rule must keep, whatever it decides.
///
/// Use it from any test framework:
///
///     #expect(RoutingRuleSuite.violations(of: MyRule(), seed: 1) == [])
///
/// The suite gives a rule odd and hostile candidates, notifications and times, and checks that
/// 1. the name is well-formed;
/// 2. the same arguments give the same verdict, given twice and given in another order;
/// 3. every reason is one line of 1 to `maximumReasonLength` bytes;
/// 4. `hold` names a later time, `redirect` a well-formed session;
/// 5. only a rule that looks ahead answers `prefer`.
///
/// A rule that traps ends the test process, which is a finding too.
public enum RoutingRuleSuite: Sendable {
    /// The maximum length of a reason in bytes; reasons are stored with every decision.
    public static let maximumReasonLength = 200

    /// The laws that the rule breaks, one sentence each; empty if it conforms. The seed selects the arguments.
    public static func violations(of rule: any RoutingRule, seed: UInt64) -> [String] {
        var violations = Violations()
        violations.requireWellFormed(rule.id, again: rule.id)
        violations.require(rule.looksAhead == rule.looksAhead, "looksAhead: differs from one call to the next")
        let questions = RuleQuestion.all(seed: seed)
        var answers: [RoutingVerdict] = []
        for question in questions {
            let answer = question.ask(rule)
            answers.append(answer)
            check(answer, at: question.now, looksAhead: rule.looksAhead, into: &violations)
            violations.require(question.ask(rule) == answer, "determinism: asked twice, the rule answers differently")
        }
        var generator = SeededGenerator(seed: ~seed)
        for place in questions.indices.shuffled(using: &generator) {
            violations.require(
                questions[place].ask(rule) == answers[place],
                "determinism: the verdict depends on earlier questions"
            )
        }
        return violations.list
    }

    private static func check(
        _ verdict: RoutingVerdict, at now: Timestamp, looksAhead: Bool, into violations: inout Violations
    ) {
        switch verdict {
        case .accept: break
        case .prefer(let reason):
            violations.require(looksAhead, "prefer: answered by a rule that does not look ahead")
            check(reason, of: "prefer", into: &violations)
        case .veto(let reason): check(reason, of: "veto", into: &violations)
        case .drop(let reason): check(reason, of: "drop", into: &violations)
        case .redirect(let session, let reason):
            violations.require((try? SessionID(session.text)) != nil, "redirect: the session id is not well-formed")
            check(reason, of: "redirect", into: &violations)
        case .hold(let until, let reason):
            violations.require(until > now, "hold: the time is not later than now")
            check(reason, of: "hold", into: &violations)
        }
    }

    private static func check(_ reason: String, of verdict: String, into violations: inout Violations) {
        violations.require(!reason.isEmpty, "\(verdict): the reason is empty")
        violations.require(reason.utf8.count <= maximumReasonLength, "\(verdict): the reason is longer than 200 bytes")
        violations.require(isOneLine(reason), "\(verdict): the reason has control characters")
    }
}

/// The arguments of a rule: a candidate, a notification and a time.
struct RuleQuestion {
    let candidate: Candidate
    let notification: NotificationView
    let now: Timestamp

    func ask(_ rule: any RoutingRule) -> RoutingVerdict {
        rule.verdict(on: candidate, for: notification, at: now)
    }

    /// Every state, tier and priority, each with a random choice of all other values; a time in every hour of a day.
    static func all(seed: UInt64) -> [RuleQuestion] {
        var generator = SeededGenerator(seed: seed)
        let payloads = Self.payloads(using: &generator)
        let day: Int64 = 86_400_000
        let halfHours = (0..<48).map { 1_767_225_600_000 + $0 * day / 48 }
        let times = [.min, .min + 1, -day, -1, 0, 1, day - 1, .max - day, .max - 1, .max] + halfHours
        var questions: [RuleQuestion] = []
        for state in ActivationState.allCases {
            for tier in Tier.allCases {
                for priority in Priority.allCases {
                    for _ in 0..<8 {
                        let time = times[Int.random(in: times.indices, using: &generator)]
                        questions.append(
                            RuleQuestion(
                                candidate: candidate(state, tier, using: &generator),
                                notification: notification(priority, payloads, using: &generator),
                                now: Timestamp(milliseconds: time)
                            )
                        )
                    }
                }
            }
        }
        for time in times {
            for priority in Priority.allCases {
                questions.append(
                    RuleQuestion(
                        candidate: candidate(.unattached, .can, using: &generator),
                        notification: notification(priority, payloads, using: &generator),
                        now: Timestamp(milliseconds: time)
                    )
                )
            }
        }
        return questions
    }

    private static func payloads(using generator: inout SeededGenerator) -> [[UInt8]] {
        [
            [], [0], [0xFF, 0xFE, 0x00], Array("{}".utf8), Array("null".utf8), Array("[1,2".utf8),
            Array(#"{"aps":{"alert":"x"},"aps":1}"#.utf8), Array(repeating: UInt8(ascii: "["), count: 100_000),
            Array(#"{"aps":{"alert":"#.utf8), generator.bytes(count: 1000),
            Array(repeating: UInt8(ascii: "a"), count: 256 * 1024),
        ]
    }

    private static let words = [
        "a", "windowApplication", "Default Configuration", "", " ", "é", "e\u{301}", "日本語", "👩‍👩‍👧‍👦",
        "\u{202E}abc", "a\nb", "\u{0}", "'; DROP TABLE sessions; --", "../../etc/passwd",
        String(repeating: "x", count: 5000),
    ]

    private static func word(using generator: inout SeededGenerator) -> String {
        words[Int.random(in: words.indices, using: &generator)]
    }

    /// Always well-formed: the router never shows a rule an identifier that is not.
    private static func identifier<Kind>(
        _ kind: Kind.Type, using generator: inout SeededGenerator
    ) -> Identifier<Kind> {
        let plain = ["a", "win-7", String(repeating: "z", count: 255)]
        let isOdd = Bool.random(using: &generator)
        let text = isOdd ? word(using: &generator) : plain[Int.random(in: plain.indices, using: &generator)]
        return (try? Identifier<Kind>(text)) ?? Identifier(unchecked: "a")
    }

    private static func candidate(
        _ state: ActivationState, _ tier: Tier, using generator: inout SeededGenerator
    ) -> Candidate {
        let times: [Int64?] = [nil, .min, 0, 1_767_225_600_000, .max]
        let time = times[Int.random(in: times.indices, using: &generator)]
        let levels = [0, 1, -1, Int.min, Int.max]
        return Candidate(
            session: identifier(IdentifierKinds.Session.self, using: &generator),
            device: Bool.random(using: &generator) ? identifier(IdentifierKinds.Device.self, using: &generator) : nil,
            role: word(using: &generator), configuration: word(using: &generator), activationState: state,
            lastActivatedAt: time.map { Timestamp(milliseconds: $0) },
            preferenceLevel: levels[Int.random(in: levels.indices, using: &generator)], tier: tier
        )
    }

    private static func notification(
        _ priority: Priority, _ payloads: [[UInt8]], using generator: inout SeededGenerator
    ) -> NotificationView {
        let isNamed = Bool.random(using: &generator)
        return NotificationView(
            application: identifier(IdentifierKinds.Application.self, using: &generator),
            device: Bool.random(using: &generator) ? identifier(IdentifierKinds.Device.self, using: &generator) : nil,
            contentID: isNamed ? identifier(IdentifierKinds.Content.self, using: &generator) : nil,
            priority: priority, payload: payloads[Int.random(in: payloads.indices, using: &generator)]
        )
    }
}
