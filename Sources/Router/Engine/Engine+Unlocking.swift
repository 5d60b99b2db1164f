import RouterPlugin

// An application that has no passcodes any more forgets those that there are, on however many devices:
//
//     passcodes off ──▶ a step: some are forgotten ──▶ the next step ──▶ … ──▶ none is left
//
// Each step is a transaction, and others have their turn between two of them. Where it was locked, people have to come in
// anew, which is all that is asked of them now.

extension Engine {
    /// Forgets as many as a transaction moves; what is committed asks for the next step.
    mutating func planForgetPasscodes(of id: ApplicationID, at now: Timestamp) -> Plan {
        guard let tenant = tenants[id], !tenant.gates.obsoleteLocks.isEmpty else { return Plan() }
        let settings = tenant.application.gates.onboarding ?? OnboardingSettings()
        var plan = Plan(reads: [.application(id)])
        let state = PlannedState([])
        let devices = tenant.gates.obsoleteLocks.lazy.reversed().filter { tenant.gates.lock(of: $0)?.isBlank == false }
        for device in devices.prefix(moveLimit) {
            let key = GateKey(application: id, device: device)
            plan.reads.append(.gate(key))
            plan.writes.append(.gate(key))
            // Each key comes once: nothing of it is planned yet.
            forget(passcodeLock(key, in: state), in: &plan)
            var visit = visit(key, under: settings, in: state)
            guard visit.gate.state == .locked else { continue }
            visit.actions += (try? visit.gate.handle(.close)) ?? []
            finish(visit, in: tenant, at: now, plan: &plan)
        }
        return plan
    }

    /// The next steps of applications that have passcodes left to forget.
    mutating func passcodesToForget(of applications: Set<ApplicationID>) -> [FollowUp] {
        if applications.isEmpty { return [] }
        for id in applications { tenants[id]?.gates.trimObsoleteLocks() }
        return applications.filter { tenants[$0]?.gates.obsoleteLocks.isEmpty == false }.sorted().map {
            .forgetPasscodes($0)
        }
    }
}
