/// The answers of remote rules to one notification: facts that a decision is planned with.
///
/// Remote rules run in a process of their own or behind a URL. They are asked before the decision, about the best
/// candidates at that time; the decision itself asks nothing, so that the same facts give it again.
package final class RuleAnswers: Sendable {
    private let byRule: [PluginID: RuleAnswer]
    /// Whether no rule was asked because the decision is a trial, which says so once for all rules.
    let isTrial: Bool

    package init(_ byRule: [PluginID: RuleAnswer]) {
        self.byRule = byRule
        isTrial = false
    }

    private init(isTrial: Bool) {
        byRule = [:]
        self.isTrial = isTrial
    }

    /// The answers of a trial, in which no rule is asked.
    package static let trial = RuleAnswers(isTrial: true)

    /// The vetoes of a rule's answer, in the order of the sessions.
    package func vetoes(of rule: PluginID) -> [(session: SessionID, reason: String)] {
        switch byRule[rule] {
        case .verdicts(let verdicts), .kept(let verdicts, _):
            verdicts.compactMap { session, verdict in
                if case .veto(let reason) = verdict { (session, reason) } else { nil }
            }.sorted { $0.session < $1.session }
        case .fault, nil: []
        }
    }

    /// The answers with another one of a rule.
    package func replacing(_ answer: RuleAnswer, of rule: PluginID) -> RuleAnswers {
        RuleAnswers(byRule.merging([rule: answer]) { _, new in new })
    }

    /// The answer of a rule; a rule that was not asked has none.
    package subscript(rule: PluginID) -> RuleAnswer? { byRule[rule] }
}

/// The answer of one remote rule.
package enum RuleAnswer: Hashable, Sendable {
    /// The verdict on each session that it was asked about.
    case verdicts([SessionID: RoutingVerdict])
    /// The part of an answer that a decision keeps for the decision that is made again: verdicts on some sessions, and the
    /// verdict on every other one; nil if that is the consequence of a missing answer.
    case kept([SessionID: RoutingVerdict], others: RoutingVerdict?)
    /// The rule gave no answer that can be used.
    case fault(RuleFault)
}

/// The reason why a remote rule has no answer.
package enum RuleFault: String, Error, CaseIterable, Hashable, Sendable {
    /// No answer within the time limit.
    case late
    /// The process ended.
    case ended
    /// The process could not be started, or did not say that it is ready.
    case unready
    /// An answer that breaks the protocol.
    case malformed
    /// A message beyond the limit of bytes.
    case tooLarge = "too-large"
    /// The process speaks another version of the protocol.
    case wrongProtocol = "wrong-protocol"
    /// The process is a plugin of another kind, or another plugin.
    case wrongPlugin = "wrong-plugin"
    /// The call-out found no server, or was refused by it.
    case unreachable
    /// Too many questions wait for the rule.
    case overloaded
    /// The rule is out of use after too many faults.
    case quarantined
}

/// A fault with its cause, as far as that is known, such as `exit status 1` or `status 503`.
package struct RuleFailure: Error, Hashable, Sendable, CustomStringConvertible {
    private static let causeBytes = 200

    package let fault: RuleFault
    package let cause: String?

    package init(_ fault: RuleFault, because cause: String? = nil) {
        self.fault = fault
        self.cause = cause.map { String(decoding: $0.utf8.prefix(Self.causeBytes), as: UTF8.self) }
    }

    package var description: String { cause.map { "\(fault.rawValue): \($0)" } ?? fault.rawValue }
}
