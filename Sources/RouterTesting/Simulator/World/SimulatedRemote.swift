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
        let sum = payload.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var draws = SeededGenerator(seed: sum)
        switch Int.random(in: 0..<8, using: &draws) {
        case 0: return nil
        case 1: return RuleAnswers([id: .fault(.late)])
        case 2: return RuleAnswers([id: .fault(.malformed)])
        case 3: return RuleAnswers([id: .verdicts([SessionID(unchecked: "unknown"): .drop(reason: "unknown")])])
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
        return RuleAnswers([id: .verdicts(verdicts)])
    }

    /// The answers that a decision leaves for the next one about the same notification.
    static func answers(after decision: Decision, isHeld: Bool) -> RuleAnswers {
        var verdicts: [SessionID: RoutingVerdict] = [:]
        if let chosen = decision.session { verdicts[chosen] = .accept }
        for veto in decision.vetoes where veto.rule == id && veto.reason == "vetoed" {
            verdicts[veto.session] = .veto(reason: veto.reason)
        }
        return RuleAnswers([id: isHeld ? .released(verdicts) : .verdicts(verdicts)])
    }
}
