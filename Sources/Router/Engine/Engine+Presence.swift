import RouterPlugin

/// Where a plan leaves the sessions that it changes, and their application; a plan is about one application.
struct SessionMoves {
    let application: ApplicationID
    /// What the application says from now on, if that is other than before.
    private(set) var changed: Application?
    /// The sessions as they are afterwards; nil for those that are gone.
    private(set) var sessions: [SessionKey: SceneSession?] = [:]

    /// - Returns: nil if the plan moves nobody.
    init?(_ changes: [StoreChange]) {
        var id: ApplicationID?
        for change in changes {
            switch change {
            case .putSession(let session):
                id = session.key.application
                sessions[session.key] = .some(session)
            case .deleteSession(let key):
                id = key.application
                sessions[key] = .some(nil)
            case .putApplication(let application):
                id = application.id
                changed = application
            default: break
            }
        }
        guard let id else { return nil }
        application = id
    }
}

extension Engine {
    /// Gates miss who leaves with a plan, and welcome who comes: whatever has connected, disconnected, discarded or disabled
    /// a session, it is found here, in the transaction in which it happens.
    mutating func attendGates(_ moves: SessionMoves, at now: Timestamp, in plan: inout Plan) {
        guard let tenant = tenants[moves.application],
            let settings = (moves.changed ?? tenant.application).gates.onboarding
        else { return }
        attendGates(
            of: tenant, under: settings, hasChanged: moves.changed != nil, moves.sessions, at: now, in: &plan)
    }

    private mutating func attendGates(
        of tenant: Tenant<Registry>, under settings: OnboardingSettings, hasChanged: Bool,
        _ moved: [SessionKey: SceneSession?], at now: Timestamp, in plan: inout Plan
    ) {
        var visits: [GateKey: GateVisit] = [:]
        func visit(_ key: GateKey) -> GateVisit {
            visits[key] ?? GateVisit(gate: tenant.gate(of: key.device), settings: settings)
        }
        let known = tenant.application.gates.onboarding
        let moves = moved.sorted { $0.key < $1.key }.map { key, after in
            (key.session, before: session(key)?.place(under: known), after: after, place: after?.place(under: settings))
        }
        for (session, before, _, place) in moves {
            guard let before, before != place else { continue }
            var visit = visit(before)
            visit.left(session, in: tenant)
            visits[before] = visit
        }
        for (_, before, after, place) in moves {
            guard let after, let place, before != place else { continue }
            var visit = visit(place)
            visit.connected(after)
            visits[place] = visit
        }
        if hasChanged, settings != known {
            for gate in tenant.gates.values {
                var visit = visit(gate.key)
                visit.settle(in: tenant)
                visits[gate.key] = visit
            }
        }
        for (key, visit) in visits.sorted(by: { $0.key < $1.key }) {
            plan.reads.append(.gate(key))
            plan.writes.append(.gate(key))
            finish(visit, in: tenant, at: now, plan: &plan)
        }
    }

    /// What has become of a gate is kept, and told.
    mutating func finish(_ visit: GateVisit, in tenant: Tenant<Registry>, at now: Timestamp, plan: inout Plan) {
        if visit.gate != tenant.gate(of: visit.gate.key.device) { plan.changes.append(.putGate(visit.gate)) }
        let attending = visit.actions.isEmpty ? [] : visit.attending(in: tenant)
        var actions: [OnboardingGate.Action] = []
        for action in visit.actions where !actions.contains(action) { actions.append(action) }
        for action in actions { perform(action, of: visit.gate, attending, in: tenant, at: now, plan: &plan) }
    }
}
