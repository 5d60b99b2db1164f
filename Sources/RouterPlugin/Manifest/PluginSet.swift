/// The kinds of plugins that a program offers to its configuration and to the endpoints of its applications.
///
/// A program builds the value and passes it on; there is no global set, and no plugin registers itself.
///
///     let plugins = try BuiltInPlugins.all.adding(rules: [NoKiosks.kind])
///
/// Invariant: no two kinds have the same name, whatever they extend; names and versions are well-formed; no kind has
/// two fields of the same name.
public struct PluginSet: Sendable {
    /// The kinds of sources.
    public let sources: [PayloadSourceKind]
    /// The kinds of rules.
    public let rules: [RoutingRuleKind]
    /// The kinds of passcode validators.
    public let passcodeValidators: [PasscodeValidatorKind]
    /// The kinds of formats.
    public let deliveryFormats: [DeliveryFormatKind]
    /// The kinds of observers.
    public let observers: [SceneObserverKind]

    /// A set of these kinds.
    ///
    /// - Throws: `invalid-plugin-id`, `duplicate-plugin`, `invalid-plugin-version` or `duplicate-field`.
    public init(
        sources: [PayloadSourceKind] = [], rules: [RoutingRuleKind] = [],
        passcodeValidators: [PasscodeValidatorKind] = [], deliveryFormats: [DeliveryFormatKind] = [],
        observers: [SceneObserverKind] = []
    ) throws(PluginRegistryError) {
        self.sources = sources
        self.rules = rules
        self.passcodeValidators = passcodeValidators
        self.deliveryFormats = deliveryFormats
        self.observers = observers
        try PluginRegistry.check(manifests.map(\.id))
        for manifest in manifests { try Self.check(manifest) }
    }

    /// This set and further kinds, which are listed behind those that are there.
    ///
    /// - Throws: as `init` does.
    public func adding(
        sources: [PayloadSourceKind] = [], rules: [RoutingRuleKind] = [],
        passcodeValidators: [PasscodeValidatorKind] = [], deliveryFormats: [DeliveryFormatKind] = [],
        observers: [SceneObserverKind] = []
    ) throws(PluginRegistryError) -> PluginSet {
        try PluginSet(
            sources: self.sources + sources, rules: self.rules + rules,
            passcodeValidators: self.passcodeValidators + passcodeValidators,
            deliveryFormats: self.deliveryFormats + deliveryFormats, observers: self.observers + observers)
    }

    /// The manifests of all kinds: sources, rules, validators, formats, observers.
    public var manifests: [PluginManifest] {
        sources.map(\.manifest) + rules.map(\.manifest) + passcodeValidators.map(\.manifest)
            + deliveryFormats.map(\.manifest) + observers.map(\.manifest)
    }

    private static func check(_ manifest: PluginManifest) throws(PluginRegistryError) {
        guard manifest.hasValidVersion else {
            let message = "The version of \(manifest.id) is not of the form 1.2.3."
            throw PluginRegistryError(code: "invalid-plugin-version", plugin: manifest.id, message: message)
        }
        // Every configuration may have the field `id`, which names the plugin.
        var names: Set<ByteExactText> = [ByteExactText("id")]
        for field in manifest.fields where !names.insert(ByteExactText(field.name)).inserted {
            let message = "The plugin \(manifest.id) declares the field \(field.name) twice or under a reserved name."
            throw PluginRegistryError(code: "duplicate-field", plugin: manifest.id, message: message)
        }
    }
}
