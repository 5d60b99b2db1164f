extension PluginManifest {
    /// A JSON Schema (draft 2020-12) of the plugin's configuration: an entry of the configuration file, the format of an
    /// endpoint, or the options of a source.
    ///
    /// The schema knows types, defaults and choices. The plugin itself also checks ranges and the fields together.
    public var schema: JSONObject {
        var properties = JSONObject()
        // Options of a source stand beside the name of its kind.
        if kind != .source { properties["id"] = ["const": .string(id.text)] }
        for field in fields + commonFields { properties[field.name] = .object(field.schema) }
        var required = (fields + commonFields).filter(\.isRequired).map(\.name)
        if kind != .source, !isUsual { required.insert("id", at: 0) }
        var schema = JSONObject()
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = .string(id.text)
        schema["description"] = .string(summary)
        schema["type"] = "object"
        schema["properties"] = .object(properties)
        schema["required"] = .array(required.map(JSONValue.string))
        schema["additionalProperties"] = false
        return schema
    }
}

extension PluginField {
    /// The value as a JSON Schema.
    fileprivate var schema: JSONObject {
        var schema = JSONObject()
        switch type {
        case .string, .integer, .boolean, .object: schema["type"] = .string(type.rawValue)
        case .strings:
            schema["type"] = "array"
            schema["items"] = ["type": "string"]
        case .any: break
        }
        schema["enum"] = choices.isEmpty ? nil : .array(choices)
        schema["default"] = defaultValue
        schema["description"] = .string(unit.map { "\(summary) Unit: \($0)." } ?? summary)
        return schema
    }
}
