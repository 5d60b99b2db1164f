package import RouterPlugin

/// The content that is brought to a scene.
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

/// How a scene is to be presented: UIKit's `UIWindowScene.PresentationStyle`.
package enum PresentationStyle: String, CaseIterable, Hashable, Sendable {
    case automatic, standard, prominent
}

/// Options for the activation of a scene: UIKit's `UIScene.ActivationRequestOptions`.
package struct ActivationOptions: Hashable, Sendable {
    /// The session that requests the activation; a request for a content never brings the requesting session itself
    /// forward.
    package var requestingSession: SessionID?
    package var preferredPresentationStyle: PresentationStyle?

    package init(requestingSession: SessionID? = nil, preferredPresentationStyle: PresentationStyle? = nil) {
        self.requestingSession = requestingSession
        self.preferredPresentationStyle = preferredPresentationStyle
    }
}

/// Why a scene connects: UIKit's `UIScene.ConnectionOptions`, without the scene's restoration activity.
package struct ConnectionOptions: Hashable, Sendable {
    /// The content brought to the scene; empty if there is none.
    package var content: JSONObject
    /// The options of the activation request; nil if the scene connects for its content.
    package var activation: JSONObject?
    /// The gate at which the scene connects; nil if its application has none.
    package var gate: OnboardingGate?
    /// The content of the screen of the scene once it has connected; nil without a gate.
    package var screen: ApplicationScreen?

    /// The options of a scene that connects for a content.
    package init(bringing content: SceneContent? = nil) {
        self.content = content.map(Self.members) ?? JSONObject()
    }

    /// The options of a scene that a request activates.
    package init(activating options: ActivationOptions, bringing content: SceneContent?) {
        self.init(bringing: content)
        var activation = JSONObject()
        activation["requestingSession"] = options.requestingSession.map { .string($0.text) }
        activation["preferredPresentationStyle"] = options.preferredPresentationStyle.map { .string($0.rawValue) }
        self.activation = activation
    }

    /// The options as kept among the facts of an event.
    init(of data: JSONValue) {
        content = data["connectionOptions"]?.asObject ?? JSONObject()
        activation = data["activation"]?.asObject
    }

    /// The content brought to the scene, and its restoration activity.
    func members(for session: SceneSession?) -> JSONObject {
        var members = content
        if let activity = session?.stateRestorationActivity { members["stateRestorationActivity"] = activity.value }
        return members
    }

    /// The activity that the scene continues, as in Apple's sample: the activity brought to it, or else its restoration
    /// activity.
    package func userActivity(of session: SceneSession?) -> JSONValue? {
        content["userActivities"]?.asArray?.first ?? session?.stateRestorationActivity?.value
    }

    /// The content brought to the scene, if it is a user activity.
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
