package import PredicateEngine
package import RouterPlugin

extension PayloadValue {
    /// The value of a JSON document for predicates. Recurses as deep as the document nests, which `JSONLimits` bounds.
    package init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool(let value): .boolean(value)
            case .number(let number): Self.value(of: number)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map(PayloadValue.init))
            case .object(let object): .object(PayloadObject(object.members.map { ($0.key, PayloadValue($0.value)) }))
            }
    }

    /// A whole number within `Int64`, however it is written, else the nearest double. Beyond the greatest double it is
    /// the greatest one, so that order stays right.
    private static func value(of number: JSONNumber) -> PayloadValue {
        if let whole = number.asInt64 { return .integer(whole) }
        let greatest = Double.greatestFiniteMagnitude
        let nearest = number.asDouble ?? (number.text.utf8.first == UInt8(ascii: "-") ? -greatest : greatest)
        return .double(nearest) ?? .null
    }
}
