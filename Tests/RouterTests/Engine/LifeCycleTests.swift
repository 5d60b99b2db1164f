import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: life cycle")
struct LifeCycleTests {
    private static let A = SessionKey.gallery("A")

    /// From, to, and whether a session may report that step: the rows of UIKit's state machine.
    static let transitions: [(ActivationState, ActivationState, Bool)] = [
        (.unattached, .unattached, true), (.unattached, .background, true), (.unattached, .foregroundInactive, true),
        (.unattached, .foregroundActive, false), (.background, .unattached, true), (.background, .background, true),
        (.background, .foregroundInactive, true), (.background, .foregroundActive, true),
        (.foregroundInactive, .unattached, false), (.foregroundInactive, .background, true),
        (.foregroundInactive, .foregroundInactive, true), (.foregroundInactive, .foregroundActive, true),
        (.foregroundActive, .unattached, false), (.foregroundActive, .background, true),
        (.foregroundActive, .foregroundInactive, true), (.foregroundActive, .foregroundActive, true),
    ]

    @Test("PATCH moves a session as UIKit moves scenes", arguments: transitions)
    func transition(from: ActivationState, to: ActivationState, isLegal: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A", from)])
        var patch = SessionPatch(state: to)
        patch.device = .set("moved")
        let reply = try bench.run(.patchSession(Self.A, patch))
        #expect(reply.refusal == (isLegal ? nil : .illegalTransition(from: from, to: to)))
        #expect(bench.session("A")?.activationState == (isLegal ? to : from))
        #expect(bench.session("A")?.device == (isLegal ? "moved" : nil), "nothing is half done")
    }

    @Test("PUT registers again from any state of the session", arguments: transitions)
    func registration(from: ActivationState, to: ActivationState, isLegal _: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A", from)])
        #expect(try bench.run(.putSession(Self.A, SessionDraft(activationState: to))).session?.activationState == to)
    }
}
