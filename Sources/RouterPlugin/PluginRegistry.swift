/// The plugins that are in use, each under its own name.
///
/// A registry is a value that the program builds and passes on; there is no global one, and nothing registers itself.
/// It is immutable and may be shared.
public struct PluginRegistry: Sendable {
    /// The kinds of sources that can be configured.
    public let sourceKinds: [PayloadSourceKind]
    /// The rules, in the order in which they are asked.
    public let rules: [any RoutingRule]
    /// The validators of new passcodes, in the order in which they are asked.
    public let passcodeValidators: [any PasscodeValidator]
    /// The observers that applications and sessions may register by name.
    public let observers: [any SceneObserver]
    /// The kinds of formats that endpoints may ask for.
    public let deliveryFormatKinds: [DeliveryFormatKind]

    /// The plugins that are in use.
    ///
    /// - Throws: `invalid-plugin-id` or `duplicate-plugin` if a name is not well-formed or is borne by two plugins, of
    ///   whatever kind.
    public init(
        sourceKinds: [PayloadSourceKind], rules: [any RoutingRule], passcodeValidators: [any PasscodeValidator] = [],
        observers: [any SceneObserver] = [], deliveryFormatKinds: [DeliveryFormatKind] = []
    ) throws(PluginRegistryError) {
        try Self.check(
            sourceKinds.map(\.id) + rules.map(\.id) + passcodeValidators.map(\.id) + observers.map(\.id)
                + deliveryFormatKinds.map(\.id))
        self.sourceKinds = sourceKinds
        self.rules = rules
        self.passcodeValidators = passcodeValidators
        self.observers = observers
        self.deliveryFormatKinds = deliveryFormatKinds
    }

    /// The kind of source with that name; `routerd.source.` may be left out.
    public func sourceKind(named name: String) -> PayloadSourceKind? {
        sourceKinds.first { sameBytes($0.id.text, name) || sameBytes($0.id.text, "routerd.source." + name) }
    }

    static func check(_ ids: [PluginID]) throws(PluginRegistryError) {
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

/// The reason why plugins cannot be used together.
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
