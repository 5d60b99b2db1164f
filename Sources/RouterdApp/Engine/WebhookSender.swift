package import Plugins
package import Router
package import RouterPlugin

/// Builds the request of an attempt: Standard Webhooks' headers and signatures around the body that the endpoint's
/// format renders.
package struct WebhookSender: Sendable {
    package let userAgent: String
    private let formats: FormatCache

    package init(userAgent: String, formats: DeliveryFormats) {
        self.userAgent = userAgent
        self.formats = FormatCache(formats)
    }

    /// The request to send.
    ///
    /// - Parameters:
    ///   - trace: The attempt's place in the trace of its notification.
    ///   - wall: The wall clock; receivers compare the timestamp with theirs.
    /// - Throws: ``WebhookSecretError`` for a key that cannot sign, ``DeliveryFormatError`` for a message that cannot
    ///   be rendered. Another attempt would fail in the same way.
    package func request(
        for attempt: AttemptStart, payload: MessagePayload, trace: TraceContext? = nil, at wall: Timestamp
    ) throws -> WebhookRequest {
        var request = try request(
            of: DeliveryMessage(attempt, payload), to: attempt.endpoint, signedBy: attempt.keys,
            timeoutSeconds: attempt.timeoutSeconds, trace: trace, at: wall)
        // A field that the format has set is the format's.
        for header in payload.headers where !request.headers.contains(where: { $0.name.isSame(as: header.name) }) {
            request.headers.append(HeaderField(header.name, header.value))
        }
        if attempt.session == nil { request.responseLimit = RouterLimits.responseBytes }
        return request
    }

    /// The message that goes over a stream.
    func message(
        for attempt: AttemptStart, payload: MessagePayload, sequence: Int64?
    ) throws -> StreamMessage {
        let message = DeliveryMessage(attempt, payload)
        return StreamMessage(
            id: message.id, attempt: message.attempt, sequence: sequence, envelope: try envelope(of: message))
    }

    /// The body of a message in the standard format.
    func envelope(of message: DeliveryMessage) throws -> [UInt8] {
        let rendered = try formats.format(.standard).render(message)
        if let fault = rendered.fault { throw fault }
        return rendered.body
    }

    /// The request that brings a message to an endpoint.
    package func request(
        of message: DeliveryMessage, to endpoint: Endpoint, signedBy keys: [SigningKey], timeoutSeconds: Int,
        trace: TraceContext? = nil, at wall: Timestamp
    ) throws -> WebhookRequest {
        let rendered = try formats.format(endpoint.format).render(message)
        if let fault = rendered.fault { throw fault }
        let seconds = wall.milliseconds / 1000
        let keys = try keys.map { key throws(WebhookSecretError) in try WebhookSigningKey(key.secret) }
        let signatures = try StandardWebhooksSigner.signatures(
            id: message.id, timestampSeconds: seconds, body: rendered.body, keys: keys)
        var headers = [
            HeaderField("content-type", rendered.contentType), HeaderField("user-agent", userAgent),
            HeaderField("webhook-id", message.id), HeaderField("webhook-timestamp", String(seconds)),
            HeaderField("webhook-signature", signatures), HeaderField("webhook-attempt", String(message.attempt)),
        ]
        if let trace {
            headers.append(HeaderField("traceparent", trace.traceparent))
            if let state = trace.tracestate { headers.append(HeaderField("tracestate", state)) }
        }
        headers += rendered.headers.map { HeaderField($0.name, $0.value) }
        return WebhookRequest(
            url: endpoint.url, headers: headers, body: rendered.body, timeoutMilliseconds: timeoutSeconds * 1000,
            responseLimit: RouterLimits.answerBytes, application: message.application)
    }

    /// The outcome of an attempt that was not sent: it does not count as an attempt.
    package static func notSent(because error: any Error) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: .shuttingDown, message: "\(error)")))
    }

    /// The outcome of an attempt without a payload to send.
    package static let payloadMissing = TransferResult(
        outcome: .failure(TransferFailure(kind: .payloadMissing, message: "The database has no payload of it.")))

    /// The outcome of an attempt for which no request can be built, now or later.
    package static func unusable(because error: WebhookSecretError) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: .unusableURL, message: "\(error)")))
    }

    /// The outcome of an attempt whose format cannot render the message, now or later.
    package static func formatFailed(_ error: DeliveryFormatError) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: .formatFailed, message: "\(error)")))
    }
}
