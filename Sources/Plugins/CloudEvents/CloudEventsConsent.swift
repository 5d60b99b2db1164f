import RouterPlugin

/// The consent to be sent events, as CloudEvents' web hooks ask for it (http-webhook.md, 4).
///
///     OPTIONS  WebHook-Request-Origin: sender.example.com
///        200   WebHook-Allowed-Origin: sender.example.com, WebHook-Allowed-Rate: 120
///        403   neither header: no consent
///        400   the request names no origin
///
/// Consent is given at once: a `WebHook-Request-Callback` is not called.
struct CloudEventsConsent: Sendable {
    /// Origins that may send, in lower case; nil stands for all.
    private let origins: Set<String>?
    /// Requests in a minute, or `*`.
    private let rate: String

    /// Consent to every origin at any rate.
    init() {
        origins = nil
        rate = "*"
    }

    /// The consent that a configuration gives.
    init(_ fields: PluginConfiguration, rate value: JSONValue?) throws(PluginConfigurationError) {
        let names = try fields.strings("allowedOrigins") ?? ["*"]
        for (place, name) in names.enumerated() where name != "*" && !Self.isOrigin(name) {
            throw fields.invalid("allowedOrigins/\(place)", because: "must be a DNS name or *")
        }
        guard !names.isEmpty else { throw fields.invalid("allowedOrigins", because: "must name an origin or *") }
        origins = names.contains("*") ? nil : Set(names.map { $0.lowercased() })
        switch value {
        case nil, .string("*"): rate = "*"
        case let value?:
            guard let number = value.asInt64, number > 0 else {
                throw fields.invalid("allowedRate", because: "must be a whole number from 1, in a minute, or *")
            }
            rate = String(number)
        }
    }

    /// The answer to a request with the method `OPTIONS`.
    func answer(to request: SourceRequest) -> SourceResponse {
        let allow = SourceResponse.Field("allow", "POST, OPTIONS")
        let named = request.headers.filter { $0.name == "webhook-request-origin" }.map(\.value)
        guard named.count == 1, Self.isOrigin(named[0]) else { return SourceResponse(status: 400, headers: [allow]) }
        guard origins?.contains(named[0].lowercased()) ?? true else {
            return SourceResponse(status: 403, headers: [allow])
        }
        let consent = [
            SourceResponse.Field("webhook-allowed-origin", named[0]),
            SourceResponse.Field("webhook-allowed-rate", rate),
        ]
        return SourceResponse(status: 200, headers: [allow] + consent)
    }

    /// Whether a text can name an origin: a DNS name, also with a port.
    private static func isOrigin(_ text: String) -> Bool {
        (1...260).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"): true
                default: false
                }
            }
    }
}
