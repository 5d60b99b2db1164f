import RouterPlugin

/// The way in which a request carries CloudEvents.
enum CloudEventsMode {
    /// The body is an event in JSON.
    case structured
    /// The body is an array of events in JSON.
    case batched
    /// The headers are the attributes, and the body is the data.
    case binary

    /// The mode, as HTTP's content type tells it (http-protocol-binding.md, 3).
    init(contentType: String?) throws(SourceError) {
        let type = (contentType ?? "").split(separator: ";", omittingEmptySubsequences: false).first ?? ""
        let name = String(type.lowercased().reversed().drop(while: Self.isBlank).reversed().drop(while: Self.isBlank))
        switch name {
        case "application/cloudevents+json": self = .structured
        case "application/cloudevents-batch+json": self = .batched
        case _ where name.hasPrefix("application/cloudevents"):
            let message = """
                The only formats of CloudEvents that are taken are application/cloudevents+json and \
                application/cloudevents-batch+json, and binary mode with any other content type.
                """
            throw SourceError(code: "unsupported-event-format", message: message, kind: .unprocessable)
        default: self = .binary
        }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
