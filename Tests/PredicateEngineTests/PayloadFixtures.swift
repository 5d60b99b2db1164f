import Foundation
import Testing

@testable import PredicateEngine

/// One entry of `Fixtures/payload-predicates.json`.
struct PayloadVector: Decodable, Sendable, CustomTestStringConvertible {
    var id: String
    var predicate: String
    var arguments: [DecodedPayload]?
    var payload: DecodedPayload
    var expect: Vector.Expectation
    var error: String?
    var why: String

    var testDescription: String { id }
}

/// A payload, or an argument, as Foundation reads it.
struct DecodedPayload: Decodable {
    let value: PayloadValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let boolean = try? container.decode(Bool.self) {
            value = .boolean(boolean)
        } else if let whole = try? container.decode(Int64.self) {
            value = .integer(whole)
        } else if let number = try? container.decode(Double.self) {
            value = try #require(.double(number))
        } else if let text = try? container.decode(String.self) {
            value = .string(text)
        } else if let elements = try? container.decode([DecodedPayload].self) {
            value = .array(elements.map(\.value))
        } else {
            let members = try container.decode([MemberName: DecodedPayload].self)
            value = .object(PayloadObject(members.map { ($0.key.text, $0.value.value) }))
        }
    }

    /// A name that is not equal to its other normalization, unlike `String`.
    private struct MemberName: Hashable, Decodable, CodingKeyRepresentable, CodingKey {
        let text: String

        init(codingKey: some CodingKey) { text = codingKey.stringValue }
        init(stringValue: String) { text = stringValue }
        init?(intValue: Int) { nil }

        var codingKey: any CodingKey { self }
        var stringValue: String { text }
        var intValue: Int? { nil }

        static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
        func hash(into hasher: inout Hasher) { hasher.combine(Array(text.utf8)) }
    }

    /// The value as an argument of a predicate.
    var argument: PredicateArgument { get throws { try Self.argument(value) } }

    private static func argument(_ value: PayloadValue) throws -> PredicateArgument {
        switch value {
        case .null: .null
        case .boolean(let value): .bool(value)
        case .number(.integer(let value)): .integer(value)
        case .number(.double(let value)): .number(value)
        case .text(let text): .string(text.string)
        case .array(let elements): .list(try elements.map(argument))
        case .object: try #require(nil, "an object is no argument")
        }
    }
}

extension Fixture {
    static func payloadVectors() throws -> [PayloadVector] {
        try JSONDecoder().decode([PayloadVector].self, from: Data(contentsOf: url("payload-predicates.json")))
    }
}
