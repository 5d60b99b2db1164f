import RouterPlugin

// An application that has no passcodes any more forgets the ones there are, on however many devices:
//
//     passcodes off ──▶ a step: some are forgotten ──▶ the next step ──▶ … ──▶ none is left
//
// Each step is a transaction, and other commands have their turn between two of them. Where the application was locked,
// people have to come in again, which is all that is asked of them now.

extension ApplicationGates {
    /// Forgets as many passcodes as a transaction moves; the committed changes ask for the next step.
    func forgetPasscodes(in plan: inout PlanDraft) {
        guard !tenant.gates.obsoleteLocks.isEmpty else { return }
        let settings = application.gates.onboarding ?? OnboardingSettings()
        plan.reads.append(.application(id))
        let state = PlannedState([])
        let devices = tenant.gates.obsoleteLocks.lazy.reversed().filter { tenant.gates.lock(of: $0)?.isBlank == false }
        for device in devices.prefix(moveLimit) {
            let key = GateKey(application: id, device: device)
            plan.reads.append(.gate(key))
            // Each key comes once: nothing of it is planned yet.
            forget(lock(key, in: state), in: &plan)
            var visit = visit(key, under: settings, in: state)
            guard visit.gate.state == .locked else { continue }
            visit.actions += (try? visit.gate.handle(.close)) ?? []
            // Where the gate is off too, no application is hidden.
            if application.gates.onboarding == nil { visit.actions.removeAll { $0 == .hideApplicationScreens } }
            finish(visit, in: &plan)
        }
    }
}
