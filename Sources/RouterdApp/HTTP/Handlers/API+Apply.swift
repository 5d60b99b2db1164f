import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Sets of resources.
extension API {
    /// Applies documents in YAML or JSON, all of them or none.
    @Sendable func applySet(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        guard caller.key?.application == nil else {
            throw Problem(
                .forbidden, "key-of-one-application", "A set may hold all applications; the key is for one.")
        }
        let query = try request.query("dryRun", "prune", "set")
        let name = query["set"] ?? "default"
        guard (1...128).contains(name.utf8.count) else {
            throw Problem(.badRequest, "invalid-parameter", "set must be a name of 1 to 128 bytes.")
        }
        let (isDryRun, prunes) = (try query.flag("dryRun"), try query.flag("prune"))
        let bytes = try await request.bytes(in: context)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "not-utf-8", "The documents must be UTF-8.")
        }
        let sources = await host.read { $0.sources }
        let catalog = try RoutingRuleCatalog(ruleSource.kinds)
        let documents = try await readers.perform(for: nil) {
            do throws(ConfigurationFaults) {
                return try ResourceDocuments(text, scope: scope, rules: catalog) { (value, id) throws(Problem) in
                    try SourceBody.read(value, id: id, kinds: plugins, existing: sources[id])
                }
            } catch {
                throw Problem(error)
            }
        }
        if let rules = documents.rules { try expectUsable(rules.rules) }
        let draft = ResourceSetDraft(
            name: name, resources: documents.drafts, rules: documents.rules, prunes: prunes, isDryRun: isDryRun)
        var caller = caller
        caller.note?.resource += "?set=\(name)"
        switch await host.apply(draft, by: caller.noting(.applySet(draft))) {
        case .notReady(let plugin): throw Problem(plugin)
        case .replied(.applied(let applied, let rules)?):
            return .json(.ok, try AppliedBody.write(applied, rules, of: draft))
        case .replied(.refused(.resource(let place, let refusal))?):
            throw Problem(ConfigurationFaults([documents.fault(of: place, Problem(refusal))]))
        case .replied(.refused(let refusal)?): throw Problem(refusal)
        case .replied(nil): throw Problem.overloaded
        default: throw Problem.unexpectedReply
        }
    }
}

extension Dictionary where Key == String, Value == String {
    /// A parameter that is true, false or left out.
    func flag(_ name: String) throws(Problem) -> Bool {
        switch self[name] {
        case nil, "false"?: false
        case "true"?, ""?: true
        default: throw Problem(.badRequest, "invalid-parameter", "\(name) must be true or false.")
        }
    }
}

extension Problem {
    /// The faults of a set's documents; nothing of the set is applied.
    fileprivate init(_ faults: ConfigurationFaults) {
        let count = faults.faults.count
        self.init(
            .unprocessableContent, "invalid-set",
            "\(count == 1 ? "A fault" : "\(count) faults") in the set; nothing was changed: \(faults)")
        self.faults = faults.faults
    }
}

/// The changes of a set on the wire.
enum AppliedBody {
    static func write(
        _ applied: [AppliedResource], _ rules: AppliedRules?, of draft: ResourceSetDraft
    ) throws -> [UInt8] {
        let changedRules = try rules.map { try RuleChange.all(of: $0) } ?? []
        return JSONWriter.object { body in
            body.field("dryRun", draft.isDryRun)
            body.field("adopted", applied.count(where: \.isAdopted))
            if let rules { body.field("rulesVersion", rules.after.version) }
            body.array("changes") { list in
                for one in applied { list.object { write(one, of: draft, to: &$0) } }
                for rule in changedRules { list.object { write(rule, to: &$0) } }
            }
        }
    }

    /// The change of one rule.
    private struct RuleChange {
        let name: String
        /// Its entry in the list; nil if the rule is new.
        let before: JSONValue?
        /// Nil if the rule is gone.
        let after: JSONValue?

        /// The rules in use from now on, and then those that are gone.
        static func all(of rules: AppliedRules) throws -> [RuleChange] {
            let (before, after) = (try entries(rules.before), try entries(rules.after))
            let kept = after.map { entry in
                RuleChange(
                    name: entry.name, before: before.first { $0.name.isSame(as: entry.name) }?.value, after: entry.value
                )
            }
            let gone = before.filter { entry in !after.contains { $0.name.isSame(as: entry.name) } }
            return kept + gone.map { RuleChange(name: $0.name, before: $0.value, after: nil) }
        }

        private static func entries(_ kept: KeptRules?) throws -> [(name: String, value: JSONValue)] {
            guard let kept else { return [] }
            let list = try JSONValue(parsing: kept.document, limits: .configuration).asArray ?? []
            return list.map { (ResourceDocuments.name(ofRule: $0) ?? "", $0) }
        }
    }

    private static func write(_ rule: RuleChange, to change: inout JSONObjectWriter) {
        let differences = ResourceSpec.differences(rule.before, rule.after)
        write(
            "Rule", rule.name, differences, isNew: rule.before == nil, isGone: rule.after == nil, to: &change)
    }

    private static func write(
        _ one: AppliedResource, of draft: ResourceSetDraft, to change: inout JSONObjectWriter
    ) {
        let (before, after) = (one.before.map(ResourceSpec.of), one.after.map(ResourceSpec.of))
        var differences = ResourceSpec.differences(before, after)
        // Different secrets are not shown.
        if differences.isEmpty, !one.isLiveStateAlone { differences = [ResourceSpec.secretDifference] }
        write(
            one.ref.kind.rawValue, of: one.ref.kind == .application ? nil : one.ref.application, one.ref.id,
            differences, isNew: one.before == nil, isGone: one.after == nil,
            to: &change)
        guard !draft.isDryRun, let secret = one.issuedSecret(in: draft) else { return }
        change.field("secret", secret)
    }

    private static func write(
        _ kind: String, of application: ApplicationID? = nil, _ id: String, _ differences: [ResourceSpec.Difference],
        isNew: Bool, isGone: Bool,
        to change: inout JSONObjectWriter
    ) {
        let action = isNew ? "create" : isGone ? "delete" : differences.isEmpty ? "unchanged" : "update"
        change.field("kind", kind)
        if let application { change.field("application", application) }
        change.field("id", id)
        change.field("action", action)
        change.array("fields") { fields in
            guard action == "update" else { return }
            for difference in differences {
                fields.object { field in
                    field.field("field", difference.pointer)
                    field.field("before", difference.before)
                    field.field("after", difference.after)
                }
            }
        }
    }
}

extension AppliedResource {
    /// Whether both have the same specification and the same secrets.
    fileprivate var isLiveStateAlone: Bool {
        switch (before, after) {
        case (.session(let left)?, .session(let right)?): left.endpoint == right.endpoint
        default: before == after
        }
    }

    /// The secret generated for a session's endpoint, shown this one time.
    fileprivate func issuedSecret(in draft: ResourceSetDraft) -> String? {
        guard case .session(let session)? = after else { return nil }
        for case .session(let key, let wanted) in draft.resources where key == session.key {
            guard let endpoint = wanted.endpoint, endpoint.isIssued(in: session.endpoint) else { return nil }
            return endpoint.freshSecret
        }
        return nil
    }
}
