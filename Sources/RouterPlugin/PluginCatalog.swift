/// The kinds of plugins that a list of the configuration may name.
public struct PluginCatalog<Plugin: Sendable>: Sendable {
    /// The kinds, in the order in which they are listed.
    public let kinds: [PluginKind<Plugin>]
    /// The name of such a plugin in messages, such as `rule`.
    private let noun: String
    /// The name of a plugin, which is not that of its kind if the kind is repeatable.
    private let name: @Sendable (Plugin) -> PluginID
    /// Takes the fields out of an entry that do not depend on its kind; nil if there are none.
    private let terms: (@Sendable (inout JSONObject, PluginKind<Plugin>) throws(PluginConfigurationError) -> Terms)?

    /// The terms of an entry, which are put on its plugin.
    fileprivate struct Terms {
        var isNamed = false
        var apply: (Plugin) throws(PluginConfigurationError) -> Plugin = { (plugin) in plugin }
    }

    fileprivate init(
        _ kinds: [PluginKind<Plugin>], noun: String,
        terms: (@Sendable (inout JSONObject, PluginKind<Plugin>) throws(PluginConfigurationError) -> Terms)? = nil,
        name: @escaping @Sendable (Plugin) -> PluginID
    ) throws(PluginRegistryError) {
        try PluginRegistry.check(kinds.map(\.id))
        self.kinds = kinds
        self.noun = noun
        self.terms = terms
        self.name = name
    }

    /// Makes the plugins of a configuration and finds all of its faults: an array of objects, each with the `id` of a
    /// kind and the fields of that kind. A kind may be used once, unless its entries
    /// name plugins of their own in `plugin`.
    ///
    /// - Returns: the plugins without a fault, and the faults in the order of the array; their pointers begin at the
    ///   array. A missing field of an entry can hide faults of the fields that its kind reads after it.
    public func read(_ list: JSONValue) -> (plugins: [Plugin], faults: [PluginConfigurationError]) {
        guard case .array(let entries) = list else {
            let fault = PluginConfigurationError(
                code: "wrong-type", pointer: "", message: "The \(noun)s must be an array.")
            return ([], [fault])
        }
        var (plugins, faults): ([Plugin], [PluginConfigurationError]) = ([], [])
        var used: Set<PluginID> = []
        for (place, entry) in entries.enumerated() {
            let read = plugin(of: entry, &used)
            if let plugin = read.plugin { plugins.append(plugin) }
            faults += read.faults.map { $0.within("/\(place)") }
        }
        return (plugins, faults)
    }

    private func plugin(
        of entry: JSONValue, _ used: inout Set<PluginID>
    ) -> (plugin: Plugin?, faults: [PluginConfigurationError]) {
        let kind: PluginKind<Plugin>
        do throws(PluginConfigurationError) {
            kind = try self.kind(of: entry)
        } catch {
            return (nil, [error])
        }
        var faults: [PluginConfigurationError] = []
        var rest = entry.asObject ?? JSONObject()
        var terms = Terms()
        do throws(PluginConfigurationError) {
            if let read = self.terms { terms = try read(&rest, kind) }
        } catch {
            faults.append(error)
        }
        let hasOwnName = kind.isRepeatable || terms.isNamed
        if !hasOwnName, !used.insert(kind.id).inserted {
            let message = "The \(noun) \(kind.id) is configured twice; a name makes another one of it."
            faults.append(PluginConfigurationError(code: "duplicate-plugin", pointer: "/id", message: message))
        }
        var leftOut: Set<String> = []
        // Each round leaves out the field at fault, so there are at most as many rounds as fields.
        while true {
            do throws(PluginConfigurationError) {
                let plugin = try terms.apply(try kind.make(.object(rest)))
                if hasOwnName, !used.insert(name(plugin)).inserted {
                    let message = "Two \(noun)s are called \(name(plugin))."
                    faults.append(PluginConfigurationError(code: "duplicate-plugin", pointer: "", message: message))
                }
                return (faults.isEmpty ? plugin : nil, faults)
            } catch {
                let field = error.pointer.split(separator: "/").first.map(String.init) ?? ""
                // A field that was left out here is not missing in the configuration.
                if leftOut.contains(field) { return (nil, faults) }
                faults.append(error.naming(kind.manifest))
                guard let key = rest.members.first(where: { escapedForPointer($0.key) == field })?.key else {
                    return (nil, faults)
                }
                rest[key] = nil
                leftOut.insert(field)
            }
        }
    }

