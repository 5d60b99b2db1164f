import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("The onboarding gate")
struct OnboardingGateTests {
    private typealias Claim = OnboardingGate.Claim

    private let first: SessionID = "first"
    private let second: SessionID = "second"
    private let third: SessionID = "third"

    private func gate() -> OnboardingGate { OnboardingGate(GateKey(application: "com.example", device: "phone")) }

    private func report(_ step: Int) -> ProgressReport {
        ProgressReport(operationID: "op", step: "loadingMetadata", currentStepNumber: step, totalNumberOfSteps: 3)
    }

    /// A gate that the first session has opened.
    private func opened() throws -> OnboardingGate {
        var gate = gate()
        _ = try gate.handle(.open(by: first, takesOver: false))
        _ = try gate.handle(.succeed(Claim(first, term: 1), storing: "onb_1", next: nil))
        return gate
    }

    // MARK: Laws

    @Test("The laws hold in random histories", arguments: 0..<40 as Range<UInt64>)
    func laws(seed: UInt64) {
        let violations = OnboardingGateLaws.violations(seed: seed, steps: 400)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test("Histories reach every cell of the table")
    func coverage() {
        let missing = OnboardingGateLaws.allCells.subtracting(OnboardingGateLaws.coverage(seeds: 0..<40, steps: 400))
        #expect(missing.isEmpty, "\(missing.sorted())")
    }

    // MARK: The story

    @Test("Exactly one session is responsible, and the others wait")
    func opening() throws {
        var gate = gate()
        #expect(gate.screen(of: first) == .onboarding && gate.screen(of: second) == .onboarding)
        let actions = try gate.handle(.open(by: first, takesOver: false))
        #expect(actions == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .onboarding)
        #expect(gate.responsible == first)
        #expect(gate.term == 1)
        #expect(gate.screen(of: first) == .onboarding)
        #expect(gate.screen(of: second) == .screenshot)
        #expect(try gate.handle(.open(by: second, takesOver: false)) == [], "It has been told to wait.")
        #expect(gate.responsible == first)
    }

    @Test("The session that takes over starts again, in another term")
    func takeover() throws {
        var gate = gate()
        _ = try gate.handle(.open(by: first, takesOver: false))
        _ = try gate.handle(.progress(report(2), Claim(first, term: 1)))
        #expect(gate.progress == report(2))
        let actions = try gate.handle(.left(first, next: second))
        #expect(actions == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .onboarding)
        #expect(gate.responsible == second)
        #expect(gate.term == 2)
        #expect(gate.progress == nil)
        #expect(throws: OnboardingGate.Refusal.staleTerm(current: 2)) {
            try gate.handle(.succeed(Claim(first, term: 1), storing: "onb_1", next: nil))
        }
        #expect(throws: OnboardingGate.Refusal.notResponsible(second)) {
            try gate.handle(.succeed(Claim(first, term: 2), storing: "onb_1", next: nil))
        }
        #expect(
            try gate.handle(.succeed(Claim(second, term: 2), storing: "onb_2", next: nil)) == [.showApplicationScreens])
        #expect(gate.isOpen)
        #expect(gate.onboardingID == "onb_2")
    }

    @Test("No session is responsible until one is connected")
    func withoutReceiver() throws {
        var gate = gate()
        _ = try gate.handle(.open(by: first, takesOver: false))
        _ = try gate.handle(.left(first, next: nil))
        #expect(gate.responsible == nil)
        #expect(gate.state == .onboarding)
        #expect(gate.term == 1)
        #expect(try gate.handle(.connected(third)) == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.responsible == third)
        #expect(gate.term == 2)
        #expect(try gate.handle(.connected(second)) == [.hideApplicationScreen(second)])
    }

    @Test("After a failure a session that waits begins the same flow again; after a reset, the onboarding")
    func following() throws {
        var gate = try opened()
        _ = try gate.handle(.close)
        _ = try gate.handle(.open(by: first, takesOver: false))
        #expect(gate.state == .restoring)
        let actions = try gate.handle(.fail(Claim(first, term: 2), next: second, GateFailure(session: first)))
        #expect(actions == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .restoring && gate.responsible == second && gate.term == 3)
        _ = try gate.handle(.reset(by: Claim(second, term: 3), next: second))
        _ = try gate.handle(.succeed(Claim(second, term: 4), storing: "", next: third))
        #expect(gate.state == .onboarding && gate.responsible == third && gate.term == 5)
        #expect(gate.onboardingID == nil)
    }

    @Test("A session takes over from one that is out of sight")
    func takingOver() throws {
        var gate = gate()
        #expect(try gate.handle(.takeOver(by: second)) == [])
        _ = try gate.handle(.open(by: first, takesOver: false))
        #expect(try gate.handle(.takeOver(by: first)) == [])
        #expect(try gate.handle(.takeOver(by: second)) == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .onboarding && gate.responsible == second && gate.term == 2)
        #expect(try gate.handle(.open(by: third, takesOver: true)) == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.responsible == third && gate.term == 3)
    }

    @Test("After a failure of the last session any session that asks starts again, and all are told so")
    func failure() throws {
        var gate = gate()
        _ = try gate.handle(.open(by: first, takesOver: false))
        let actions = try gate.handle(.fail(Claim(first, term: 1), next: nil, GateFailure(session: first)))
        #expect(actions == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .notOpened)
        #expect(gate.responsible == nil)
        _ = try gate.handle(.open(by: second, takesOver: false))
        #expect(gate.state == .onboarding)
        #expect(gate.term == 2)
    }

    @Test("A known person is restored")
    func restoring() throws {
        var gate = try opened()
        _ = try gate.handle(.left(first, next: nil))
        #expect(gate.isOpen)
        #expect(try gate.handle(.close) == [.announceResponsible, .hideApplicationScreens])
        _ = try gate.handle(.open(by: second, takesOver: false))
        #expect(gate.state == .restoring)
        _ = try gate.handle(.succeed(Claim(second, term: 2), storing: "onb_2", next: nil))
        #expect(gate.onboardingID == "onb_1")
    }

    @Test("The responsible session unlocks")
    func locking() throws {
        var gate = try opened()
        #expect(try gate.handle(.lock(by: nil, next: second)) == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.responsible == first)
        #expect(gate.term == 2)
        #expect(throws: OnboardingGate.Refusal.notResponsible(first)) {
            try gate.handle(.unlock(Claim(second, term: 2)))
        }
        _ = try gate.handle(.left(first, next: second))
        #expect(try gate.handle(.unlock(Claim(second, term: 3))) == [.showApplicationScreens])
        #expect(try gate.handle(.unlock(Claim(second, term: 3))) == [])
    }

    @Test("The session at the passcode gives way to another one, if there is one")
    func givingWay() throws {
        var gate = try opened()
        _ = try gate.handle(.lock(by: first, next: nil))
        let failure = GateFailure(session: first)
        #expect(try gate.handle(.fail(Claim(first, term: 2), next: nil, failure)) == [])
        #expect(gate.state == .locked && gate.responsible == first && gate.term == 2)
        let actions = try gate.handle(.fail(Claim(first, term: 2), next: second, failure))
        #expect(actions == [.announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .locked && gate.responsible == second && gate.term == 3 && gate.failure == nil)
    }

    @Test("A reset forgets the person at once, and is completed")
    func reset() throws {
        var gate = try opened()
        #expect(
            try gate.handle(.reset(by: nil, next: second)) == [.wipe, .announceResponsible, .hideApplicationScreens])
        #expect(gate.state == .resetting)
        #expect(gate.onboardingID == nil)
        #expect(gate.responsible == second)
        _ = try gate.handle(.fail(Claim(second, term: 2), next: nil, GateFailure(session: second)))
        #expect(gate.state == .resetting)
        #expect(gate.term == 3)
        _ = try gate.handle(.succeed(Claim(second, term: 3), storing: "onb_9", next: nil))
        #expect(gate.state == .notOpened)
        #expect(gate.onboardingID == nil)
        _ = try gate.handle(.open(by: second, takesOver: false))
        #expect(gate.state == .onboarding)
    }

    @Test("A repeated report is not refused")
    func repetition() throws {
        var gate = try opened()
        let before = gate
        #expect(try gate.handle(.succeed(Claim(first, term: 1), storing: "onb_7", next: nil)) == [])
        #expect(try gate.handle(.open(by: second, takesOver: false)) == [])
        #expect(gate == before)
    }

    @Test("Keys are ordered, the one without a device first")
    func keys() {
        let keys = [
            GateKey(application: "b", device: nil), GateKey(application: "a", device: "2"),
            GateKey(application: "a", device: nil), GateKey(application: "a", device: "1"),
        ]
        #expect(keys.sorted().map(\.description) == ["a/-", "a/1", "a/2", "b/-"])
    }
}
