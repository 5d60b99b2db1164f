import PredicateEngine
import RouterPlugin

/// The most that one application may register.
package struct RegistrationLimits: Hashable, Sendable {
    /// Number of sessions.
    package var sessions: Int
    /// Bytes of its registrations, as `Tenant.registeredBytes` counts them.
    package var sessionBytes: Int
    /// Steps of all predicates together, as `SceneSession.registeredSteps` counts them.
    package var predicateSteps: Int

    package init(
        sessions: Int = RouterLimits.sessionsPerApplication,
        sessionBytes: Int = RouterLimits.sessionBytesPerApplication,
        predicateSteps: Int = RouterLimits.predicateStepsPerApplication
    ) {
        self.sessions = sessions
        self.sessionBytes = sessionBytes
        self.predicateSteps = predicateSteps
    }

    /// Whether the application may have one session more.
    func haveRoom(in tenant: Tenant) -> Bool { tenant.sessions.count < sessions }

    /// The limit that a session would exceed; nil if the application may have it.
    ///
    /// A session that does not grow is never refused, so that an application beyond a limit that was lowered can still change
    /// its sessions. Sessions of one transaction are checked against the same tenant, so that an application may exceed a
    /// limit by the sessions of one transaction.
    func exceeded(by session: SceneSession, replacing existing: SceneSession?, in tenant: Tenant) -> Refusal? {
        if existing == nil, !haveRoom(in: tenant) { return .tooManySessions(limit: sessions) }
        let growth = session.registeredBytes - (existing?.registeredBytes ?? 0)
        if let refusal = exceeded(byGrowth: growth, of: tenant) { return refusal }
        let moreSteps = session.registeredSteps - (existing?.registeredSteps ?? 0)
        guard moreSteps > 0 else { return nil }
        let conditions = session.conditions
        let most = max(conditions.canActivate.stepsOfDecision, conditions.prefersToActivate.stepsOfDecision)
        if most > RouterLimits.stepsPerPredicate {
            return .predicateTooCostly(steps: most, limit: RouterLimits.stepsPerPredicate)
        }
        let steps = tenant.registeredSteps + moreSteps
        return steps > predicateSteps ? .predicatesTooCostly(steps: steps, limit: predicateSteps) : nil
    }
}

extension RegistrationLimits {
    /// The refusal of a registration without room for its bytes; nil if there is room.
    func exceeded(byGrowth growth: Int, of tenant: Tenant) -> Refusal? {
        growth > 0 && tenant.registeredBytes + growth > sessionBytes
            ? .tooManySessionBytes(limit: sessionBytes) : nil
    }
}

extension SceneSession {
    /// The bytes that registered texts of the session take. The fixed part of a session is not counted: the number of
    /// sessions has its own limit.
    package var registeredBytes: Int {
        var sum = key.session.text.utf8.count + role.utf8.count + configuration.utf8.count
        sum += device?.text.utf8.count ?? 0
        sum += userInfo.bytes.count + (stateRestorationActivity?.bytes.count ?? 0)
        if let endpoint {
            sum += endpoint.url.utf8.count
            if !endpoint.format.isStandard { sum += endpoint.format.options.bytes.count }
        }
        return sum + conditions.textBytes
    }
}

extension OnboardingGate {
    /// The bytes of the texts registered at the gate, and a constant for the gate: gates have no limit of their number.
    var registeredBytes: Int {
        let texts = [key.device?.text, onboardingID, failure?.reason, failure?.message, proof?.issuer, proof?.subject]
        return texts.reduce(RouterLimits.gateBytes) { $0 + ($1?.utf8.count ?? 0) } + (configuration?.bytes.count ?? 0)
            + operations.reduce(0) { $0 + $1.textBytes }
    }
}

extension ProgressReport {
    fileprivate var textBytes: Int {
        let texts = [operationID, step, defaultMessage, time ?? "", failure?.reason ?? ""] + parameters
        return texts.reduce(0) { $0 + $1.utf8.count }
    }
}

extension PasscodeLock {
    /// The bytes of the hash and of the device's key.
    var registeredBytes: Int {
        (hash.map { $0.salt.count + $0.digest.count } ?? 0) + (deviceKey?.bytes.count ?? 0)
    }
}

extension SourceDefinition {
    /// The bytes of the definition's document and of its secrets.
    var registeredBytes: Int { secrets.reduce(document.count) { $0 + $1.secret.utf8.count } }
}

extension ActivationConditions {
    /// About the bytes of the texts of both predicates.
    var textBytes: Int { canActivate.textBytes + prefersToActivate.textBytes }
}

extension SceneSession {
    /// The most steps that decisions may take to evaluate the session's predicates, for the longest content id.
    package var registeredSteps: Int {
        conditions.canActivate.stepsOfDecision + conditions.prefersToActivate.stepsOfDecision
    }
}

extension Predicate {
    fileprivate var stepsOfDecision: Int { mostSteps(for: RouterLimits.contentIDBytes) }

    /// About the bytes of its text.
    var textBytes: Int { root.textBytes }
}

extension Predicate.Tree {
    /// About the bytes of the predicate's text: those of its literals, and a constant for each operator and operand.
    fileprivate var textBytes: Int {
        switch self {
        case .constant: 0
        case .comparison(let comparison): comparison.left.textBytes + comparison.right.textBytes + 16
        case .not(let operand): operand.textBytes + 4
        case .and(let terms), .or(let terms): terms.reduce(0) { $0 + $1.textBytes + 4 }
        }
    }
}

extension Predicate.Operand {
    fileprivate var textBytes: Int {
        switch self {
        case .text(let text): text.utf8.count + 2
        case .aggregate(let elements): elements.reduce(2) { $0 + $1.textBytes + 2 }
        case .subject, .number, .boolean, .null, .path: 8
        }
    }
}
