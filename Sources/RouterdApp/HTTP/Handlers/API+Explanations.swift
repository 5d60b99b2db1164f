import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Decisions about notifications that have not come. They have no effect.
extension API {
    @Sendable func explain(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let query = try request.query("device", "limit", "priority", "at", "parts", "broadcast")
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        let accept = try await accept(request, context, device, by: Self.pushSource)
        let asked = NotificationView(
            application: accept.application, device: accept.device, contentID: accept.notification.contentID,
            priority: try query.priority("priority") ?? accept.notification.priority,
            payload: accept.notification.payload)
        var question = DecisionQuestion(
            view: asked, time: try query.time("at") ?? host.now, limit: try DecisionQuestion.limit(in: query),
            showsParts: try query.flag("parts"), isBroadcast: try query.flag("broadcast"))
        question.use(await host.answers(about: asked, isBroadcast: question.isBroadcast, at: question.time))
        return .json(.ok, try await explanation(of: question, in: accept.application))
    }

    /// The decision that a notification would get now. Its own decision keeps its reason and no candidates, which have changed
    /// since.
    @Sendable func explainNotification(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("limit", "parts")
        let notification = try await stored(context, caller)
        guard notification.event == nil else {
            throw Problem(.conflict, "not-a-notification", "An event of a session has its receiver without a decision.")
        }
        let asked = NotificationView(
            kind: notification.kind, application: notification.application, device: notification.device,
            contentID: notification.contentID, priority: notification.priority,
            payload: notification.payload?.bytes ?? [])
        var question = DecisionQuestion(
            view: asked, time: host.now, limit: try DecisionQuestion.limit(in: query),
            showsParts: try query.flag("parts"), isBroadcast: notification.broadcast != nil)
        question.use(await host.answers(about: asked, isBroadcast: question.isBroadcast, at: question.time))
        return .json(.ok, try await explanation(of: question, in: notification.application))
    }

    /// The answer to a question under the rules and among the sessions in use.
    private func explanation(of question: DecisionQuestion, in id: ApplicationID) async throws -> [UInt8] {
        try await explanation(of: question) { (engine) throws(Problem) in
            guard let tenant = engine.tenants[id] else { throw Problem(engine.absence(of: id)) }
            return (tenant, engine.chooser)
        }
    }

    /// The answer to a question.
    ///
    /// - Parameter place: The application and the rules to decide by.
    func explanation(
        of question: DecisionQuestion,
        by place: @escaping @Sendable (Engine) throws(Problem) -> (tenant: Tenant, chooser: Chooser)
    ) async throws -> [UInt8] {
        var receivers: [ShownReceiver]?
        if question.isBroadcast {
            receivers = try await host.decide {
                (engine, work) throws(Problem) -> [ShownReceiver] in
                let (tenant, chooser) = try place(engine)
                return try question.receivers(by: chooser, in: tenant, &work)
            }
        }
        let view = question.view
        let (explained, gate, conditions, notAsked) = try await host.decide {
            (engine, work) throws(Problem) -> (Explanation, OnboardingGate?, [ActivationConditions?], [PluginID]) in
            let (tenant, chooser) = try place(engine)
            try question.expectAdmission(to: tenant)
            var explained = chooser.explain(view, from: tenant, &work, at: question.time, limit: question.limit)
            if let reach = engine.reach(in: view.application) { explained.note(reach) }
            // Predicates are evaluated when the engine has gone on.
            let shown = question.showsParts ? explained.considered.prefix(DaemonLimits.explainedParts) : []
            let gate = tenant.gate(before: explained.outcome, device: view.device).map { tenant.gate(of: $0.device) }
            let remote = question.isTrialOfRules ? chooser.remoteRules : []
            let notAsked = remote.filter { $0.applies(to: view.application) }.map(\.id)
            return (explained, gate, shown.map { tenant.sessions[$0.session]?.conditions }, notAsked)
        }
        return try await readers.perform(for: view.application) { [receivers] in
            ExplanationBody.write(
                explained, view, heldBy: gate, parts: conditions, receivers: receivers, notAsked: notAsked)
        }
    }
}

/// A question about the decision that a notification would get.
struct DecisionQuestion: Sendable {
    private(set) var view: NotificationView
    let time: Timestamp
    /// The greatest number of sessions to show.
    let limit: Int
    /// Whether the predicates of the first sessions are shown part by part.
    var showsParts = false
    /// Whether each session that can have the notification is a receiver.
    var isBroadcast = false
    /// Whether it is a trial of rules, in which remote rules are not asked.
    var isTrialOfRules: Bool { view.answers === RuleAnswers.trial }

    static func limit(in query: [String: String]) throws(Problem) -> Int {
        try query.limit(default: DaemonLimits.pageSize, maximum: RouterLimits.explainedCandidates)
    }

    /// Takes the answers of remote rules.
    mutating func use(_ answers: RuleAnswers?) { view = NotificationView(view, answers: answers) }

    /// Refuses what a post would be refused.
    func expectAdmission(to tenant: Tenant) throws(Problem) {
        let application = tenant.application
        guard !isBroadcast || application.routing.broadcasts else { throw Problem(.broadcast(.off(application.id))) }
        guard !application.routing.requiresContentID || view.contentID != nil else {
            throw Problem(.contentIDMissing(application.id))
        }
    }

    /// The sessions that would get the notification as a broadcast, best first.
    func receivers(
        by chooser: Chooser, in tenant: Tenant, _ work: inout DecisionWork
    ) throws(Problem) -> [ShownReceiver] {
        try expectAdmission(to: tenant)
        let limit = BroadcastReceiver.limit(payloadBytes: view.payload.count)
        let receivers = chooser.explainReceivers(of: view, in: tenant, &work, at: time, limit: limit + 1)
        guard receivers.count <= limit else { throw Problem(.broadcast(.tooManyReceivers(limit: limit))) }
        return receivers.map { receiver in
            let gate = tenant.gate(before: receiver.outcome, device: view.device)
            return ShownReceiver(receiver, isGated: gate != nil)
        }
    }
}
