import RouterPlugin

// A reset is for the next person, who must not see anything of the one before. So everything that waits at the gate when it is
// reset ends:
//
//     reset: the gate keeps its last notification ──▶ a step: some of them end ──▶ the next step ──▶ … ──▶ none is left
//
// Each step is a transaction, and other commands have their turn between two of them. A gate that leaves its reset ends the
// rest in that very transaction, so that no other state has any left. Notifications that come after the reset are for the next
// person.

extension ApplicationGates {
    /// Ends as many notifications for the person who has gone as a transaction moves.
    func forgetHeld(at key: GateKey, in plan: inout PlanDraft) {
        let gate = tenant.gate(of: key.device)
        guard gate.state == .resetting else { return }
        plan.reads += [.application(id), .gate(key), .attendance(key)]
        forgetHeld(at: gate, limit: moveLimit, in: &plan)
    }

    func forgetHeld(at gate: OnboardingGate, limit: Int, in plan: inout PlanDraft) {
        for forgotten in tenant.forgotten(at: gate, lanes, limit: limit) {
            plan.recall(forgotten.notification, as: .gateReset, isInFlight: forgotten.isInFlight)
        }
    }

    /// Ends the rest at gates that are switched off during a reset.
    func forgetHeldAtGatesSwitchedOff(in plan: inout PlanDraft) {
        for gate in tenant.gates.all.sorted(by: { $0.key < $1.key }) where gate.state == .resetting {
            plan.reads.append(.gate(gate.key))
            forgetHeld(at: gate, limit: .max, in: &plan)
        }
    }
}

extension Tenant {
    /// The notifications for the person from before the reset of a gate that have not ended yet: behind the gate, held for a
    /// time and its device, or in the lanes of its sessions.
    func forgotten(
        at gate: OnboardingGate, _ lanes: LaneView, limit: Int
    ) -> [(notification: UnsettledNotification, isInFlight: Bool)] {
        guard let last = gate.forgottenThrough else { return [] }
        let device = gate.key.device
        let timed = deliveries.held.values.filter { $0.heldUntil != nil && $0.device == device && device != nil }
        let held = (gates.gated(at: device)?.first(.max) ?? []).compactMap { deliveries.held[$0] } + timed
        var found = held.filter { $0.sequence <= last }.map { (notification: $0, isInFlight: false) }
        for session in sessions(of: device) {
            guard let queue = lanes[session.key]?.queue else { continue }
            for delivery in queue where !delivery.isEvent && !delivery.isEnding && !delivery.isMisaddressed {
                let notification = delivery.notification
                guard notification.sequence <= last, notification.recall == nil else { continue }
                found.append((notification, !delivery.machine.isWaiting))
            }
        }
        found.sort { $0.notification.sequence < $1.notification.sequence }
        return Array(found.prefix(limit))
    }
}
