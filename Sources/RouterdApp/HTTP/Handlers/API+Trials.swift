import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Conditions of a session that are tried out before they are used.
extension API {
    /// Decides about a notification, and about the last ones of the application, as if a session had other conditions; nothing
    /// changes.
    @Sendable func tryConditions(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("limit", "last", "parts")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: RouterLimits.explainedCandidates)
        let last = try query.limit("last", default: 0, maximum: DaemonLimits.rulesComparedMaximum)
        let showsParts = try query.flag("parts")
        let key = try context.sessionKey()
        var reader = try ObjectReader(try await request.json())
        guard let conditions = try reader.object("activationConditions") else {
            throw reader.missing("activationConditions")
        }
        var patch = SessionPatch()
        try ConditionsBody.readPatch(conditions, into: &patch)
        let asked = try RuleTest.view(try reader.object("notification"), key.application)
        let now = try reader.time("at") ?? host.now
        try reader.finish()
        let trial = ConditionsTrial(key: key, patch: patch)
        let view = NotificationView(asked, answers: await host.answers(about: asked, at: now))
        let (explained, parts) = try await host.read {
            (engine) throws(Problem) -> (Explanation, [ActivationConditions?]) in
            let tenant = try trial.tenant(of: engine)
            let explained = engine.chooser.explain(view, from: tenant, at: now, limit: limit)
            let shown = showsParts ? explained.considered.prefix(DaemonLimits.explainedParts) : []
            return (explained, shown.map { tenant.sessions[$0.session]?.conditions })
        }
        let filter = NotificationFilter(application: key.application)
        let recorded = last > 0 ? try await recorded(for: caller, filter, last) : []
        let differences = try await differences(of: recorded) { (engine, some) throws(Problem) in
            let proposed = try trial.tenant(of: engine)
            return some.compactMap { question in
                engine.tenants[key.application].flatMap {
                    question.difference(between: engine.chooser, in: $0, and: engine.chooser, in: proposed)
                }
            }
        }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.raw("explanation", ExplanationBody.write(explained, view, parts: parts))
                RecordedQuestion.write(differences, compared: recorded.count, to: &body)
            })
    }
}

/// Other conditions for a session.
private struct ConditionsTrial: Sendable {
    let key: SessionKey
    let patch: SessionPatch

    /// A copy of the application in which the session has the conditions. The copy takes memory and time with the number
    /// of sessions, so that only applications of a bounded size are copied.
    func tenant(of engine: Engine) throws(Problem) -> Tenant {
        guard var tenant = engine.tenants[key.application] else { throw Problem(engine.absence(of: key.application)) }
        guard var session = tenant.sessions[key.session] else { throw Problem(.unknownSession(key)) }
        guard tenant.sessions.count <= DaemonLimits.trialSessions else {
            throw Problem(
                .conflict, "too-many-sessions",
                "Conditions are tried out among at most \(DaemonLimits.trialSessions) sessions.")
        }
        session.conditions.apply(patch)
        tenant.put(session)
        return tenant
    }
}
