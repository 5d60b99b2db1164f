/// The description of a plugin: name, version, kind, status, and the fields of its configuration.
///
/// `routerd plugins` prints manifests. The initializers of `RoutingRuleKind`, `PayloadSourceKind`, `SceneObserverKind`,
/// `PasscodeValidatorKind` and `DeliveryFormatKind` make them, each with its own `kind`.
public struct PluginManifest: Hashable, Sendable {
    /// The part of the router that a plugin extends.
    public enum Kind: String, CaseIterable, Sendable {
        /// A `PayloadSource`.
        case source
        /// A `RoutingRule`.
        case rule
        /// A `PasscodeValidator`.
        case validator
        /// A `DeliveryFormat`.
        case format
        /// A `SceneObserver`.
        case observer
    }

    /// The promise of a plugin's author about its name and its fields.
    public enum Status: String, CaseIterable, Sendable {
        /// Configurations that are valid today stay valid in every version with the same first number.
        case stable
        /// Fields may change in any version.
        case experimental
        /// A later version will not have the plugin; the summary names the replacement.
        case deprecated
    }

    /// The name in configurations, such as `com.example.rule.no-kiosks`.
    public let id: PluginID
    /// The version of the plugin as three numbers, such as `1.2.0`.
    public let version: String
    /// The part of the router that the plugin extends.
    public let kind: Kind
    /// The effect of the plugin in one line.
    public let summary: String
    /// The promise of the plugin's author.
    public let status: Status
    /// The fields of the configuration, in the order in which they are documented.
    public let fields: [PluginField]
    /// The fields that every plugin of the kind may have beside its own; the router reads them.
    public let commonFields: [PluginField]
    /// The places beyond its arguments that the plugin reaches.
    public let permissions: PluginPermissions
    /// Whether an entry of a configuration may leave the id out.
    package let isUsual: Bool

    init(
        id: PluginID, version: String, kind: Kind, summary: String, status: Status, fields: [PluginField],
        commonFields: [PluginField] = [], permissions: PluginPermissions = .none, isUsual: Bool = false
    ) {
        self.commonFields = commonFields
        self.permissions = permissions
        self.isUsual = isUsual
        self.id = id
        self.version = version
        self.kind = kind
        self.summary = summary
        self.status = status
        self.fields = fields
    }

    /// Whether the version is three numbers without leading zeros, with dots between them.
    var hasValidVersion: Bool {
        let parts = version.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3
            && parts.allSatisfy { part in
                (1...9).contains(part.count) && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                    && (part.count == 1 || part.first != UInt8(ascii: "0"))
            }
    }
}

extension PluginManifest {
    /// The manifest as a JSON object; `fields` is an array in the order of the manifest, and `schema` describes the same
    /// fields for programs.
    public var json: JSONValue {
        [
            "id": .string(id.text), "version": .string(version), "kind": .string(kind.rawValue),
            "status": .string(status.rawValue), "summary": .string(summary), "permissions": permissions.json,
            "fields": .array((fields + commonFields).map(\.json)), "schema": .object(schema),
        ]
    }
}
