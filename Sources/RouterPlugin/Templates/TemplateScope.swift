/// The values that templates take from: an event and the request that carried it.
///
/// A scope reads the payload once, when it is made, and serves every template of the event.
public struct TemplateScope: Sendable {
    /// The payload as JSON; nil if it is none within the limits.
    public let payload: JSONValue?
    /// The event's type.
    public let type: String?
    private let headers: [(name: String, value: String)]
    private let query: [(name: String, value: String)]
    private let attributes: [SourceEvent.Attribute]

    /// All parts at once; names of headers and attributes must be in lower case.
    public init(
        payload: JSONValue?, headers: [(name: String, value: String)] = [],
        query: [(name: String, value: String)] = [], attributes: [SourceEvent.Attribute] = [], type: String? = nil
    ) {
        self.payload = payload
        self.type = type
        self.headers = headers
        self.query = query
        self.attributes = attributes
    }

    /// The scope of an event. The event's own payload counts, not the request's body.
    public init(_ request: SourceRequest, _ event: SourceEvent, limits: JSONLimits = .ingest) {
        self.init(
            payload: try? JSONValue(parsing: event.payload, limits: limits), headers: request.headers,
            query: request.query, attributes: event.attributes, type: event.type)
    }

    /// The text of the value at a path; nil if it is not there.
    func text(at path: TemplatePath) -> String? {
        let text: String? =
            switch path.root {
            case .payload(let steps): Self.text(of: value(at: steps))
            case .header(let name): Self.only(headers.lazy.filter { sameBytes($0.name, name.text) }.map(\.value))
            case .query(let name): Self.only(query.lazy.filter { sameBytes($0.name, name.text) }.map(\.value))
            case .attribute(let name): Self.only(attributes.lazy.filter { sameBytes($0.name, name.text) }.map(\.value))
            case .type: type
            }
        return text?.isEmpty == true ? nil : text
    }

    private func value(at steps: [TemplatePath.Step]) -> JSONValue? {
        var value = payload
        for step in steps {
            switch (step, value) {
            case (.member(let name), .object(let object)): value = object[name.text]
            case (.element(let index), .array(let elements)):
                value = elements.indices.contains(index) ? elements[index] : nil
            case (.last, .array(let elements)): value = elements.last
            default: return nil
            }
        }
        return value
    }

    /// Strings as they are, numbers as they were written; null, arrays and objects have no text.
    private static func text(of value: JSONValue?) -> String? {
        switch value {
        case .string(let text): text
        case .number(let number): number.text
        case .bool(let truth): truth ? "true" : "false"
        case nil, .null, .array, .object: nil
        }
    }

    /// The only value. Two values, or bytes that were no UTF-8, leave open which one the sender means.
    private static func only(_ values: some Sequence<String>) -> String? {
        var found: String?
        for value in values {
            guard found == nil, !value.unicodeScalars.contains("\u{FFFD}") else { return nil }
            found = value
        }
        return found
    }
}
