import Crypto
import RouterPlugin

extension SourceRequest {
    /// The type of event that a header names; nil if it is missing.
    ///
    /// - Throws: `bad-event-type` unless it has 1 to 128 printable ASCII characters; the errors of `header`.
    func eventType(in name: String) throws(SourceError) -> String? {
        guard let value = try header(name) else { return nil }
        return try EventText.type(value, in: "header \(name)")
    }

    /// The id of the delivery that a header names; nil if it is missing.
    ///
    /// - Throws: `bad-delivery-id` unless it has 1 to 255 printable ASCII characters; the errors of `header`.
    func deliveryID(in name: String) throws(SourceError) -> String? {
        guard let value = try header(name) else { return nil }
        return try EventText.id(value, in: "header \(name)")
    }

    /// A dedupe key of the body alone.
    var bodyKey: String { "sha256:" + Base64.encode(Array(SHA256.hash(data: body))) }
}

/// The part of the signed body in recognising repetitions, for senders that sign the body and not the id of its delivery.
///
/// A sender's repetition has the id of the first delivery. A third party's copy may have another id, and so may another event
/// with the same content: the owner of a source decides between the two.
struct RepeatedBodies: Hashable, Sendable {
    /// The option of a kind.
    static let field = PluginField(
        "refuseRepeatedBodies", .boolean, .byDefault(false),
        summary: "Whether a body that came before is a repetition under another delivery id, too.")

    let areRefused: Bool

    /// Bodies count where the sender names no delivery.
    static let usual = RepeatedBodies(areRefused: false)

    private init(areRefused: Bool) { self.areRefused = areRefused }

    init(_ options: PluginConfiguration) throws(PluginConfigurationError) {
        areRefused = try options.boolean(Self.field.name) ?? false
    }

    /// The dedupe keys of a request whose delivery has that key; nil if the sender names none.
    func keys(_ delivery: String?, of request: SourceRequest) -> [String] {
        guard let delivery else { return [request.bodyKey] }
        return areRefused ? [delivery, request.bodyKey] : [delivery]
    }
}

/// Texts of senders that become types of events and parts of dedupe keys.
enum EventText {
    /// A text as the type of an event; nil if there is none.
    ///
    /// - Throws: `bad-event-type` unless it has 1 to 128 printable ASCII characters.
    static func type(_ text: String?, in place: String) throws(SourceError) -> String? {
        guard let text else { return nil }
        guard isPrintable(text, upTo: SenderLimits.maximumTypeLength) else {
            let message = "The \(place) must have 1 to \(SenderLimits.maximumTypeLength) printable ASCII characters."
            throw SourceError(code: "bad-event-type", message: message)
        }
        return text
    }

    /// A text as a part of a dedupe key; nil if there is none.
    ///
    /// - Throws: `bad-delivery-id` unless it has 1 to 255 printable ASCII characters.
    static func id(_ text: String?, in place: String) throws(SourceError) -> String? {
        guard let text else { return nil }
        guard isPrintable(text, upTo: SenderLimits.maximumIDLength) else {
            let message = "The \(place) must have 1 to \(SenderLimits.maximumIDLength) printable ASCII characters."
            throw SourceError(code: "bad-delivery-id", message: message)
        }
        return text
    }

    static func isPrintable(_ text: String, upTo maximum: Int) -> Bool {
        (1...maximum).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
