import Plugins
import RouterPlugin

/// A message for the tests of formats: a notification, unless it is changed.
func message(
    _ payload: String = #"{"aps":{"alert":"Hello"}}"#, contentID: String? = "doc/42",
    contentType: String = "application/json", change: (inout DeliveryMessage) -> Void = { _ in }
) -> DeliveryMessage {
    var message = DeliveryMessage(
        id: "dlv_01", attempt: 2, type: "scene.notification", timestamp: Timestamp(milliseconds: 1_767_323_045_678),
        application: ApplicationID(unchecked: "com.example.Gallery"),
        session: SessionView(
            id: SessionID(unchecked: "win-7"), role: "windowApplication", configuration: "Default",
            activationState: .background),
        content: .notification(
            DeliveredNotification(
                targetContentIdentifier: contentID.map { ContentID(unchecked: $0) }, tier: .prefers,
                payload: Array(payload.utf8), payloadContentType: contentType)))
    change(&message)
    return message
}

/// An event of a session.
func event(_ type: String = "scene.didDisconnect", details: JSONValue = ["dismissal": "standard"]) -> DeliveryMessage {
    message {
        $0.type = type
        $0.step = SessionStep(epoch: 3, sequence: 5)
        $0.content = .event(details.asObject ?? JSONObject())
    }
}

/// Makes a format of its kind's options.
func format(_ kind: DeliveryFormatKind, _ options: JSONValue = [:]) throws -> any DeliveryFormat {
    try kind.make(options)
}

extension DeliveryFormat {
    /// The body as text.
    func text(_ message: DeliveryMessage) throws -> String {
        String(decoding: try render(message).body, as: UTF8.self)
    }
}
