import Router
import RouterPlugin

extension EngineDriver {
    /// Removes a change about receivers that connect out from a plan.
    func spoilStreams(of plan: inout Plan, _ sabotage: Sabotage, _ command: Command) {
        switch (sabotage, command) {
        case (.forgetsNumbers, _):
            plan.changes.removeAll { if case .numberDeliveries = $0 { true } else { false } }
        case (.forgetsPresence, .followUp(.lapsePresence)), (.waitsForTheAbsent, .followUp(.redecide)):
            plan.changes = []
        default: break
        }
    }

    /// The command of a receiver that is planned in place of the submitted one.
    func spoiledWord(_ command: Command) -> Command {
        switch (sabotage, command) {
        case (.endsTheSuccessor, .detachConsumer(let key, epoch: _)): return .detachConsumer(key, epoch: .max)
        case (.believesStrangers, .acknowledge(var word)):
            let stored = (try? store.notification(word.notification)) ?? nil
            word.session = stored.flatMap { engine.planner.lane(of: $0.sequence) } ?? word.session
            return .acknowledge(word)
        default: return command
        }
    }
}

extension EngineLoop.Transaction {
    /// The changes but for those of later acknowledgements.
    var withoutLateAcknowledgements: [StoreChange] {
        zip(jobs, plans).flatMap { job, plan -> [StoreChange] in
            if case .acknowledge = job.command { [] } else { plan.changes }
        }
    }
}
