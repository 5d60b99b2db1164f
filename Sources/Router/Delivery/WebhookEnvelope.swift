package import RouterPlugin

/// The body of a webhook: Standard Webhooks' `type`, `timestamp`, `data`, with the payload spliced in as received.
package enum WebhookEnvelope {
    /// The event's type: an unattached session is told to connect, a connected one is told of the notification.
    package static func type(of kind: NotificationKind, for state: ActivationState) -> String {
        state == .unattached ? SceneEventKind.willConnect.rawValue : type(of: kind)
    }

    /// The type of a notification for a session that is connected, which names the callback of UIKit that takes it.
    package static func type(of kind: NotificationKind) -> String {
        switch kind {
        case .notification: "scene.notification"
        case .userActivity: "scene.continueUserActivity"
        case .url: "scene.openURLContexts"
        case .shortcutItem: "scene.performAction"
        }
    }

    /// Of what stands around the payload, in bytes.
    private static let usualLength = 512

    /// The whole body.
    ///
    /// A push payload always stands at `data.payload`, whatever the type; all else stands where UIKit has it. The timestamp
    /// is that of the notification, the same over all attempts.
    ///
    /// - Parameter connects: Under which number an unattached session is told to connect, if it is told of its life.
    package static func body(
        for notification: UnsettledNotification, to session: SceneSession, payload: [UInt8],
        connects: EventNumber? = nil
    ) -> [UInt8] {
        JSONWriter.object(reserving: payload.count + usualLength) { event in
            event.field("type", type(of: notification.kind, for: session.activationState))
            event.field("timestamp", notification.receivedAt)
            event.object("data") { data in
                data.field("application", notification.application)
                data.object("session") { object in
                    describe(session, in: &object)
                    if session.activationState == .unattached, session.userInfo != .emptyObject {
                        object.field("userInfo", session.userInfo)
                    }
                }
                if let connects { write(connects, to: &data) }
                data.field("targetContentIdentifier", notification.contentID)
                data.object("decision") { decision in
                    decision.field("tier", notification.decision.tier.rawValue)
                    decision.field("rerouteOf", notification.decision.rerouteOf)
                }
                if session.activationState == .unattached {
                    let content = SceneContent(
                        kind: notification.kind, contentID: notification.contentID,
                        payload: notification.kind == .notification ? [] : payload)
                    write(ConnectionOptions(bringing: content), of: session, to: &data)
                } else {
                    write(payload, of: notification.kind, to: &data)
                }
                if notification.kind == .notification { data.raw("payload", payload) }
            }
        }
    }

    /// What a connected scene is to go on with.
    private static func write(_ payload: [UInt8], of kind: NotificationKind, to data: inout JSONObjectWriter) {
        switch kind {
        case .notification: break
        case .userActivity: data.raw("userActivity", payload)
        case .url: data.array("urlContexts") { $0.raw(payload) }
        case .shortcutItem: data.raw("shortcutItem", payload)
        }
    }

    /// Why the scene is to connect, what it was doing before, and what it is to go on with of these.
    ///
    /// - Parameter session: Whose scene; nil if what it was doing is not said yet.
    static func write(_ options: ConnectionOptions, of session: SceneSession?, to data: inout JSONObjectWriter) {
        data.field("connectionOptions", JSONValue.object(options.members(for: session)))
        if let activation = options.activation { data.field("activation", JSONValue.object(activation)) }
        if let activity = options.userActivity(of: session) { data.field("userActivity", activity) }
    }

    static func describe(_ session: SceneSession, in object: inout JSONObjectWriter) {
        object.field("id", session.key.session)
        object.field("role", session.role)
        object.field("configuration", session.configuration.isEmpty ? nil : session.configuration)
        object.field("activationState", session.activationState.name)
    }
}
