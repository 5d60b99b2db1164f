import HTTPTypes
package import RouterPlugin

/// Reads the members of a JSON object one by one, each with its type, and then refuses the members that were not read.
package struct ObjectReader {
    private let object: JSONObject
    private let pointer: String
    /// The names that were read, as bytes: Swift's own equality takes `signing\u{212A}eys`, with the Kelvin sign, for
    /// `signingKeys`, and the field would be silently ignored.
    private var known: Set<[UInt8]> = []

    package init(_ value: JSONValue, at pointer: String = "") throws(Problem) {
        guard case .object(let object) = value else {
            throw Problem(.badRequest, "not-an-object", "This must be a JSON object.", pointer: pointer)
        }
        self.object = object
        self.pointer = pointer
    }

    /// The JSON pointer of a member in the document.
    package func pointer(to key: String) -> String { "\(pointer)/\(key)" }

    /// The value of a member; null counts as absent.
    package mutating func value(_ key: String) -> JSONValue? {
        known.insert(Array(key.utf8))
        guard let value = object[key], value != .null else { return nil }
        return value
    }

    /// Whether a member is present, and whether it is null.
    package mutating func presence(_ key: String) -> Presence {
        known.insert(Array(key.utf8))
        guard let value = object[key] else { return .absent }
        return value == .null ? .null : .value(value)
    }

    /// A merge patch distinguishes absent members from null ones.
    package enum Presence {
        case absent, null
        case value(JSONValue)
    }

    package mutating func string(_ key: String) throws(Problem) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.asString else { throw wrongType(key, "a string") }
        return text
    }

    package mutating func bool(_ key: String) throws(Problem) -> Bool? {
        guard let value = value(key) else { return nil }
        guard let flag = value.asBool else { throw wrongType(key, "true or false") }
        return flag
    }

    package mutating func integer(_ key: String, in range: ClosedRange<Int64>) throws(Problem) -> Int? {
        guard let value = value(key) else { return nil }
        guard let number = value.asInt64 else { throw wrongType(key, "a whole number") }
        guard range.contains(number) else {
            throw invalid(key, "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    package mutating func array(_ key: String, atMost limit: Int) throws(Problem) -> [JSONValue]? {
        guard let value = value(key) else { return nil }
        guard let elements = value.asArray else { throw wrongType(key, "an array") }
        guard elements.count <= limit else { throw invalid(key, "has more than \(limit) elements") }
        return elements
    }

    package mutating func strings(_ key: String, atMost limit: Int) throws(Problem) -> [String]? {
        guard let elements = try array(key, atMost: limit) else { return nil }
        var texts: [String] = []
        for element in elements {
            guard let text = element.asString else { throw wrongType(key, "an array of strings") }
            texts.append(text)
        }
        return texts
    }

    package mutating func object(_ key: String) throws(Problem) -> ObjectReader? {
        guard let value = value(key) else { return nil }
        return try ObjectReader(value, at: pointer(to: key))
    }

    /// A member that holds an identifier.
    package mutating func identifier<Kind>(
        _ key: String, of kind: Kind.Type
    ) throws(Problem) -> Identifier<Kind>? {
        guard let text = try string(key) else { return nil }
        do { return try Identifier<Kind>(text) } catch { throw Problem(error, pointer: pointer(to: key)) }
    }

    /// Call last: refuses members that were not read.
    package func finish() throws(Problem) {
        guard let unknown = object.members.first(where: { !known.contains(Array($0.key.utf8)) }) else { return }
        let names = known.map { String(decoding: $0, as: UTF8.self) }.sorted().joined(separator: ", ")
        throw Problem(
            .badRequest, "unknown-field", "There is no such field here; the fields are: \(names).",
            pointer: pointer(to: escaped(unknown.key)))
    }

    package func invalid(_ key: String, _ reason: String) -> Problem {
        Problem(.unprocessableContent, "invalid-field", "The field \(key) \(reason).", pointer: pointer(to: key))
    }

    package func missing(_ key: String) -> Problem {
        Problem(.unprocessableContent, "missing-field", "The field \(key) is missing.", pointer: pointer(to: key))
    }

    private func wrongType(_ key: String, _ expected: String) -> Problem {
        Problem(.badRequest, "wrong-type", "The field \(key) must be \(expected).", pointer: pointer(to: key))
    }

    /// RFC 6901 writes `~` and `/` within a key as `~0` and `~1`.
    private func escaped(_ key: String) -> String {
        var text = ""
        for character in key.unicodeScalars.prefix(64) {
            switch character {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
