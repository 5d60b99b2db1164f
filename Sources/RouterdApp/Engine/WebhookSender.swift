package import Plugins
package import Router
package import RouterPlugin

/// Makes the request of an attempt: Standard Webhooks' headers, the envelope, the signatures.
package struct WebhookSender: Sendable {
    package let userAgent: String

    package init(userAgent: String) {
        self.userAgent = userAgent
    }

    /// The request to send.
    ///
    /// - Parameter wall: The wall clock; receivers compare the timestamp with theirs.
    package func request(
        for attempt: AttemptStart, payload: [UInt8], at wall: Timestamp
    ) throws(WebhookSecretError) -> WebhookRequest {
        let body = Self.body(of: attempt, payload: payload)
        let id = Identity.delivery(of: attempt.notification.id)
        let seconds = wall.milliseconds / 1000
        let keys = try attempt.keys.map { key throws(WebhookSecretError) in try WebhookSigningKey(key.secret) }
        let signatures = try StandardWebhooksSigner.signatures(
            id: id, timestampSeconds: seconds, body: body, keys: keys)
        var headers = [
            HeaderField("content-type", "application/json"), HeaderField("user-agent", userAgent),
            HeaderField("webhook-id", id), HeaderField("webhook-timestamp", String(seconds)),
            HeaderField("webhook-signature", signatures), HeaderField("webhook-attempt", String(attempt.number)),
        ]
        if let traceparent = attempt.notification.traceparent {
            headers.append(HeaderField("traceparent", traceparent.text))
        }
        return WebhookRequest(
            url: attempt.endpoint.url, headers: headers, body: body,
            timeoutMilliseconds: attempt.timeoutSeconds * 1000,
            responseLimit: attempt.session == nil ? RouterLimits.responseBytes : RouterLimits.answerBytes,
            application: attempt.notification.application)
    }

    /// An event was written when it happened, but for what a scene was doing; a notification is told to the session as it is.
    private static func body(of attempt: AttemptStart, payload: [UInt8]) -> [UInt8] {
        let notification = attempt.notification
        if let event = notification.event {
            return WebhookEnvelope.body(
                of: event, at: notification.receivedAt, data: payload, session: attempt.session)
        }
        // Nobody but a session is sent a notification.
        guard let session = attempt.session else { return payload }
        return WebhookEnvelope.body(for: notification, to: session, payload: payload, connects: attempt.connects)
    }

    /// The outcome of an attempt that never left: it counts as not made.
    package static func notSent(because error: any Error) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: .shuttingDown, message: "\(error)")))
    }

    /// The outcome of an attempt that there is nothing to send for.
    package static let payloadMissing = TransferResult(
        outcome: .failure(TransferFailure(kind: .payloadMissing, message: "The database has no payload of it.")))

    /// The outcome of an attempt that no request can be made for, now or later.
    package static func unusable(because error: WebhookSecretError) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: .unusableURL, message: "\(error)")))
    }
}
