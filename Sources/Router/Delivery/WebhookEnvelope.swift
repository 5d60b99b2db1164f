package import RouterPlugin

/// The body of a webhook: Standard Webhooks' `type`, `timestamp`, `data`, with the payload spliced in as received.
package enum WebhookEnvelope {
    /// The event's type: an unattached session is told to connect, a connected one is told of the notification.
    package static func type(for state: ActivationState) -> String {
        state == .unattached ? SceneEventKind.willConnect.rawValue : notification
    }

    /// The type of a notification for a session that is connected.
    package static let notification = "scene.notification"

    /// The whole body.
    ///
    /// The payload always stands at `data.payload`, whatever the type. The timestamp is that of the notification, the
    /// same over all attempts.
    ///
    /// - Parameter connects: Under which number an unattached session is told to connect, if it is told of its life.
    package static func body(
        for notification: UnsettledNotification, to session: SceneSession, payload: [UInt8],
        connects: EventNumber? = nil
    ) -> [UInt8] {
        JSONWriter.object { event in
            event.field("type", type(for: session.activationState))
            event.field("timestamp", notification.receivedAt)
            event.object("data") { data in
                data.field("application", notification.application)
                data.object("session") { describe(session, in: &$0) }
                if let connects { write(connects, to: &data) }
                data.field("targetContentIdentifier", notification.contentID)
                data.object("decision") { decision in
                    decision.field("tier", notification.decision.tier.rawValue)
                    decision.field("rerouteOf", notification.decision.rerouteOf)
                }
                if session.activationState == .unattached {
                    data.object("connectionOptions") { connectionOptions(notification, session, in: &$0) }
                }
                data.raw("payload", payload)
            }
        }
    }

    /// UIKit's `UIScene.ConnectionOptions`: why the scene is to connect, and what it was doing before.
    private static func connectionOptions(
        _ notification: UnsettledNotification, _ session: SceneSession, in options: inout JSONObjectWriter
    ) {
        options.object("notification") { $0.field("targetContentIdentifier", notification.contentID) }
        restoration(of: session, in: &options)
    }

    static func describe(_ session: SceneSession, in object: inout JSONObjectWriter) {
        object.field("id", session.key.session)
        object.field("role", session.role)
        object.field("configuration", session.configuration.isEmpty ? nil : session.configuration)
        object.field("activationState", session.activationState.name)
    }
}
