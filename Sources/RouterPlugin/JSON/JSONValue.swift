/// A JSON document as a tree.
///
/// Nothing is lost on the way in and out: numbers keep their text, objects keep the order of their members, strings
/// are compared by their bytes. A value is immutable data and safe to share between threads.
public enum JSONValue: Hashable, Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number as written.
    case number(JSONNumber)
    /// A string without its escapes.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members in order, no key twice.
    case object(JSONObject)

    /// Reads a document strictly as RFC 8259 has it, in UTF-8, with no key twice in an object.
    ///
    /// The work is linear in the size, whatever the document holds.
    ///
    /// - Throws: the first fault with its place.
    public init(parsing bytes: [UInt8], limits: JSONLimits = .ingest) throws(JSONError) {
        self = try JSONScanner<JSONTreeBuilder>.run(over: bytes, limits: limits, visitor: JSONTreeBuilder()).result
    }

    /// The kind of value.
    public var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// The truth value, if it is one.
    public var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The whole number, if it is one that fits; see `JSONNumber.asInt64`.
    public var asInt64: Int64? { if case .number(let value) = self { value.asInt64 } else { nil } }

    /// The nearest double, if it is a number; see `JSONNumber.asDouble`.
    public var asDouble: Double? { if case .number(let value) = self { value.asDouble } else { nil } }

    /// The text, if it is a string.
    public var asString: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var asArray: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, if it is an object.
    public var asObject: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The member with that key, if it is an object that has one.
    public subscript(key: String) -> JSONValue? { asObject?[key] }

    /// Whether both are the same: strings by their bytes, numbers by their text, objects whatever their order.
    public static func == (lhs: JSONValue, rhs: JSONValue) -> Bool {
        switch (lhs, rhs) {
        case (.null, .null): true
        case (.bool(let lhs), .bool(let rhs)): lhs == rhs
        case (.number(let lhs), .number(let rhs)): lhs == rhs
        case (.string(let lhs), .string(let rhs)): sameBytes(lhs, rhs)
        case (.array(let lhs), .array(let rhs)): lhs == rhs
        case (.object(let lhs), .object(let rhs)): lhs == rhs
        default: false
        }
    }

    /// Feeds what `==` looks at.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hashBytes(of: value, into: &hasher)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }
}

/// The six kinds of JSON values.
public enum JSONKind: String, CaseIterable, Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool
    /// A number.
    case number
    /// A string.
    case string
    /// An array.
    case array
    /// An object.
    case object
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }
    /// `true` or `false`
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of a key written twice the later value stays.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}
