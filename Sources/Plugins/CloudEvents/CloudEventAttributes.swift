import RouterPlugin

/// The attributes of a CloudEvent as text, in the order of the message, whatever mode they came in.
///
/// Invariant: `id`, `source`, `type` and `specversion` are there, no name occurs twice, names and values are those that
/// the specification allows (spec.md, "Naming Conventions" and "Type System").
struct CloudEventAttributes {
    private(set) var list: [SourceEvent.Attribute] = []

    /// The value of an attribute.
    subscript(name: String) -> String? {
        list.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Whether a text may name an attribute.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "data"
            && name.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    // MARK: Structured mode

    /// The attributes of an event in JSON, whose data is checked as well (json-format.md, 2 and 3).
    init(of object: JSONObject) throws(SourceError) {
        for member in object.members where member.key != "data" && member.key != "data_base64" {
            try Self.checkName(member.key)
            guard let text = try Self.text(of: member) else { continue }
            list.append(SourceEvent.Attribute(member.key, text))
        }
        try check()
        guard let encoded = object["data_base64"] else { return }
        guard object["data"] == nil else {
            throw SourceError(code: "invalid-data", message: "A CloudEvent has data or data_base64, not both.")
        }
        guard let text = encoded.asString, Base64.decode(text[...]) != nil else {
            throw SourceError(code: "invalid-data", message: "The member data_base64 must be a string in Base64.")
        }
    }

    /// Attributes whose type is String, URI-reference, URI or Timestamp, all of which are strings in JSON (json-format.md,
    /// 2.2).
    private static let texts = [
        "id", "source", "specversion", "type", "subject", "datacontenttype", "dataschema", "time",
    ]

    /// The canonical text of a value; null stands for an attribute that is not set.
    private static func text(of member: JSONObject.Member) throws(SourceError) -> String? {
        let name = member.key
        let isText = texts.contains { $0.isSame(as: name) }
        switch member.value {
        case .null: return nil
        case .string(let text): return text
        case .bool(let truth) where !isText: return truth ? "true" : "false"
        case .number(let number) where !isText:
            if Int32(number.text) != nil { return number.text }
            throw invalidValue(
                "The attribute \(name) of a CloudEvent must be a whole number of 32 bits, or a string in quotes.")
        case .bool, .number: throw invalidValue("The attribute \(name) of a CloudEvent must be a string, in quotes.")
        case .array, .object:
            let types = isText ? "a string" : "a string, a whole number or a boolean"
            throw invalidValue("The attribute \(name) of a CloudEvent must be \(types).")
        }
    }

    // MARK: Binary mode

    /// The attributes of a request's headers (http-protocol-binding.md, 3.1).
    init(ofHeaders request: SourceRequest, contentType: String?) throws(SourceError) {
        for field in request.headers where field.name.hasPrefix("ce-") {
            let name = String(field.name.dropFirst(3))
            try Self.checkName(name)
            guard name != "datacontenttype" else {
                let message =
                    "The header content-type stands for datacontenttype; ce-datacontenttype must not be there."
                throw SourceError(code: "invalid-attribute-name", message: message)
            }
            // Refuses a header that occurs twice.
            guard let value = try request.header(field.name) else { continue }
            list.append(SourceEvent.Attribute(name, try CloudEventHeaderValue.decoded(value)))
        }
        guard !list.isEmpty else {
            let message = "The request has neither a content type of CloudEvents nor headers that begin with ce-."
            throw SourceError(code: "not-a-cloudevent", message: message)
        }
        if let contentType { list.append(SourceEvent.Attribute("datacontenttype", contentType)) }
        try check()
    }

    // MARK: Checks

    private static func checkName(_ name: String) throws(SourceError) {
        guard isName(name) else {
            let message =
                "The name of an attribute of a CloudEvent has lower-case letters and digits only, and is not data."
            throw SourceError(code: "invalid-attribute-name", message: message)
        }
    }

    private func check() throws(SourceError) {
        for name in ["id", "source", "specversion", "type"] where self[name] == nil {
            throw SourceError(code: "missing-attribute", message: "The CloudEvent has no attribute \(name).")
        }
        for name in ["id", "source", "type", "subject", "datacontenttype", "dataschema"] where self[name] == "" {
            throw Self.invalidValue("The attribute \(name) of a CloudEvent must not be empty.")
        }
        guard self["specversion"] == "1.0" else {
            let message = "The attribute specversion of a CloudEvent must be 1.0."
            throw SourceError(code: "unsupported-specversion", message: message, kind: .unprocessable)
        }
        for attribute in list where !attribute.value.unicodeScalars.allSatisfy(Self.isAllowed) {
            throw Self.invalidValue("An attribute of a CloudEvent must not have control characters or noncharacters.")
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0xFDD0..<0xFDF0: false
        case let value: value & 0xFFFE != 0xFFFE
        }
    }

    private static func invalidValue(_ message: String) -> SourceError {
        SourceError(code: "invalid-attribute-value", message: message)
    }
}
