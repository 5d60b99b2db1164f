import Router
import RouterPlugin

extension EngineDriver {
    /// Removes a change about gates from a plan, or moves it.
    func spoilGates(of plan: inout Plan, _ sabotage: Sabotage, _ command: Command) {
        switch (sabotage, command) {
        case (.showsBeforeCover, .activate(let request)):
            guard let value = request.userActivity?.value.serialized() else { return }
            plan.changes = plan.changes.map { change in
                guard case .insert(var new) = change, case .facts(.connection(let view, var options)) = new.payload,
                    new.event?.kind == .willConnect
                else { return change }
                let content = SceneContent(kind: .userActivity, contentID: nil, payload: value)
                options.content = ConnectionOptions(bringing: content).content
                new.payload = .facts(.connection(view, options))
                return .insert(new)
            }
        case (.keepsFailuresQuiet, .gate(.report(.fail(reason: _, message: _), by: _, term: _))),
            (.keepsFailuresQuiet, .gate(.report(.succeed, by: _, term: _))):
            plan.changes.removeAll { change in
                if case .insert(let new) = change { new.event?.kind == .hideApplicationScreen } else { false }
            }
        case (.waitsForTheSilent, .followUp(.lapseLease(let key))) where engine.session(key)?.leaseSeconds == nil:
            plan.changes = []
        case (.waitsForTheHidden, .patchSession(let key, _)), (.waitsForTheHidden, .putSession(let key, _, _)):
            plan.changes.removeAll { change in
                guard case .putGate(let gate) = change, let known = engine.gate(gate.key)?.responsible else {
                    return false
                }
                return known != key.session && gate.responsible == key.session
            }
        case (.staysInTheDemo, .followUp(.drain(let key))) where engine.session(key)?.isInDemo == true:
            plan.changes = []
        case (.showsTheNext, _):
            plan.changes.removeAll { change in
                switch change {
                case .settle(_, .deadLettered(.gateReset), _), .recall(_, .gateReset): true
                default: false
                }
            }
        default: spoilStreams(of: &plan, sabotage, command)
        }
    }
}
