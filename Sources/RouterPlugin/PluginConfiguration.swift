/// The fields of a plugin's configuration, each read under its name and with its type.
///
/// Fields that the plugin does not know are refused at once, so a misspelt one never goes unnoticed.
public struct PluginConfiguration: Sendable {
    private let object: JSONObject

    /// Takes an object with no other fields than these; `id`, which names the plugin, is always allowed.
    ///
    /// - Throws: `wrong-type` if it is no object, `unknown-field` with the pointer to the field.
    public init(_ value: JSONValue, fields: [String]) throws(PluginConfigurationError) {
        guard case .object(let object) = value else {
            let message = "The configuration must be an object."
            throw PluginConfigurationError(code: "wrong-type", pointer: "", message: message)
        }
        let known = ["id"] + fields
        for member in object.members where !known.contains(where: { sameBytes($0, member.key) }) {
            let pointer =
                "/" + escapedForPointer(String(String.UnicodeScalarView(member.key.unicodeScalars.prefix(64))))
            let message =
                fields.isEmpty
                ? "There is no such field; nothing can be configured here."
                : "There is no such field; the fields are: \(known.joined(separator: ", "))."
            throw PluginConfigurationError(code: "unknown-field", pointer: pointer, message: message)
        }
        self.object = object
    }

    /// Takes an object with no other fields than those of a manifest; `id` is always allowed.
    ///
    /// - Throws: `wrong-type` if it is no object, `unknown-field` with the pointer to the field.
    public init(_ value: JSONValue, declared fields: [PluginField]) throws(PluginConfigurationError) {
        try self.init(value, fields: fields.map(\.name))
    }

    /// The text of a field, nil if the field is missing.
    public func string(_ field: String) throws(PluginConfigurationError) -> String? {
        guard let value = value(field) else { return nil }
        guard case .string(let text) = value else { throw wrongType(of: field, expected: "a string") }
        return text
    }

    /// The value of a field, whatever its type; nil if the field is missing or null.
    public func value(_ field: String) -> JSONValue? { object[field] == .null ? nil : object[field] }

    /// The object of a field, nil if the field is missing.
    public func object(_ field: String) throws(PluginConfigurationError) -> JSONValue? {
        guard let value = value(field) else { return nil }
        guard case .object = value else { throw wrongType(of: field, expected: "an object") }
        return value
    }

    /// The whole number of a field within a range, nil if the field is missing.
    public func integer(
        _ field: String, in range: ClosedRange<Int64> = .min ... .max
    ) throws(PluginConfigurationError) -> Int64? {
        guard let value = value(field) else { return nil }
        guard let number = value.asInt64 else { throw wrongType(of: field, expected: "a whole number") }
        guard range.contains(number) else {
            throw invalid(field, because: "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The truth value of a field, nil if the field is missing.
    public func boolean(_ field: String) throws(PluginConfigurationError) -> Bool? {
        guard let value = value(field) else { return nil }
        guard case .bool(let flag) = value else { throw wrongType(of: field, expected: "true or false") }
        return flag
    }

    /// The texts of a field that is an array of strings, nil if the field is missing.
    public func strings(_ field: String) throws(PluginConfigurationError) -> [String]? {
        guard let value = value(field) else { return nil }
        guard case .array(let elements) = value else { throw wrongType(of: field, expected: "an array of strings") }
        var texts: [String] = []
        for (place, element) in elements.enumerated() {
            guard case .string(let text) = element else {
                throw wrongType(of: "\(field)/\(place)", expected: "a string")
            }
            texts.append(text)
        }
        return texts
    }

    /// The priority of a field, written as `apns-priority` is: 1, 5 or 10; nil if the field is missing.
    public func priority(_ field: String) throws(PluginConfigurationError) -> Priority? {
        guard let number = try integer(field) else { return nil }
        guard let priority = Priority(rawValue: Int(number)) else {
            throw invalid(field, because: "must be 1, 5 or 10")
        }
        return priority
    }

    /// The applications that a field names, nil if the field is missing.
    public func applications(_ field: String) throws(PluginConfigurationError) -> Set<ApplicationID>? {
        guard let names = try strings(field) else { return nil }
        var applications: Set<ApplicationID> = []
        for (place, name) in names.enumerated() {
            guard let application = try? ApplicationID(name) else {
                throw invalid("\(field)/\(place)", because: "must be the name of an application")
            }
            applications.insert(application)
        }
        return applications
    }

    /// The value, which must not be missing.
    public func required<Value>(_ field: String, _ value: Value?) throws(PluginConfigurationError) -> Value {
        guard let value else {
            let message = "The field \(field) is missing."
            throw PluginConfigurationError(code: "missing-field", pointer: "/\(field)", message: message)
        }
        return value
    }

    /// The error for a value that has the right type and is still refused; the reason completes "The field x …".
    public func invalid(_ field: String, because reason: String) -> PluginConfigurationError {
        let message = "The field \(field) \(reason)."
        return PluginConfigurationError(code: "invalid-value", pointer: "/\(field)", message: message)
    }

    private func wrongType(of field: String, expected: String) -> PluginConfigurationError {
        let message = "The field \(field) must be \(expected)."
        return PluginConfigurationError(code: "wrong-type", pointer: "/\(field)", message: message)
    }
}

/// The reason why a plugin cannot be made from its configuration.
public struct PluginConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Stable and in kebab-case: `wrong-type`, `unknown-field`, `missing-field`, `invalid-value`, `unknown-plugin`,
    /// `duplicate-plugin`, or a plugin's own.
    public let code: String
    /// RFC 6901: the value at fault, from the plugin's own object on.
    public let pointer: String
    /// One or two sentences for people.
    public let message: String

    /// All parts at once.
    public init(code: String, pointer: String, message: String) {
        self.code = code
        self.pointer = pointer
        self.message = message
    }

    /// The same error as seen from a document that holds the plugin's object at that pointer.
    public func within(_ pointer: String) -> PluginConfigurationError {
        PluginConfigurationError(code: code, pointer: pointer + self.pointer, message: message)
    }

    /// The pointer and the message.
    public var description: String { "\(pointer): \(message)" }
}
