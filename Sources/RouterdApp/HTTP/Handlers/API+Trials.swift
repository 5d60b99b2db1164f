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
        let query = try request.query("limit", "last", "parts", "broadcast")
        let last = try query.limit("last", default: 0, maximum: DaemonLimits.rulesComparedMaximum)
        let key = try context.sessionKey()
        var reader = try ObjectReader(try await request.json(in: context))
        guard let conditions = try reader.object("activationConditions") else {
            throw reader.missing("activationConditions")
        }
        var patch = SessionPatch()
        try ConditionsBody.readPatch(conditions, into: &patch)
        let asked = try RuleTest.view(try reader.object("notification"), key.application)
        var question = DecisionQuestion(
            view: asked, time: try reader.time("at") ?? host.now, limit: try DecisionQuestion.limit(in: query),
            showsParts: try query.flag("parts"), isBroadcast: try query.flag("broadcast"))
        try reader.finish()
        let trial = ConditionsTrial(key: key, patch: patch)
        let (current, proposed) = try await host.read { (engine) throws(Problem) in try trial.tenants(of: engine) }
        question.use(
            await host.answers(
                about: asked, isBroadcast: question.isBroadcast, among: proposed, at: question.time))
        let explanation = try await explanation(of: question) { engine in (proposed, engine.chooser) }
        let filter = NotificationFilter(application: key.application)
        let recorded = last > 0 ? try await recorded(for: caller, filter, last) : []
        let lacking = await host.read { engine in recorded.count { $0.lacksAnswer(of: engine.chooser) } }
        let differences = await differences(of: recorded) { engine, some, work in
            some.compactMap {
                $0.difference(
                    between: engine.chooser, in: current, and: engine.chooser, in: proposed,
                    heldUntil: engine.held($0.sequence)?.heldUntil, &work)
            }
        }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.raw("explanation", explanation)
                RecordedQuestion.write(differences, compared: recorded.count, lacking: lacking, to: &body)
            })
    }
}

/// Other conditions for a session.
private struct ConditionsTrial: Sendable {
    let key: SessionKey
    let patch: SessionPatch

    /// The application, and a copy in which the session has the conditions. All turns of the trial decide among these sessions.
    /// The copy takes memory and time with the number of sessions, so that only applications of a bounded size are copied.
    func tenants(of engine: Engine) throws(Problem) -> (current: Tenant, proposed: Tenant) {
        guard let tenant = engine.tenants[key.application] else { throw Problem(engine.absence(of: key.application)) }
        guard var session = tenant.sessions[key.session] else { throw Problem(.unknownSession(key)) }
        guard tenant.sessions.count <= DaemonLimits.trialSessions else {
            throw Problem(
                .conflict, "too-many-sessions",
                "Conditions are tried out among at most \(DaemonLimits.trialSessions) sessions.")
        }
        session.conditions.apply(patch)
        var proposed = tenant
        proposed.put(session)
        return (tenant, proposed)
    }
}
