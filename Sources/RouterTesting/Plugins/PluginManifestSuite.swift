public import RouterPlugin

/// Checks that a manifest describes the configuration that its plugin reads.
///
/// Use it from any test framework, with a configuration that the plugin accepts and that has as many fields as possible:
///
///     #expect(PluginManifestSuite.violations(of: MyRule.kind, example: ["roles": ["kiosk"]]) == [])
///
/// The suite checks that
/// 1. the id and the version are well-formed, and every summary is one line that ends with a full stop;
/// 2. a default has the type of its field and is one of its choices;
/// 3. the plugin accepts the example and refuses a field that the manifest does not have;
/// 4. omitting a required field is refused, and omitting any other field is not;
/// 5. a value of another type than the field's, and a value beside its choices, is refused with a pointer to the field.
public enum PluginManifestSuite: Sendable {
    /// The differences between a kind's manifest and its behaviour, one sentence each; empty if the kind conforms.
    public static func violations<Plugin>(of kind: PluginKind<Plugin>, example: JSONValue = [:]) -> [String] {
        violations(of: kind.manifest, example: example) { (value) throws(PluginConfigurationError) in
            _ = try kind.make(value)
        }
    }

    /// The differences between a kind's manifest and its behaviour, one sentence each; empty if the kind conforms.
    public static func violations(of kind: PayloadSourceKind, example: JSONValue = [:]) -> [String] {
        violations(of: kind.manifest, example: example) { (value) throws(PluginConfigurationError) in
            _ = try kind.make(value)
        }
    }

    private static func violations(
        of manifest: PluginManifest, example: JSONValue,
        make: (JSONValue) throws(PluginConfigurationError) -> Void
    ) -> [String] {
        var violations = Violations()
        violations.requireWellFormed(manifest.id, again: manifest.id)
        check(manifest.summary, of: "the plugin", into: &violations)
        do throws(PluginRegistryError) {
            _ = try PluginSet(rules: [RoutingRuleKind(copying: manifest)])
        } catch {
            violations.add("manifest: \(error.code)")
        }
        if let error = fault(of: example, make) { violations.add("example: refused with \(error)") }
        let unknown = fault(of: changed(example, "no such field", to: true), make)
        violations.require(
            unknown?.code == "unknown-field" && unknown?.pointer == "/no such field",
            "unknown field: accepted, or refused for another reason")
        for field in manifest.fields {
            check(field, into: &violations)
            check(field, example, make, into: &violations)
        }
        return violations.list
    }

    private static func check(_ summary: String, of owner: String, into violations: inout Violations) {
        violations.require(
            isOneLine(summary) && summary.hasSuffix(".") && summary.utf8.count > 1,
            "summary: that of \(owner) is not one line that ends with a full stop")
    }

    /// Checks the field's description by itself.
    private static func check(_ field: PluginField, into violations: inout Violations) {
        check(field.summary, of: field.name, into: &violations)
        for value in field.choices {
            violations.require(field.type.includes(value), "choices: one of \(field.name) has another type")
        }
        guard let value = field.defaultValue else { return }
        violations.require(field.type.includes(value), "default: that of \(field.name) has another type")
        violations.require(
            field.choices.isEmpty || field.choices.contains(value), "default: that of \(field.name) is not a choice")
    }

    /// Checks the field's description against the plugin.
    private static func check(
        _ field: PluginField, _ example: JSONValue, _ make: (JSONValue) throws(PluginConfigurationError) -> Void,
        into violations: inout Violations
    ) {
        let missing = fault(of: changed(example, field.name, to: nil), make)
        let isMissed = missing?.code == "missing-field" && missing?.pointer == "/\(field.name)"
        violations.require(
            isMissed == field.isRequired,
            field.isRequired ? "required: \(field.name) is not missed" : "required: \(field.name) is missed")
        var wrong = field.type.otherValue.map { [$0] } ?? []
        if let choice = field.choices.first { wrong.append(beside(choice, field.choices)) }
        for value in wrong {
            let error = fault(of: changed(example, field.name, to: value), make)
            violations.require(
                error?.pointer == "/\(field.name)" && ["wrong-type", "invalid-value"].contains(error?.code),
                "type: \(field.name) accepts \(String(decoding: value.serialized(), as: UTF8.self))")
        }
    }

    private static func fault(
        of value: JSONValue, _ make: (JSONValue) throws(PluginConfigurationError) -> Void
    ) -> PluginConfigurationError? {
        do throws(PluginConfigurationError) {
            try make(value)
            return nil
        } catch {
            return error
        }
    }

    private static func changed(_ example: JSONValue, _ field: String, to value: JSONValue?) -> JSONValue {
        var object = example.asObject ?? JSONObject()
        object[field] = value
        return .object(object)
    }

    /// A value of the same type as a choice that is not in the list.
    private static func beside(_ choice: JSONValue, _ choices: [JSONValue]) -> JSONValue {
        guard let text = choice.asString else {
            return .number(JSONNumber((choices.compactMap(\.asInt64).max() ?? 0) + 1))
        }
        return .string(choices.reduce(text) { $0 + ($1.asString ?? "") } + "+")
    }
}

extension PluginField.ValueType {
    /// Whether a value has this type.
    fileprivate func includes(_ value: JSONValue) -> Bool {
        switch self {
        case .string: value.asString != nil
        case .integer: value.asInt64 != nil
        case .boolean: value.asBool != nil
        case .strings: value.asArray?.allSatisfy { $0.asString != nil } ?? false
        case .object: value.asObject != nil
        case .any: true
        }
    }

    /// A value of another type; nil for a field that accepts values of several types.
    fileprivate var otherValue: JSONValue? {
        switch self {
        case .string, .strings, .object, .boolean: 7
        case .integer: "seven"
        case .any: nil
        }
    }
}

extension RoutingRuleKind {
    /// A kind with the name, version and fields of another manifest, for the checks of `PluginSet`.
    fileprivate init(copying manifest: PluginManifest) {
        self.init(id: manifest.id, version: manifest.version, summary: manifest.summary, fields: manifest.fields) {
            (_) throws(PluginConfigurationError) in
            throw PluginConfigurationError(code: "not-made", pointer: "", message: "A copy makes no rule.")
        }
    }
}
