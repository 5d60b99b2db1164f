import HTTPTypes
import Hummingbird
import Plugins
package import Router
package import RouterPlugin

/// The rules in use, and rules that are tried out before they are used.
extension API {
    @Sendable func getRules(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the rules")
        return .json(.ok, try Self.body(of: await host.read { $0.keptRules }))
    }

    /// Uses the rules of a file, all of them or none: a fault, or a test of them that fails, refuses them.
    @Sendable func putRules(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the rules")
        try expectRulesMayBePut()
        let file = try await rules(in: request, context)
        try expectUsable(file.rules)
        if let failures = file.failures {
            throw Problem(
                .unprocessableContent, "rule-tests-failed", "Tests of the rules fail; nothing was changed: \(failures)")
        }
        return try await use(RuleSetDraft(file.rules, origin: .request, document: file.document), caller)
    }

    /// Uses the rules of the configuration again.
    @Sendable func deleteRules(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the rules")
        let configured: RuleSetDraft
        do throws(ConfigurationFaults) {
            configured = try ruleSource.configured()
        } catch {
            throw Problem(rules: error)
        }
        return try await use(configured, caller)
    }

    private func expectRulesMayBePut() throws(Problem) {
        guard ruleSource.mayBePut else {
            throw Problem(
                .conflict, "rules-of-configuration", "The setting rulesFrom takes rules from the configuration alone.")
        }
    }

    /// Refuses rules that a request may not use. A key for the API is no right to run programs: those of rules are in use, or
    /// in the configuration, with all of their settings.
    func expectUsable(_ rules: [any RoutingRule]) throws(Problem) {
        try expectRulesMayBePut()
        let programs = rules.programs
        guard !programs.isEmpty else { return }
        let configured = (try? ruleSource.configured())?.rules ?? []
        let known = Set((host.desk.members.map { $0.rule as any RoutingRule } + configured).programs.map(\.settings))
        for program in programs where !known.contains(program.settings) {
            throw Problem(
                .conflict, "programs-of-configuration",
                "\(program.rule) runs a program that the configuration does not name: a request uses those of the "
                    + "configuration alone, with the same command, reads and limits.")
        }
    }

    private func use(_ draft: RuleSetDraft, _ caller: Caller) async throws -> Response {
        switch await host.use(draft, by: caller.noting(.putRules(draft))) {
        case .used(let kept): return .json(.ok, try Self.body(of: kept))
        case .notReady(let plugin): throw Problem(plugin)
        case .refused(let refusal): throw Problem(refusal)
        }
    }

    private static func body(of kept: KeptRules?) throws -> [UInt8] {
        let rules = try kept.map { try JSONValue(parsing: $0.document, limits: .configuration) } ?? .array([])
        return JSONWriter.object { body in
            body.field("version", kept?.version ?? 0)
            body.field("origin", (kept?.origin ?? .configuration).rawValue)
            body.field("rules", rules)
        }
    }

    /// Decides about a notification under the rules of the request, or under those in use, and changes nothing.
    @Sendable func evaluateRules(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("limit", "broadcast")
        try caller.expectAllApplications("the trial of rules")
        var reader = try ObjectReader(try await request.json(in: context))
        guard let id = try reader.identifier("application", of: IdentifierKinds.Application.self) else {
            throw reader.missing("application")
        }
        let view = try RuleTest.view(try reader.object("notification"), id)
        let question = DecisionQuestion(
            view: NotificationView(view, answers: .trial), time: try reader.time("at") ?? host.now,
            limit: try DecisionQuestion.limit(in: query),
            isBroadcast: try query.flag("broadcast"))
        let rules = try reader.value("rules").map { try Self.rules($0, kinds: ruleSource.kinds) }
        try reader.finish()
        let proposed = rules.map { Chooser(rules: $0) }
        return .json(
            .ok,
            try await explanation(of: question) { (engine) throws(Problem) in
                guard let tenant = engine.tenants[id] else { throw Problem(engine.absence(of: id)) }
                return (tenant, proposed ?? engine.chooser)
            })
    }

