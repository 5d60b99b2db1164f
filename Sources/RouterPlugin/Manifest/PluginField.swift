/// A field of a plugin's configuration, as the plugin's manifest describes it.
///
///     PluginField("start", .string, .required, unit: "HH:MM", summary: "The start of the quiet hours.")
///     PluginField("belowPriority", .integer, .byDefault(10), among: [1, 5, 10], summary: "The least priority that is not held.")
public struct PluginField: Hashable, Sendable {
    /// The form of a value in JSON.
    public enum ValueType: String, CaseIterable, Sendable {
        /// A string.
        case string
        /// A whole number.
        case integer
        /// `true` or `false`.
        case boolean
        /// An array of strings.
        case strings
        /// An object.
        case object
        /// A value of more than one form; the summary says which.
        case any
    }

    /// The consequence of leaving a field out.
    public enum Presence: Hashable, Sendable {
        /// The configuration is refused.
        case required
        /// The plugin goes without a value.
        case optional
        /// The plugin takes this value.
        case byDefault(JSONValue)
    }

    /// The key in the configuration.
    public let name: String
    /// The form of the value.
    public let type: ValueType
    /// The consequence of leaving the field out.
    public let presence: Presence
    /// The unit or the format of the value, such as `seconds` or `HH:MM`; nil if it has none.
    public let unit: String?
    /// The only values that are accepted; empty if there is no such list.
    public let choices: [JSONValue]
    /// The meaning of the value in one sentence.
    public let summary: String

    /// A field with all that its author says of it.
    public init(
        _ name: String, _ type: ValueType, _ presence: Presence = .optional, unit: String? = nil,
        among choices: [JSONValue] = [], summary: String
    ) {
        self.name = name
        self.type = type
        self.presence = presence
        self.unit = unit
        self.choices = choices
        self.summary = summary
    }

    /// Whether the configuration is refused without the field.
    public var isRequired: Bool { presence == .required }

    /// The value that applies if the field is left out; nil if there is none.
    public var defaultValue: JSONValue? { if case .byDefault(let value) = presence { value } else { nil } }

    /// The field as a JSON object. `unit`, `default` and `choices` are members only where the field has them.
    public var json: JSONValue {
        var object = JSONObject()
        object["name"] = .string(name)
        object["type"] = .string(type.rawValue)
        object["required"] = .bool(isRequired)
        object["unit"] = unit.map(JSONValue.string)
        object["default"] = defaultValue
        object["choices"] = choices.isEmpty ? nil : .array(choices)
        object["summary"] = .string(summary)
        return .object(object)
    }
}
