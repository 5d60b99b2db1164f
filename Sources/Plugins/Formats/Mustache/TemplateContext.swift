import RouterPlugin

/// The names that templates may use.
///
///     type, timestamp, application, webhookId, attempt, epoch, sequence
///     session.id, session.role, session.configuration, session.activationState, session.userInfo
///     kind, targetContentIdentifier, decision.tier, decision.rerouteOf, payload       notifications
///     connectionOptions, activation, userActivity                                     scenes that are to connect
///     event                                                                           events: gate, dismissal, sessions
///     title, body                                                                     for people, see `NotificationText`
///
/// A name that the message has no value for is missing, and writes nothing.
enum TemplateContext {
    static func object(for message: DeliveryMessage) -> JSONObject {
        var object = JSONObject()
        object["type"] = .string(message.type)
        object["timestamp"] = .string(message.timestamp.rfc3339)
        object["application"] = .string(message.application.text)
        object["webhookId"] = .string(message.id)
        object["attempt"] = .number(JSONNumber(Int64(message.attempt)))
        object["session"] = message.session.map(session)
        if let step = message.step {
            object["epoch"] = .number(JSONNumber(step.epoch))
            object["sequence"] = .number(JSONNumber(step.sequence))
        }
        if let connection = message.connection {
            object["connectionOptions"] = .object(connection.options)
            object["activation"] = connection.activation.map { .object($0) }
            object["userActivity"] = connection.userActivity
        }
        var payload: JSONValue?
        switch message.content {
        case .notification(let notification):
            object["kind"] = .string(notification.kind.rawValue)
            object["targetContentIdentifier"] = notification.targetContentIdentifier.map { .string($0.text) }
            var decision = JSONObject()
            decision["tier"] = .string(notification.tier.rawValue)
            decision["rerouteOf"] = notification.rerouteOf.map { .string($0.text) }
            object["decision"] = .object(decision)
            payload = notification.payloadValue
            object["payload"] = payload
        case .event(let details): object["event"] = .object(details)
        }
        let text = NotificationText(of: message, payload: payload)
        object["title"] = .string(text.title)
        object["body"] = .string(text.body)
        return object
    }

    private static func session(_ session: SessionView) -> JSONValue {
        var object = JSONObject()
        object["id"] = .string(session.id.text)
        object["role"] = .string(session.role)
        if !session.configuration.isEmpty { object["configuration"] = .string(session.configuration) }
        object["activationState"] = .string(session.activationState.name)
        object["userInfo"] = session.userInfo
        return .object(object)
    }
}
