import Logging
import Router
import RouterPlugin

// The rules of a running daemon are replaced whole, or not at all.

extension EngineHost {
    /// The result of a change of the rules.
    enum RulesReply: Sendable {
        case used(KeptRules)
        case notReady(RuleDesk.NotReady)
        case refused(Refusal)
    }

    /// Uses rules in place of those in use; returns when their version is committed.
    nonisolated func use(_ draft: RuleSetDraft, by command: Command) async -> RulesReply {
        switch await desk.exchange(draft.rules, by: command, of: self) {
        case .notReady(let plugin): return .notReady(plugin)
        case .replied(.rules(let kept)?):
            logger.notice(
                "the rules are in use", metadata: ["version": "\(kept.version)", "rules": "\(draft.rules.count)"])
            return .used(kept)
        case .replied(.refused(let refusal)?): return .refused(refusal)
        case .replied: return .refused(.overloaded)
        }
    }

    /// Applies a set of resources, with the rules among them. A dry run starts no plugin.
    nonisolated func apply(_ draft: ResourceSetDraft, by command: Command) async -> RuleDesk.Exchanged {
        guard let rules = draft.rules, !draft.isDryRun else {
            return .replied(await submit([command])?.first)
        }
        return await desk.exchange(rules.rules, by: command, of: self)
    }

    /// Returns when every command that was submitted before, and for whose answer a client waits, is committed or refused.
    func settled() async {
        for entry in inbox.take(commands: .max, shared: .max) { take(entry) }
        drain()
        await withCheckedContinuation { clients.whenAnswered($0) }
    }

    /// Uses the rules of a configuration that was read again. Other settings are those of the start.
    nonisolated func reload(_ configuration: DaemonConfiguration) async {
        let kept = await read { $0.keptRules }
        guard kept?.origin != .request || configuration.rulesFrom == .configuration else {
            logger.notice("SIGHUP changes nothing: the rules in use are those of a request")
            return
        }
        let draft = configuration.ruleDraft
        switch await use(draft, by: .putRules(draft)) {
        case .used: break
        case .notReady(let plugin):
            logger.error("SIGHUP changes nothing: a plugin is not ready", metadata: ["plugin": "\(plugin)"])
        case .refused(let refusal):
            logger.error("SIGHUP changes nothing", metadata: ["refusal": "\(refusal)"])
        }
    }
}
