import Router
import RouterPlugin

/// The remote rule of simulations and its answers: good ones, late ones, wrong ones, and none.
enum SimulatedRemote {
    static let id = PluginID(unchecked: "simulated.remote")

    static func rule(_ failure: RemoteRule.Failure) -> RemoteRule {
        RemoteRule(id: id, transport: .callOut(CallOutSettings(url: "https://rule.example/")), failure: failure)
    }

    /// The answers about a notification. Its payload determines them, so that a repetition has the same ones and a witness
    /// knows them.
    static func answers(to payload: [UInt8]) -> RuleAnswers? {
        answer(to: payload).map { RuleAnswers([id: $0]) }
    }

    private static func answer(to payload: [UInt8]) -> RuleAnswer? {
        let sum = payload.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var draws = SeededGenerator(seed: sum)
        switch Int.random(in: 0..<8, using: &draws) {
        case 0: return nil
        case 1: return .fault(.late)
        case 2: return .fault(.malformed)
        case 3: return .verdicts([SessionID(unchecked: "unknown"): .drop(reason: "unknown")])
        default: break
        }
        var verdicts: [SessionID: RoutingVerdict] = [:]
        for number in 0..<8 {
            let session = SessionID(unchecked: "s\(number)")
            switch Int.random(in: 0..<8, using: &draws) {
            case 0: break
            case 1, 2: verdicts[session] = .veto(reason: "vetoed")
            case 3: verdicts[session] = .prefer(reason: "preferred")
            case 4: verdicts[session] = .redirect(to: SessionID(unchecked: "s1"), reason: "redirected")
            default: verdicts[session] = .accept
            }
        }
        return .verdicts(verdicts)
    }

    /// The answers to a decision that follows another one about the same notification, as the promise has it: what the rule
    /// vetoed stays vetoed, however often it is decided again, and a missing answer stays missing. It knows the first answer,
    /// and does not ask the earlier decision for vetoes.
    ///
    /// - Parameter wasAsked: Whether the rule was asked at first; otherwise it has vetoed nothing.
    static func answers(
        to payload: [UInt8], after earlier: Decision, isHeld: Bool, wasAsked: Bool
    ) -> RuleAnswers? {
        let known: RuleAnswer? = wasAsked ? answer(to: payload) : .verdicts([:])
        guard case .verdicts(let first)? = known else { return answers(to: payload) }
        var verdicts = first.filter { if case .veto = $0.value { true } else { false } }
        if let chosen = earlier.session, verdicts[chosen] == nil { verdicts[chosen] = .accept }
        guard isHeld else { return RuleAnswers([id: .verdicts(verdicts)]) }
        var others = RoutingVerdict.accept
        if let chosen = earlier.session, earlier.reason.hasPrefix("\(id)") {
            others = .redirect(to: chosen, reason: "again")
        }
        return RuleAnswers([id: .kept(verdicts, others: others)])
    }

    /// The vetoes that a decision has beside those of the walk: nil stands for every other session.
    ///
    /// - Parameter named: The sessions that the walk has shown to the rule, and that it has vetoed.
    static func furtherVetoes(
        _ answers: RuleAnswers?, beside named: Set<SessionID>, under failure: RemoteRule.Failure
    ) -> [SessionID?] {
        switch answers?[id] {
        case .verdicts(let verdicts)?, .kept(let verdicts, _)?:
            verdicts.filter { if case .veto = $0.value { !named.contains($0.key) } else { false } }.keys.sorted()
        case .fault?, nil: failure == .closed ? [nil] : []
        }
    }
}
