import RouterPlugin
import RouterdApp

/// Compares values with the schemas of the API: the keywords that `JSONSchema` writes, and no others.
struct SchemaCheck {
    private let schemas = Dictionary(uniqueKeysWithValues: ResourceSchemas.all.map { ($0.name, $0.schema) })

    /// The first difference, with its pointer; nil if the value is as the schema says.
    func fault(in value: JSONValue, _ schema: JSONSchema) -> String? {
        fault(in: value, .object(schema.json), at: "")
    }

    private func fault(in value: JSONValue, _ schema: JSONValue, at pointer: String) -> String? {
        if let reference = schema["$ref"]?.asString {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            guard let named = schemas[name] else { return "\(pointer): there is no schema \(name)" }
            return fault(in: value, .object(named.json), at: pointer)
        }
        if let choices = schema["anyOf"]?.asArray {
            let faults = choices.map { fault(in: value, $0, at: pointer) }
            return faults.contains(nil) ? nil : faults.compactMap(\.self).joined(separator: "; or ")
        }
        if let types = schema["type"].map({ $0.asArray ?? [$0] }), !types.contains(where: { isOf($0, value) }) {
            return "\(pointer): \(value) is not of \(types)"
        }
        if let texts = schema["enum"]?.asArray, !texts.contains(value) { return "\(pointer): \(value) is not listed" }
        switch value {
        case .object(let object): return fault(in: object, schema, at: pointer)
        case .array(let elements):
            guard let items = schema["items"] else { return nil }
            for (place, element) in elements.enumerated() {
                if let fault = fault(in: element, items, at: "\(pointer)/\(place)") { return fault }
            }
        case .number(let number):
            let (least, most) = (schema["minimum"]?.asInt64 ?? .min, schema["maximum"]?.asInt64 ?? .max)
            if let whole = number.asInt64, least > whole || most < whole {
                return "\(pointer): \(whole) is out of range"
            }
        case .string, .bool, .null: break
        }
        return nil
    }

    private func fault(in object: JSONObject, _ schema: JSONValue, at pointer: String) -> String? {
        for name in schema["required"]?.asArray ?? [] where object[name.asString ?? ""] == nil {
            return "\(pointer): \(name) is missing"
        }
        for member in object.members {
            let place = "\(pointer)/\(member.key)"
            if let known = schema["properties"]?[member.key] {
                if let fault = fault(in: member.value, known, at: place) { return fault }
            } else if let others = schema["additionalProperties"] {
                if others == .bool(false) { return "\(place) is not in the schema" }
                if let fault = fault(in: member.value, others, at: place) { return fault }
            }
        }
        return nil
    }

    private func isOf(_ type: JSONValue, _ value: JSONValue) -> Bool {
        switch (type.asString, value) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("number", .number),
            ("null", .null):
            true
        case ("integer", .number(let number)): number.asInt64 != nil
        default: false
        }
    }
}
