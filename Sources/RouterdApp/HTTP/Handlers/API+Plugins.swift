import Hummingbird
import Router
import RouterPlugin

/// The plugins in use, with the state and the figures of those that run apart from the daemon.
extension API {
    @Sendable func listPlugins(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response
    {
        _ = try request.query()
        try caller.expectAllApplications("the list of plugins")
        let remote = Dictionary(await remoteRules().map { ($0.id, $0.status) }) { first, _ in first }
        let rules = await host.read { $0.chooser.rules.map { (id: $0.id, rung: $0.rung, made: $0.made) } }
        let versions = Dictionary(manifests.map { ($0.id, $0.version) }) { first, _ in first }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.array("plugins") { list in
                    for rule in rules {
                        list.object {
                            Self.write(
                                rule.id, "rule", rung: rule.rung, remote[rule.id], versions[rule.made], to: &$0)
                        }
                    }
                    for validator in plugins.passcodeValidators {
                        list.object {
                            Self.write(validator.id, "validator", nil, versions[validator.id], to: &$0)
                        }
                    }
                    for observer in plugins.observers {
                        list.object { Self.write(observer.id, "observer", nil, versions[observer.id], to: &$0) }
                    }
                }
            })
    }

    /// The rules in processes and behind URLs, in their order.
    func remoteRules() async -> [(id: PluginID, status: RemoteRuleStatus)] {
        var found: [(id: PluginID, status: RemoteRuleStatus)] = []
        for member in host.desk.members { found.append((member.rule.id, await member.transport.status())) }
        return found
    }

    /// The manifests of every plugin that the program has, in use or not.
    @Sendable func listManifests(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws
        -> Response
    {
        _ = try request.query()
        try caller.expectAllApplications("the list of plugins")
        let body: JSONValue = ["manifests": .array(manifests.map(\.json))]
        return .json(.ok, body.serialized())
    }

    /// Takes a plugin into use again that was put into quarantine; harmless for any other one.
    @Sendable func enablePlugin(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws
        -> Response
    {
        _ = try request.query()
        try caller.expectAllApplications("the list of plugins")
        let name = context.parameters.get("plugin") ?? ""
        guard let member = host.desk.members.first(where: { $0.rule.id == PluginID(unchecked: name) }) else {
            throw Problem(.notFound, "unknown-plugin", "No process or call-out has this name: \(name.prefix(255)).")
        }
        await member.transport.enable()
        let status = await member.transport.status()
        return .json(.ok, JSONWriter.object { Self.write(member.rule.id, "rule", status, to: &$0) })
    }

    private static func write(
        _ id: PluginID, _ kind: String, rung: String = "compiled", _ status: RemoteRuleStatus?,
        _ version: String? = nil, to plugin: inout JSONObjectWriter
    ) {
        plugin.field("id", id)
        plugin.field("kind", kind)
        plugin.field("rung", status?.rung ?? rung)
        plugin.field("state", status?.state ?? "ready")
        guard let status else {
            if let version { plugin.field("version", version) }
            return
        }
        plugin.field("version", status.version)
        if !status.workers.isEmpty {
            plugin.array("workers") { for worker in status.workers { $0.element(worker) } }
        }
        plugin.field("calls", status.calls)
        plugin.object("faults") { faults in
            for fault in RuleFault.allCases {
                if let count = status.faults[fault] { faults.field(fault.rawValue, count) }
            }
        }
        if let (failure, time) = status.lastFault {
            plugin.object("lastFault") { last in
                last.field("fault", failure.fault.rawValue)
                last.field("cause", failure.cause)
                last.field("at", time)
            }
        }
        plugin.field("quarantinedAt", status.quarantinedAt)
        plugin.field("cacheHits", status.cacheHits)
        plugin.object("latency") { latency in
            let found = status.times.percentiles([0.5, 0.99, 0.999])
            for (place, name) in ["microsecondsP50", "microsecondsP99", "microsecondsP999"].enumerated() {
                latency.field(name, (found?[place]).map { Int($0) / 1000 })
            }
        }
    }
}

extension RoutingRule {
    /// The rung of a rule that runs in the daemon.
    fileprivate var rung: String { own is DeclaredRule ? "declared" : "compiled" }

    /// The kind that the rule is made by; other rules than declared ones bear its id, unless their entry has a name.
    fileprivate var made: PluginID { own is DeclaredRule ? DeclaredRule.kindID : own.id }

    private var own: any RoutingRule { (self as? RuleInstance)?.rule ?? self }
}
