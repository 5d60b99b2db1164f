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
        guard let tenant = tenants[id], let keys = obsoleteLocks[id] else { return Plan() }
        let settings = tenant.application.gates.onboarding ?? OnboardingSettings()
        var plan = Plan(reads: [.application(id)])
        let (locks, state) = (passcodeLocks, PlannedState([]))
        for key in keys.lazy.reversed().filter({ locks[$0]?.isBlank == false }).prefix(moveLimit) {
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

    /// Looks which locks are of no use any more: the application has said something else of passcodes, or the process begins.
    mutating func findObsoleteLocks(of id: ApplicationID) {
        obsoleteLocks[id] = nil
        guard let gates = tenants[id]?.application.gates, gates.onboarding == nil || gates.passcode == nil else {
            return
        }
        let keys = passcodeLocks.values.filter { $0.key.application == id && !$0.isBlank }.map(\.key)
        if !keys.isEmpty { obsoleteLocks[id] = keys.sorted(by: >) }
    }

    /// The next steps, where some are left. Those that were forgotten stand at the end.
    mutating func passcodesToForget(after changes: [StoreChange]) -> [FollowUp] {
        if obsoleteLocks.isEmpty { return [] }
        let changed = changes.compactMap { change in
            switch change {
            case .putApplication(let application): application.id
            case .putPasscodeLock(let lock): lock.key.application
            default: nil
            }
        }
        for id in Set(changed) {
            guard var keys = obsoleteLocks[id] else { continue }
            while let last = keys.last, passcodeLocks[last]?.isBlank != false { keys.removeLast() }
            obsoleteLocks[id] = keys.isEmpty ? nil : keys
        }
        return Set(changed).filter { obsoleteLocks[$0] != nil }.sorted().map { .forgetPasscodes($0) }
    }
}
