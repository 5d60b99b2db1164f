package import RouterPlugin

/// What is brought to a scene.
package struct SceneContent: Hashable, Sendable {
    package var kind: NotificationKind
    package var contentID: ContentID?
    package var payload: [UInt8]

    package init(kind: NotificationKind, contentID: ContentID?, payload: [UInt8]) {
        self.kind = kind
        self.contentID = contentID
        self.payload = payload
    }
}

/// How a person wants to see a scene: UIKit's `UIWindowScene.PresentationStyle`.
package enum PresentationStyle: String, CaseIterable, Hashable, Sendable {
    case automatic, standard, prominent
}

/// How a scene is to be activated: UIKit's `UIScene.ActivationRequestOptions`.
package struct ActivationOptions: Hashable, Sendable {
    /// Which session asks; it is not the one that is brought forward for what it asks for.
    package var requestingSession: SessionID?
    package var preferredPresentationStyle: PresentationStyle?

    package init(requestingSession: SessionID? = nil, preferredPresentationStyle: PresentationStyle? = nil) {
        self.requestingSession = requestingSession
        self.preferredPresentationStyle = preferredPresentationStyle
    }
}

/// Why a scene connects: UIKit's `UIScene.ConnectionOptions`, but for what the scene was doing before.
package struct ConnectionOptions: Hashable, Sendable {
    /// What is brought to it; nil if nothing is.
    package var content: JSONObject
    /// How it is to be activated; nil if it is connected for what is brought to it.
    package var activation: JSONObject?

    /// A scene that connects for what is brought to it.
    package init(bringing content: SceneContent? = nil) {
        self.content = content.map(Self.members) ?? JSONObject()
    }

    /// A scene that somebody wants to see.
    package init(activating options: ActivationOptions, bringing content: SceneContent?) {
        self.init(bringing: content)
        var activation = JSONObject()
        activation["requestingSession"] = options.requestingSession.map { .string($0.text) }
        activation["preferredPresentationStyle"] = options.preferredPresentationStyle.map { .string($0.rawValue) }
        self.activation = activation
    }

    /// The options among the facts of an event, as they were kept.
    init(of data: JSONValue) {
        content = data["connectionOptions"]?.asObject ?? JSONObject()
        activation = data["activation"]?.asObject
    }

    /// What is brought to the scene, and what it was doing before.
    func members(for session: SceneSession?) -> JSONObject {
        var members = content
        if let activity = session?.stateRestorationActivity { members["stateRestorationActivity"] = activity.value }
        return members
    }

    /// What the scene goes on with, as Apple's sample has it: the activity that is brought to it, or else what it was
    /// doing before.
    package func userActivity(of session: SceneSession?) -> JSONValue? {
        content["userActivities"]?.asArray?.first ?? session?.stateRestorationActivity?.value
    }

    /// The activity that is brought to it, if that is what is brought.
    package var userActivity: SceneContent? {
        guard let value = content["userActivities"]?.asArray?.first else { return nil }
        let contentID = (try? UserActivity(value))?.contentID
        return SceneContent(kind: .userActivity, contentID: contentID, payload: value.serialized())
    }

    private static func members(_ content: SceneContent) -> JSONObject {
        var members = JSONObject()
        let value = (try? JSONValue(parsing: content.payload)) ?? .null
        switch content.kind {
        case .notification:
            let id: JSONValue = content.contentID.map { .string($0.text) } ?? .null
            members["notification"] = ["targetContentIdentifier": id]
        case .userActivity: members["userActivities"] = [value]
        case .url: members["urlContexts"] = [value]
        case .shortcutItem: members["shortcutItem"] = value
        }
        return members
    }
}
