/// A way out: renders a message as the request that its receiver gets.
///
///     message ──render──▶ content type, headers, body ──sign──▶ request
///
/// A format is a pure value. It is given everything it needs, reads no clock and keeps no state, so the same message
/// always gives the same bytes. It is called once an attempt, beside the router and never inside of it. The signature
/// of Standard Webhooks is the router's part: it covers the bytes that come out, whatever they are. Every format runs
/// `DeliveryFormatSuite` of RouterTesting.
public protocol DeliveryFormat: Sendable {
    /// The name of the format's kind.
    var id: PluginID { get }

    /// The request for a message.
    ///
    /// - Throws: an error if the message cannot be rendered, now or later. The delivery is then given up as
    ///   `format-failed`, is shown with the error, and can be replayed.
    func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest
}

/// Bounds of what formats make.
public enum DeliveryFormatLimits: Sendable {
    /// The greatest body in bytes. A payload of the greatest size fits into it in Base64 and with everything around it.
    public static let bodyBytes = 1024 * 1024
    /// The greatest number of header fields.
    public static let headers = 32
    /// The greatest length of all header fields together, in bytes.
    public static let headerBytes = 8 * 1024
}

/// The failure of a format to render a message.
public struct DeliveryFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Stable and in kebab-case.
    public let code: String
    /// One or two sentences for people; never quotes the payload or a secret.
    public let message: String

    /// Both parts at once.
    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
