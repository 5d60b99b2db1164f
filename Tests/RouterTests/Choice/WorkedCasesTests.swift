import Router
import RouterPlugin
import Testing

/// The worked cases of scene routing from UIKit's documentation, samples and field reports.
@Suite("The choice: UIKit's worked cases")
struct WorkedCasesTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var number: String
        var scenes: [Scene]
        var content: ContentID?
        var strict = false
        var winner: SessionID?
        var tier: Tier

        init(
            _ number: String, _ scenes: [Scene], _ content: ContentID?, strict: Bool = false, _ winner: SessionID?,
            _ tier: Tier
        ) {
            self.number = number
            self.scenes = scenes
            self.content = content
            self.strict = strict
            self.winner = winner
            self.tier = tier
        }

        var testDescription: String { "case \(number)" }
    }

    /// A can show everything and is active; B is for `x` alone.
    static let defaultAndDocument = [
        Scene("A", .foregroundActive), Scene("B", can: "SELF == 'x'", prefers: "SELF == 'x'"),
    ]
    static let sample = [Scene("A", can: "FALSEPREDICATE", prefers: "SELF == 'x'"), Scene("B", .foregroundActive)]
    static let tabs = [
        Scene("A", prefers: "SELF == '1' OR SELF == '2'", .foregroundActive),
        Scene("B", prefers: "SELF == '3' OR SELF == '4'"),
    ]

    static let cases: [Case] = [
        Case("1: defaults can", [Scene("A", .foregroundActive)], "x", "A", .can),
        Case("2: prefers beats can in any state", defaultAndDocument, "x", "B", .prefers),
        Case("3: a scene that cannot is no candidate", defaultAndDocument, "y", "A", .can),
        Case(
            "4: FALSE and FALSE never has it",
            [Scene("A", can: "FALSEPREDICATE", .foregroundActive), Scene("B", .unattached)], "x", "B", .can),
        Case("5: prefers is enough, as in Apple's sample", sample, "x", "A", .prefers),
        Case("5: strict mode asks for can as well", sample, "x", strict: true, "B", .can),
        Case(
            "6: state among those that can", [Scene("A", .foregroundActive), Scene("B", .foregroundInactive)], "x", "A",
            .can),
        Case(
            "7: state among those that prefer",
            [Scene("A", prefers: "SELF == 'x'"), Scene("B", prefers: "SELF == 'x'", .foregroundActive)], "x", "B",
            .prefers),
        Case(
            "8: recency",
            [Scene("A", prefers: "SELF == 'x'", activated: 5), Scene("B", prefers: "SELF == 'x'", activated: 9)], "x",
            "B", .prefers),
        Case(
            "9: creation",
            [Scene("A", prefers: "SELF == 'x'", activated: 9), Scene("B", prefers: "SELF == 'x'", activated: 9)], "x",
            "A", .prefers),
        Case("10: no scene can", [Scene("A", can: "FALSEPREDICATE")], "x", nil, .undeliverable),
        Case(
            "11: without a content id predicates are not asked",
            [Scene("A", .foregroundInactive), Scene("B", prefers: "SELF == 'x'")], nil, "A", .can),
        Case(
            "12: a URL is a content id like any other",
            [Scene("A", .foregroundActive), Scene("B", prefers: "SELF BEGINSWITH 'app://conv/'")], "app://conv/7",
            "B", .prefers),
        Case("13: tabs", tabs, "3", "B", .prefers),
        Case("14: a discarded session is none", [defaultAndDocument[0]], "x", "A", .can),
        Case(
            "15: a disconnected session is told to connect",
            [defaultAndDocument[0], Scene("B", can: "SELF == 'x'", prefers: "SELF == 'x'", .unattached)], "x", "B",
            .prefers),
        Case(
            "16: case matters",
            [Scene("A", .foregroundActive), Scene("B", can: "SELF == 'X'", .foregroundActive)], "x", "A", .can),
    ]

    @Test("The winner and its tier", arguments: cases)
    func winner(_ worked: Case) {
        let tenant = Tenant(.gallery(strict: worked.strict), worked.scenes)
        let (outcome, decision) = Chooser().choose(for: .about(worked.content), from: tenant, at: .epoch)
        #expect(outcome == worked.winner.map { .session($0) } ?? .undeliverable)
        #expect(decision.session == worked.winner)
        #expect(decision.tier == worked.tier)
    }

    @Test("A session that was discarded before does not take part")
    func discarded() {
        var tenant = Tenant(.gallery(), Self.defaultAndDocument)
        #expect(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).outcome == .session("B"))
        tenant.remove("B")
        #expect(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).outcome == .session("A"))
    }
}