    /// Decides about the last notifications under the rules in use and under those of the request, among the sessions that
    /// are there now, and lists the notifications that would go elsewhere.
    @Sendable func compareRules(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("application", "last")
        try caller.expectAllApplications("the trial of rules")
        let application = try query.identifier("application", of: IdentifierKinds.Application.self)
        let last = try query.limit("last", default: 100, maximum: DaemonLimits.rulesComparedMaximum)
        let proposed = Chooser(RuleSet(try await rules(in: request, context).rules))
        let recorded = try await recorded(for: caller, NotificationFilter(application: application), last)
        let lacking = await host.read { engine in
            recorded.count { $0.lacksAnswer(of: engine.chooser, or: proposed) }
        }
        let differences = await differences(of: recorded) { engine, some, work in
            some.compactMap { question in
                engine.tenants[question.application].flatMap {
                    question.difference(
                        between: engine.chooser, in: $0, and: proposed, in: $0,
                        heldUntil: engine.held(question.sequence)?.heldUntil, &work)
                }
            }
        }
        return .json(
            .ok,
            JSONWriter.object {
                RecordedQuestion.write(differences, compared: recorded.count, lacking: lacking, to: &$0)
            })
    }

    /// The last notifications that a filter shows, as questions.
    func recorded(
        for caller: Caller, _ filter: NotificationFilter, _ limit: Int
    ) async throws -> [RecordedQuestion] {
        try await reading(for: caller) { store in
            try store.notifications(matching: filter, limit: limit).compactMap { notification in
                guard notification.event == nil else { return nil }
                return try store.payload(of: notification.sequence).map { RecordedQuestion(notification, $0.bytes) }
            }
        }
    }

    /// The differences that a comparison finds, in turns of the engine.
    func differences(
        of recorded: [RecordedQuestion],
        _ compare:
            @escaping @Sendable (Engine, ArraySlice<RecordedQuestion>, inout DecisionWork)
            -> [RecordedQuestion.Difference]
    ) async -> [RecordedQuestion.Difference] {
        var differences: [RecordedQuestion.Difference] = []
        for start in stride(from: 0, to: recorded.count, by: DaemonLimits.rulesComparedAtOnce) {
            let some = recorded[start..<min(start + DaemonLimits.rulesComparedAtOnce, recorded.count)]
            differences += await host.decide { engine, work in compare(engine, some, &work) }
        }
        return differences
    }

    /// The rules of a request whose body is a file of rules.
    private func rules(in request: Request, _ context: RouterdContext) async throws -> RulesFile {
        let bytes = try await request.bytes(in: context)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "not-utf-8", "The rules must be UTF-8.")
        }
        return try await readers.perform(for: nil) { [ruleSource] in
            do throws(ConfigurationFaults) {
                return try RulesFile(try ConfigurationFile(path: "rules", text: text), kinds: ruleSource.kinds)
            } catch {
                throw Problem(rules: error)
            }
        }
    }

    private static func rules(_ list: JSONValue, kinds: [RoutingRuleKind]) throws -> [any RoutingRule] {
        let (rules, faults) = try RoutingRuleCatalog(kinds).readBounded(list)
        guard faults.isEmpty else {
            throw Problem(
                rules: ConfigurationFaults(
                    faults.map { ConfigurationFault(pointer: "/rules\($0.pointer)", message: $0.message) }))
        }
        return rules
    }
}

extension Problem {
    /// A rule of a process or behind a URL that does not answer cannot take the place of one in use.
    init(_ plugin: RuleDesk.NotReady) {
        self.init(.conflict, "plugin-not-ready", "\(plugin); nothing was changed.")
    }

    /// The faults of rules; none of them is used.
    init(rules faults: ConfigurationFaults) {
        let count = faults.faults.count
        self.init(
            .unprocessableContent, "invalid-rules",
            "\(count == 1 ? "A fault" : "\(count) faults") in the rules; nothing was changed: \(faults)")
        self.faults = faults.faults
    }
}

/// Where the rules of an API come from.
package struct RuleSource: Sendable {
    /// The kinds that a list of rules may name.
    let kinds: [RoutingRuleKind]
    /// Whether requests may put rules.
    let mayBePut: Bool
    /// Reads the rules of the configuration.
    let configured: @Sendable () throws(ConfigurationFaults) -> RuleSetDraft

    package init(
        kinds: [RoutingRuleKind] = BuiltInPlugins.ruleKinds, mayBePut: Bool = true,
        configured: @escaping @Sendable () throws(ConfigurationFaults) -> RuleSetDraft = {
            RuleSetDraft([], origin: .configuration, document: Array("[]".utf8))
        }
    ) {
        self.kinds = kinds
        self.mayBePut = mayBePut
        self.configured = configured
    }
}
