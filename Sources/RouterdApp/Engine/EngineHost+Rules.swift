import Logging
import Router
import RouterPlugin

// The rules of a running daemon are replaced whole, or not at all.

extension EngineHost {
    /// The result of a change of the rules.
    enum RulesReply: Sendable {
        case used(KeptRules)
        /// Processes and connections belong to remote rules, and are made when the daemon starts.
        case remoteRulesDiffer
        case refused(Refusal)
    }

    /// Whether the remote rules among these are those that were started with the daemon.
    nonisolated func hasRemoteRules(of rules: [any RoutingRule]) -> Bool {
        rules.remote == Set((desk?.members ?? []).map(\.rule))
    }

    /// Uses rules in place of those in use; returns when their version is committed.
    nonisolated func use(_ draft: RuleSetDraft) async -> RulesReply {
        guard hasRemoteRules(of: draft.rules) else { return .remoteRulesDiffer }
        switch await submit([.putRules(draft)])?.first {
        case .rules(let kept)?:
            logger.notice(
                "the rules are in use", metadata: ["version": "\(kept.version)", "rules": "\(draft.rules.count)"])
            return .used(kept)
        case .refused(let refusal)?: return .refused(refusal)
        default: return .refused(.overloaded)
        }
    }

    /// Uses the rules of a configuration that was read again. Other settings are those of the start.
    nonisolated func reload(_ configuration: DaemonConfiguration) async {
        let kept = await read { $0.keptRules }
        guard kept?.origin != .request || configuration.rulesFrom == .configuration else {
            logger.notice("SIGHUP changes nothing: the rules in use are those of a request")
            return
        }
        switch await use(configuration.ruleDraft) {
        case .used: break
        case .remoteRulesDiffer:
            logger.error("SIGHUP changes nothing: rules in processes and behind URLs are read at the start alone")
        case .refused(let refusal):
            logger.error("SIGHUP changes nothing", metadata: ["refusal": "\(refusal)"])
        }
    }
}