    fileprivate func plugins(configuredBy list: JSONValue) throws(PluginConfigurationError) -> [Plugin] {
        let (plugins, faults) = read(list)
        if let first = faults.first { throw first }
        return plugins
    }

    private func kind(of entry: JSONValue) throws(PluginConfigurationError) -> PluginKind<Plugin> {
        guard case .object(let object) = entry else {
            throw PluginConfigurationError(code: "wrong-type", pointer: "", message: "A \(noun) must be an object.")
        }
        guard let name = object["id"] else {
            if let usual = kinds.first(where: \.isUsual) { return usual }
            throw PluginConfigurationError(code: "missing-field", pointer: "/id", message: "The field id is missing.")
        }
        guard let kind = kinds.first(where: { .string($0.id.text) == name }) else {
            let known = kinds.map(\.id.text).joined(separator: ", ")
            let message = "There is no such \(noun); the \(noun)s are: \(known)."
            throw PluginConfigurationError(code: "unknown-plugin", pointer: "/id", message: message)
        }
        return kind
    }
}

extension PluginConfigurationError {
    /// The fault of an unknown field of an entry names the fields that the router itself reads too.
    fileprivate func naming(_ manifest: PluginManifest) -> PluginConfigurationError {
        guard code == "unknown-field", !manifest.commonFields.isEmpty, pointer.split(separator: "/").count == 1 else {
            return self
        }
        let names = manifest.commonFields.map(\.name).joined(separator: ", ")
        let hasNone = message.hasSuffix("nothing can be configured here.")
        let own = hasNone ? "There is no such field; the fields are: id." : message
        return PluginConfigurationError(code: code, pointer: pointer, message: "\(own.dropLast()), \(names).")
    }
}

/// The kinds of rules that a configuration may name.
public typealias RoutingRuleCatalog = PluginCatalog<any RoutingRule>

extension RoutingRuleCatalog {
    /// A catalog of these kinds.
    ///
    /// - Throws: as `PluginRegistry.init` does.
    public init(_ kinds: [RoutingRuleKind]) throws(PluginRegistryError) {
        try self.init(
            kinds, noun: "rule",
            terms: { (entry, kind) throws(PluginConfigurationError) in
                let terms = try RuleTerms(taking: &entry, of: kind)
                return Terms(isNamed: terms.isNamed) { (rule) throws(PluginConfigurationError) in
                    try terms.applied(to: rule)
                }
            }, name: { $0.id })
    }

    /// Makes the rules of a configuration: an array of objects, each with the `id` of a kind and the fields of that
    /// kind; `name`, `applications` and `mode` are fields of every rule. A kind may be used once without a name.
    ///
    /// - Throws: the first fault; its pointer begins at the array.
    public func rules(configuredBy list: JSONValue) throws(PluginConfigurationError) -> [any RoutingRule] {
        try plugins(configuredBy: list)
    }
}

/// The kinds of observers that a configuration may name.
public typealias SceneObserverCatalog = PluginCatalog<any SceneObserver>

extension SceneObserverCatalog {
    /// A catalog of these kinds.
    ///
    /// - Throws: as `PluginRegistry.init` does.
    public init(_ kinds: [SceneObserverKind]) throws(PluginRegistryError) {
        try self.init(kinds, noun: "observer") { $0.id }
    }

    /// Makes the observers of a configuration, as rules are made.
    ///
    /// - Throws: the first fault; its pointer begins at the array.
    public func observers(configuredBy list: JSONValue) throws(PluginConfigurationError) -> [any SceneObserver] {
        try plugins(configuredBy: list)
    }
}

/// The kinds of passcode validators that a configuration may name.
public typealias PasscodeValidatorCatalog = PluginCatalog<any PasscodeValidator>

extension PasscodeValidatorCatalog {
    /// A catalog of these kinds.
    ///
    /// - Throws: as `PluginRegistry.init` does.
    public init(_ kinds: [PasscodeValidatorKind]) throws(PluginRegistryError) {
        try self.init(kinds, noun: "passcode validator") { $0.id }
    }

    /// Makes the validators of a configuration, as rules are made.
    ///
    /// - Throws: the first fault; its pointer begins at the array.
    public func validators(configuredBy list: JSONValue) throws(PluginConfigurationError) -> [any PasscodeValidator] {
        try plugins(configuredBy: list)
    }
}
