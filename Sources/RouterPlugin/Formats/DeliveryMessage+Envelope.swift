extension DeliveryMessage {
    /// The standard envelope: Standard Webhooks' `type`, `timestamp` and `data`, with the payload spliced in as
    /// received.
    ///
    /// Receivers rely on every byte of it. A push payload stands at `data.payload`, whatever the type; all other
    /// content stands where UIKit has it. A payload that is not JSON stands in Base64 at `data.payloadBase64`, beside
    /// its media type.
    public var standardEnvelope: [UInt8] {
        let length = notification.map { $0.payload.count } ?? 0
        return JSONWriter.object(reserving: length + Self.usualLength) { body in
            body.field("type", type)
            body.field("timestamp", timestamp)
            body.object("data") { write(to: &$0) }
        }
    }

    /// The object `data` of the standard envelope.
    public var envelopeData: [UInt8] { JSONWriter.object { write(to: &$0) } }

    /// About as many bytes as stand around a payload.
    private static let usualLength = 512

    private func write(to data: inout JSONObjectWriter) {
        data.field("application", application)
        if let session { data.object("session") { session.write(to: &$0) } }
        if let step {
            data.field("epoch", step.epoch)
            data.field("sequence", step.sequence)
        }
        if let notification {
            data.field("targetContentIdentifier", notification.targetContentIdentifier)
            data.object("decision") { decision in
                decision.field("tier", notification.tier.rawValue)
                decision.field("rerouteOf", notification.rerouteOf)
            }
        }
        if let connection {
            data.field("connectionOptions", JSONValue.object(connection.options))
            if let activation = connection.activation { data.field("activation", JSONValue.object(activation)) }
            if let activity = connection.userActivity { data.field("userActivity", activity) }
        }
        switch content {
        case .notification(let notification): notification.write(isConnected: connection == nil, to: &data)
        case .event(let details): for member in details.members { data.field(member.key, member.value) }
        }
    }
}

extension SessionView {
    fileprivate func write(to object: inout JSONObjectWriter) {
        object.field("id", id)
        object.field("role", role)
        object.field("configuration", configuration.isEmpty ? nil : configuration)
        object.field("activationState", activationState.name)
        if let userInfo { object.field("userInfo", userInfo) }
    }
}

extension DeliveredNotification {
    /// The payload where a connected scene looks for it. A scene that is about to connect finds it in its options.
    fileprivate func write(isConnected: Bool, to data: inout JSONObjectWriter) {
        guard MediaType.isJSON(payloadContentType) else {
            data.field("payloadContentType", payloadContentType)
            data.field("payloadBase64", Base64.encode(payload))
            return
        }
        switch kind {
        case .notification: data.raw("payload", payload)
        case .userActivity: if isConnected { data.raw("userActivity", payload) }
        case .url: if isConnected { data.array("urlContexts") { $0.raw(payload) } }
        case .shortcutItem: if isConnected { data.raw("shortcutItem", payload) }
        }
    }
}
