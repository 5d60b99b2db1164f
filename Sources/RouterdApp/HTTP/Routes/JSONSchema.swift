package import RouterPlugin

/// A JSON Schema (draft 2020-12) as a value, as OpenAPI 3.1 uses them.
package struct JSONSchema: Hashable, Sendable {
    /// The schema as a document.
    package var json: JSONObject

    private init(_ members: [(String, JSONValue)]) {
        json = JSONObject()
        for (key, value) in members { json[key] = value }
    }

    /// Any value.
    package static let anything = JSONSchema([])
    package static let text = JSONSchema([("type", "string")])
    package static let flag = JSONSchema([("type", "boolean")])
    package static let number = JSONSchema([("type", "number")])
    package static let whole = JSONSchema([("type", "integer")])
    package static let count = JSONSchema([("type", "integer"), ("minimum", 0)])
    /// RFC 3339 in UTC.
    package static let time = JSONSchema([("type", "string"), ("format", "date-time")])
    static let uuid = JSONSchema([("type", "string"), ("format", "uuid")])
    /// An object with any members.
    package static let document = JSONSchema([("type", "object")])

    package static func whole(_ range: ClosedRange<Int64>) -> JSONSchema {
        JSONSchema([
            ("type", "integer"), ("minimum", .number(JSONNumber(range.lowerBound))),
            ("maximum", .number(JSONNumber(range.upperBound))),
        ])
    }

    /// One of some texts.
    package static func oneOf(_ texts: [String]) -> JSONSchema {
        JSONSchema([("type", "string"), ("enum", .array(texts.map { .string($0) }))])
    }

    package static func list(of element: JSONSchema) -> JSONSchema {
        JSONSchema([("type", "array"), ("items", .object(element.json))])
    }

    /// An object whose members all have the schema.
    package static func map(of element: JSONSchema) -> JSONSchema {
        JSONSchema([("type", "object"), ("additionalProperties", .object(element.json))])
    }

    /// A schema of ``ResourceSchemas``, by its name.
    package static func named(_ name: String) -> JSONSchema {
        JSONSchema([("$ref", .string("#/components/schemas/\(name)"))])
    }

    package static func anyOf(_ schemas: [JSONSchema]) -> JSONSchema {
        JSONSchema([("anyOf", .array(schemas.map { .object($0.json) }))])
    }

    /// A member of an object.
    package struct Member: Sendable {
        let name: String
        let schema: JSONSchema
        let isRequired: Bool

        package init(_ name: String, _ schema: JSONSchema, isRequired: Bool) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }
    }

    /// An object of an answer: it has these members and no others; `optional` ones may be left out.
    package static func object(
        _ required: KeyValuePairs<String, JSONSchema>, optional: KeyValuePairs<String, JSONSchema> = [:]
    ) -> JSONSchema {
        object(
            required.map { Member($0.key, $0.value, isRequired: true) }
                + optional.map { Member($0.key, $0.value, isRequired: false) })
    }

    /// An object of a request: an unknown member is refused, and null counts as left out.
    package static func request(
        _ optional: KeyValuePairs<String, JSONSchema>, required: KeyValuePairs<String, JSONSchema> = [:]
    ) -> JSONSchema {
        object(
            required.map { Member($0.key, $0.value, isRequired: true) }
                + optional.map { Member($0.key, $0.value.orNull, isRequired: false) })
    }

    static func object(_ members: [Member]) -> JSONSchema {
        var properties = JSONObject()
        for member in members { properties[member.name] = .object(member.schema.json) }
        var schema = JSONSchema([
            ("type", "object"), ("properties", .object(properties)), ("additionalProperties", false),
        ])
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema.json["required"] = .array(required) }
        return schema
    }

    /// The same, or null.
    package var orNull: JSONSchema {
        if json.isEmpty { return self }
        if let type = json["type"]?.asString, json["enum"] == nil {
            var schema = self
            schema.json["type"] = [.string(type), "null"]
            return schema
        }
        return .anyOf([self, JSONSchema([("type", "null")])])
    }

    /// The same with a sentence for readers.
    package func described(_ sentence: String) -> JSONSchema {
        var schema = self
        schema.json["description"] = .string(sentence)
        return schema
    }

    /// The same for texts of a number of characters.
    package func ofLength(_ range: ClosedRange<Int64>) -> JSONSchema {
        var schema = self
        schema.json["minLength"] = .number(JSONNumber(range.lowerBound))
        schema.json["maxLength"] = .number(JSONNumber(range.upperBound))
        return schema
    }
}
