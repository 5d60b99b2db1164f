/// The plugins that are in use, each under its own name.
///
/// A registry is a value that the program builds and passes on; there is no global one, and nothing registers itself.
/// It is immutable and may be shared.
public struct PluginRegistry: Sendable {
    /// The ways in.
    public let sources: [any PayloadSource]
    /// The rules, in the order in which they are asked.
    public let rules: [any RoutingRule]

    /// The plugins that are in use.
    ///
    /// - Throws: `invalid-plugin-id` or `duplicate-plugin` if a name is not well-formed or is borne by two plugins, of
    ///   whatever kind.
    public init(sources: [any PayloadSource], rules: [any RoutingRule]) throws(PluginRegistryError) {
        try Self.check(sources.map(\.id) + rules.map(\.id))
        self.sources = sources
        self.rules = rules
    }

    /// The source with that name.
    public func source(_ id: PluginID) -> (any PayloadSource)? {
        sources.first { $0.id == id }
    }

    fileprivate static func check(_ ids: [PluginID]) throws(PluginRegistryError) {
        var known: Set<PluginID> = []
        for id in ids {
            // A plugin may have made its name without a check, since it is most often a constant.
            guard (try? PluginID(id.text)) != nil else {
                let message = "The name of a plugin is not well-formed."
                throw PluginRegistryError(code: "invalid-plugin-id", plugin: id, message: message)
            }
            guard known.insert(id).inserted else {
                let message = "Two plugins are called \(id)."
                throw PluginRegistryError(code: "duplicate-plugin", plugin: id, message: message)
            }
        }
    }
}

/// Why plugins cannot be used together.
public struct PluginRegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Stable and in kebab-case.
    public let code: String
    /// The plugin at fault.
    public let plugin: PluginID
    /// One sentence for people.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// A kind of rule that a configuration can ask for.
public struct RoutingRuleKind: Sendable {
    /// The name of the kind, which its rules bear.
    public let id: PluginID
    /// One line for lists of plugins.
    public let summary: String
    /// Makes a rule of an object of the configuration, in which the field `id` has been read already.
    public let make: @Sendable (JSONValue) throws(PluginConfigurationError) -> any RoutingRule

    /// All parts at once.
    public init(
        id: PluginID, summary: String,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any RoutingRule
    ) {
        self.id = id
        self.summary = summary
        self.make = make
    }
}

/// The kinds of rules that a configuration may name.
public struct RoutingRuleCatalog: Sendable {
    /// The kinds, in the order in which they are listed.
    public let kinds: [RoutingRuleKind]

    /// A catalog of these kinds.
    ///
    /// - Throws: as `PluginRegistry.init` does.
    public init(_ kinds: [RoutingRuleKind]) throws(PluginRegistryError) {
        try PluginRegistry.check(kinds.map(\.id))
        self.kinds = kinds
    }

    /// Makes the rules of a configuration: an array of objects, each with the `id` of a kind and the fields of that
    /// kind. A kind may be used once.
    ///
    /// - Throws: the first fault; its pointer begins at the array.
    public func rules(configuredBy list: JSONValue) throws(PluginConfigurationError) -> [any RoutingRule] {
        guard case .array(let entries) = list else {
            throw PluginConfigurationError(code: "wrong-type", pointer: "", message: "The rules must be an array.")
        }
        var rules: [any RoutingRule] = []
        var used: Set<PluginID> = []
        for (place, entry) in entries.enumerated() {
            do throws(PluginConfigurationError) {
                let kind = try kind(of: entry)
                guard used.insert(kind.id).inserted else {
                    let message = "The rule \(kind.id) is configured twice."
                    throw PluginConfigurationError(code: "duplicate-plugin", pointer: "/id", message: message)
                }
                rules.append(try kind.make(entry))
            } catch {
                throw error.within("/\(place)")
            }
        }
        return rules
    }

    private func kind(of entry: JSONValue) throws(PluginConfigurationError) -> RoutingRuleKind {
        guard case .object(let object) = entry else {
            throw PluginConfigurationError(code: "wrong-type", pointer: "", message: "A rule must be an object.")
        }
        guard let name = object["id"] else {
            throw PluginConfigurationError(code: "missing-field", pointer: "/id", message: "The field id is missing.")
        }
        guard let kind = kinds.first(where: { .string($0.id.text) == name }) else {
            let known = kinds.map(\.id.text).joined(separator: ", ")
            let message = "There is no such rule; the rules are: \(known)."
            throw PluginConfigurationError(code: "unknown-plugin", pointer: "/id", message: message)
        }
        return kind
    }
}
