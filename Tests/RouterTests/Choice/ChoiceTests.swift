import PredicateEngine
import Router
import RouterPlugin
import Testing

/// The rules of the choice one by one, beyond what the worked cases show.
@Suite("The choice")
struct ChoiceTests {
    private func choose(
        _ scenes: [Scene], _ content: ContentID?, device: DeviceID? = nil, strict: Bool = false
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let tenant = Tenant(.gallery(strict: strict), scenes)
        return Chooser().choose(for: .about(content, device: device), from: tenant, at: .epoch)
    }

    // MARK: Rank

    /// In each row the first session wins although every less significant property favours the second one, which was
    /// also created first.
    @Test(
        "A more significant property outweighs all less significant ones",
        arguments: [
            ("level", Scene("w", .unattached, level: 1), Scene("l", .foregroundActive, level: 0, activated: 9)),
            (
                "negative level", Scene("w", .unattached, level: -1),
                Scene("l", .foregroundActive, level: -2, activated: 9)
            ),
            ("state", Scene("w", .foregroundActive), Scene("l", .foregroundInactive, activated: 9)),
            ("lower state", Scene("w", .background), Scene("l", .unattached, activated: 9)),
            ("recency", Scene("w", activated: 2), Scene("l", activated: 1)),
            ("any activation", Scene("w", activated: -1_000_000), Scene("l")),
        ] as [(String, Scene, Scene)])
    func rank(_ name: String, winner: Scene, loser: Scene) {
        var (winner, loser) = (winner, loser)
        (winner.prefers, loser.prefers) = ("SELF == 'x'", "SELF == 'x'")
        #expect(choose([loser, winner], "x").outcome == .session("w"), "\(name)")
        #expect(choose([winner, loser], "x").outcome == .session("w"), "\(name)")
    }

    @Test("The preference level does not count in tier can, nor when the content is not named")
    func levelInTierCan() {
        let scenes = [Scene("first", level: 0), Scene("leveled", level: 9)]
        #expect(choose(scenes, "x").outcome == .session("first"))
        #expect(choose(scenes, nil).outcome == .session("first"))
    }

    @Test("All states, pair by pair")
    func states() {
        for higher in ActivationState.allCases {
            for lower in ActivationState.allCases where lower < higher {
                #expect(choose([Scene("l", lower, activated: 9), Scene("h", higher)], "x").outcome == .session("h"))
            }
        }
    }

    // MARK: Content

    @Test("An empty content id cannot be created, and so it counts as absent")
    func emptyContent() {
        let empty = ""
        #expect(throws: InvalidIdentifier.self) { try ContentID(empty) }
        let result = choose([Scene("A", can: "FALSEPREDICATE")], nil)
        #expect(result.outcome == .session("A"))
        #expect(result.decision.tier == .can)
        #expect(result.decision.reason == "no content id: the most relevant session")
    }

    @Test("Content ids are compared byte by byte")
    func normalisation() {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let scenes = [
            Scene("nfc", can: "FALSEPREDICATE", prefers: "SELF ==[n] '\(composed)'"),
            Scene("nfd", can: "FALSEPREDICATE", prefers: "SELF ==[n] '\(decomposed)'"),
        ]
        #expect(choose(scenes, ContentID(unchecked: composed)).outcome == .session("nfc"))
        #expect(choose(scenes, ContentID(unchecked: decomposed)).outcome == .session("nfd"))
    }

    @Test("Sessions and devices with canonically equivalent names are distinct")
    func normalisedNames() {
        let (composed, decomposed) = (SessionID(unchecked: "\u{E9}"), SessionID(unchecked: "e\u{301}"))
        let tenant = Tenant(
            .gallery(), [Scene(composed, .background), Scene(decomposed, .foregroundActive, device: "e\u{301}")])
        #expect(tenant.registry.count == 2)
        #expect(tenant.participant(composed)?.activationState == .background)
        let scoped = NotificationView.about("x", device: "\u{E9}")
        #expect(Chooser().choose(for: scoped, from: tenant, at: .epoch).outcome != .session(decomposed))
    }

    // MARK: Scope

    @Test("A device narrows the choice to its sessions, even if none is left")
    func device() {
        let scenes = [
            Scene("none", prefers: "TRUEPREDICATE", .foregroundActive), Scene("mine", device: "phone"),
            Scene("other", .foregroundActive, device: "tablet"),
        ]
        #expect(choose(scenes, "x", device: "phone").outcome == .session("mine"))
        #expect(choose(scenes, nil, device: "tablet").outcome == .session("other"))
        #expect(choose(scenes, "x").outcome == .session("none"))
        #expect(choose([Scene("no", can: "FALSEPREDICATE", device: "d")], "x", device: "d").outcome == .undeliverable)
    }

    @Test("Disabled sessions take no part, and count as sessions")
    func disabled() {
        #expect(
            choose([Scene("gone", .foregroundActive, disabled: true), Scene("here")], "x").outcome == .session("here"))
        #expect(choose([Scene("gone", disabled: true)], "x").outcome == .undeliverable)
    }

    @Test("A session that is enabled again takes part again")
    func enabledAgain() {
        var tenant = Tenant(.gallery(), [Scene("A", disabled: true)])
        tenant.put(Scene("A").session(created: 1))
        #expect(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).outcome == .session("A"))
    }

    // MARK: The decision's record

    @Test(
        "The reason is the predicate that held",
        arguments: [
            (Scene("A", can: "SELF BEGINSWITH 'x'"), "can: ", "SELF BEGINSWITH 'x'"),
            (Scene("A"), "can: ", "TRUEPREDICATE"),
            (Scene("A", can: "FALSEPREDICATE", prefers: "SELF == 'x'"), "prefers: ", "SELF == 'x'"),
        ] as [(Scene, String, String)])
    func reason(scene: Scene, word: String, predicate: String) {
        #expect(choose([scene], "x").decision.reason == word + Predicate.format(predicate).description)
    }

    @Test("The reason with a long predicate is cut")
    func longReason() {
        let predicate = "SELF == '" + String(repeating: "é", count: 300) + "' OR TRUEPREDICATE"
        let reason = choose([Scene("A", can: predicate)], "x").decision.reason
        #expect(reason.utf8.count <= RouterLimits.reasonBytes + "…".utf8.count)
        #expect(reason.hasSuffix("é…") && !reason.unicodeScalars.contains("\u{FFFD}"))
    }

    @Test("The decision records the version of the registry, which grows with every change")
    func version() {
        var tenant = Tenant(.gallery(), [Scene("A")])
        var versions = [Chooser().choose(for: .about("x"), from: tenant, at: .epoch).decision.registryVersion]
        tenant.put(Scene("B").session(created: 2))
        versions.append(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).decision.registryVersion)
        tenant.put(Scene("B", .foregroundActive).session(created: 2))
        versions.append(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).decision.registryVersion)
        tenant.remove("B")
        versions.append(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).decision.registryVersion)
        #expect(zip(versions, versions.dropFirst()).allSatisfy { $0 < $1 })
        #expect(Chooser().choose(for: .about("x"), from: tenant, at: .epoch).decision.registryVersion == versions.last)
    }

    @Test("The same registry and the same arguments give the same decision")
    func repeatable() {
        let scenes = (0..<20).map { Scene(SessionID(unchecked: "s\($0)"), prefers: "SELF CONTAINS '\($0 % 3)'") }
        let first = choose(scenes, "1")
        for _ in 0..<20 {
            let again = choose(scenes, "1")
            #expect(again.outcome == first.outcome && again.decision == first.decision)
        }
    }
}
