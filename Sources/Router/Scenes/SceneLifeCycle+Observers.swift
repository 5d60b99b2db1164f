import PredicateEngine
import RouterPlugin

// An observer is a session with the role `observer`. It takes no part in routing and at a gate, and is told the events of the
// others, scenes and delegate. Its conditions choose the types: the type of an event is the content that it can show or not.
//
//     a plan inserts an event for a scene ──▶ the same plan inserts it for each observer, in the lane of that
//
// So an observer's events are durable, in order, and tried and settled like those of a scene. A question to the delegate is no
// event: an observer has no answer to it.

extension SceneLifeCycle {
    /// Tells observers the events that the plan has inserted.
    func tellObservers(in plan: inout PlanDraft) {
        let state = plan.state
        let observers = tenant.observers.compactMap(state.after).filter { $0.isObserver && $0.discardedAt == nil }
        for case .insert(let accepted) in plan.changes {
            guard let event = accepted.event, event.kind != .configurationForConnecting,
                case .facts(let facts) = accepted.payload
            else { continue }
            for observer in observers where observer.conditions.canActivate.evaluate(with: event.kind.rawValue) {
                plan.insert(
                    SceneEvent(event.kind, event.number), facts, for: observer.key, device: accepted.device)
                plan.reads.append(.session(observer.key))
            }
        }
    }
}
