import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Rules that are tried out before they are used.
extension API {
    /// Decides about a notification under the rules of the request, or under those in use, and changes nothing.
    @Sendable func evaluateRules(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: RouterLimits.explainedCandidates)
        try caller.expectAllApplications("The trial of rules")
        var reader = try ObjectReader(try await request.json(atMost: DaemonLimits.rulesBytes))
        guard let id = try reader.identifier("application", of: IdentifierKinds.Application.self) else {
            throw reader.missing("application")
        }
        let view = try RuleTest.view(try reader.object("notification"), id)
        let now = try reader.time("at") ?? host.now
        let rules = try reader.value("rules").map { try Self.rules($0, kinds: ruleKinds) }
        try reader.finish()
        let explained = try await host.read { (engine) throws(Problem) -> Explanation in
            guard let tenant = engine.tenants[id] else { throw Problem(.unknownApplication(id)) }
            let chooser = rules.map { Chooser(rules: $0) } ?? engine.chooser
            return chooser.explain(view, from: tenant, at: now, limit: limit)
        }
        return .json(.ok, ExplanationBody.write(explained, view))
    }

    /// Decides about the last notifications under the rules in use and under those of the request, among the sessions that
    /// are there now, and lists the notifications that would go elsewhere.
    @Sendable func compareRules(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("application", "last")
        try caller.expectAllApplications("The trial of rules")
        let application = try query.identifier("application", of: IdentifierKinds.Application.self)
        let last = try query.limit("last", default: 100, maximum: DaemonLimits.rulesComparedMaximum)
        let proposed = RuleSet(try await rules(in: request))
        let recorded = try await reading(for: caller) { store in
            try store.notifications(matching: NotificationFilter(application: application), limit: last)
                .compactMap { notification -> RecordedQuestion? in
                    guard notification.event == nil else { return nil }
                    guard let payload = try store.payload(of: notification.sequence) else { return nil }
                    return RecordedQuestion(notification, payload.bytes)
                }
        }
        var differences: [RecordedQuestion.Difference] = []
        for start in stride(from: 0, to: recorded.count, by: DaemonLimits.rulesComparedAtOnce) {
            let some = recorded[start..<min(start + DaemonLimits.rulesComparedAtOnce, recorded.count)]
            differences += await host.read { engine in
                some.compactMap { $0.difference(between: engine.chooser, and: Chooser(proposed), in: engine.tenants) }
            }
        }
        return .json(.ok, RecordedQuestion.body(differences, compared: recorded.count))
    }

    /// The rules of a request whose body is a file of rules.
    func rules(in request: Request) async throws -> [any RoutingRule] {
        let bytes = try await request.bytes(atMost: DaemonLimits.rulesBytes)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "not-utf-8", "The rules must be UTF-8.")
        }
        do throws(ConfigurationFaults) {
            return try RulesFile(try ConfigurationFile(path: "rules", text: text), kinds: ruleKinds).rules
        } catch {
            throw Problem(rules: error)
        }
    }

    private static func rules(_ list: JSONValue, kinds: [RoutingRuleKind]) throws -> [any RoutingRule] {
        let (rules, faults) = try RoutingRuleCatalog(kinds).read(list)
        guard faults.isEmpty else {
            throw Problem(
                rules: ConfigurationFaults(
                    faults.map { ConfigurationFault(pointer: "/rules\($0.pointer)", message: $0.message) }))
        }
        return rules
    }
}

extension ObjectReader {
    fileprivate mutating func time(_ key: String) throws(Problem) -> Timestamp? {
        guard let text = try string(key) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw invalid(key, "must be a time such as 2026-01-02T03:04:05Z")
        }
        return time
    }
}

extension Problem {
    /// The faults of rules; none of them is used.
    init(rules faults: ConfigurationFaults) {
        let count = faults.faults.count
        self.init(
            .unprocessableContent, "invalid-rules",
            "\(count == 1 ? "A fault" : "\(count) faults") in the rules; nothing was changed: \(faults)")
        self.faults = faults.faults
    }
}

/// A notification of the past, as a question to rules.
private struct RecordedQuestion: Sendable {
    /// A notification that two sets of rules decide about in different ways.
    struct Difference: Sendable {
        let notification: StoredNotification
        let current: (outcome: ChoiceOutcome, decision: Decision)
        let proposed: (outcome: ChoiceOutcome, decision: Decision)
    }

    private let notification: StoredNotification
    private let view: NotificationView

    init(_ notification: StoredNotification, _ payload: [UInt8]) {
        self.notification = notification
        view = NotificationView(
            kind: notification.kind, application: notification.application, device: notification.device,
            contentID: notification.contentID, priority: notification.priority, payload: payload)
    }

    /// Both decisions, at the time of the notification; nil if they agree or the application is gone.
    func difference(
        between current: Chooser, and proposed: Chooser, in tenants: [ApplicationID: Tenant]
    ) -> Difference? {
        guard let tenant = tenants[notification.application] else { return nil }
        let first = current.choose(for: view, from: tenant, at: notification.receivedAt)
        let second = proposed.choose(for: view, from: tenant, at: notification.receivedAt)
        guard first.outcome != second.outcome else { return nil }
        return Difference(notification: notification, current: first, proposed: second)
    }

    static func body(_ differences: [Difference], compared: Int) -> [UInt8] {
        JSONWriter.object { body in
            body.field("compared", compared)
            body.array("differences") { list in
                for difference in differences {
                    list.object { object in
                        object.field("notification", difference.notification.id)
                        object.field("application", difference.notification.application)
                        object.field("receivedAt", difference.notification.receivedAt)
                        object.field("contentId", difference.notification.contentID)
                        object.object("current") { write(difference.current, to: &$0) }
                        object.object("proposed") { write(difference.proposed, to: &$0) }
                    }
                }
            }
        }
    }

    private static func write(
        _ choice: (outcome: ChoiceOutcome, decision: Decision), to object: inout JSONObjectWriter
    ) {
        object.field("outcome", choice.outcome.word)
        object.field("session", choice.decision.session)
        if case .held(let until) = choice.outcome { object.field("heldUntil", until) }
        object.field("reason", choice.decision.reason)
    }
}
