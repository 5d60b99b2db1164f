/// A kind of plugin that a configuration can name: its manifest, and the function that makes a plugin.
public struct PluginKind<Plugin: Sendable>: Sendable {
    /// The description that `routerd plugins` prints.
    public let manifest: PluginManifest
    /// Makes a plugin of an object of the configuration, in which the field `id` has been read already.
    public let make: @Sendable (JSONValue) throws(PluginConfigurationError) -> Plugin

    /// The name of the kind, which its plugins bear.
    public var id: PluginID { manifest.id }
    /// The effect of the plugin in one line.
    public var summary: String { manifest.summary }

    /// Whether a configuration may use it more than once: its plugins have names of their own.
    package let isRepeatable: Bool
    /// Whether an entry without an id is of this kind.
    package let isUsual: Bool

    fileprivate init(
        _ manifest: PluginManifest, isRepeatable: Bool = false, isUsual: Bool = false,
        _ make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> Plugin
    ) {
        self.manifest = manifest
        self.isRepeatable = isRepeatable
        self.isUsual = isUsual
        self.make = make
    }
}

/// A kind of rule that a configuration can name.
public typealias RoutingRuleKind = PluginKind<any RoutingRule>

extension RoutingRuleKind {
    /// A kind of rule; `fields` are the fields that `make` reads.
    public init(
        id: PluginID, version: String = "1.0.0", summary: String, status: PluginManifest.Status = .stable,
        fields: [PluginField] = [], permissions: PluginPermissions = .none,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any RoutingRule
    ) {
        self.init(
            PluginManifest(
                id: id, version: version, kind: .rule, summary: summary, status: status, fields: fields,
                commonFields: RuleTerms.common(beside: fields), permissions: permissions), make)
    }
}

extension RoutingRuleKind {
    /// A kind whose rules have names of their own, so that a configuration may use it more than once.
    package init(
        id: PluginID, summary: String, fields: [PluginField], permissions: PluginPermissions = .none,
        isRepeatable: Bool, isUsual: Bool = false,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any RoutingRule
    ) {
        let manifest = PluginManifest(
            id: id, version: "1.0.0", kind: .rule, summary: summary, status: .experimental, fields: fields,
            commonFields: isUsual ? [RuleTerms.mode] : [], permissions: permissions, isUsual: isUsual)
        self.init(manifest, isRepeatable: isRepeatable, isUsual: isUsual, make)
    }
}

/// A kind of observer that a configuration can name.
public typealias SceneObserverKind = PluginKind<any SceneObserver>

extension SceneObserverKind {
    /// A kind of observer; `fields` are the fields that `make` reads.
    public init(
        id: PluginID, version: String = "1.0.0", summary: String, status: PluginManifest.Status = .stable,
        fields: [PluginField] = [], permissions: PluginPermissions = .none,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any SceneObserver
    ) {
        self.init(
            PluginManifest(
                id: id, version: version, kind: .observer, summary: summary, status: status, fields: fields,
                permissions: permissions), make)
    }
}

/// A kind of passcode validator that a configuration can name.
public typealias PasscodeValidatorKind = PluginKind<any PasscodeValidator>

extension PasscodeValidatorKind {
    /// A kind of validator; `fields` are the fields that `make` reads.
    public init(
        id: PluginID, version: String = "1.0.0", summary: String, status: PluginManifest.Status = .stable,
        fields: [PluginField] = [], permissions: PluginPermissions = .none,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any PasscodeValidator
    ) {
        self.init(
            PluginManifest(
                id: id, version: version, kind: .validator, summary: summary, status: status, fields: fields,
                permissions: permissions), make)
    }
}

/// A kind of format that an endpoint can ask for.
///
/// `make` is given the options of the endpoint's format, an object in which `id` has been read already, and refuses
/// options that it does not know. It is called when the endpoint is registered and when the daemon first needs the
/// format, so options that were accepted before must stay acceptable.
public typealias DeliveryFormatKind = PluginKind<any DeliveryFormat>

extension DeliveryFormatKind {
    /// A kind of format; `fields` are the options that `make` reads.
    public init(
        id: PluginID, version: String = "1.0.0", summary: String, status: PluginManifest.Status = .stable,
        fields: [PluginField] = [], permissions: PluginPermissions = .none,
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any DeliveryFormat
    ) {
        self.init(
            PluginManifest(
                id: id, version: version, kind: .format, summary: summary, status: status, fields: fields,
                permissions: permissions), make)
    }
}
