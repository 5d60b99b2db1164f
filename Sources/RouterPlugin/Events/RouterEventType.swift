/// The kind of an event. Where webhooks have a name for it, it is that name.
public enum RouterEventType: String, CaseIterable, Hashable, Sendable {
    /// An application was put, for the first time or again.
    case applicationRegistered = "application.registered"
    /// An application is gone, and its sessions with it.
    case applicationDeleted = "application.deleted"

    /// A session was put: it is new, or reports another state without having moved there.
    case sessionRegistered = "session.registered"
    /// The conditions, endpoint, configuration, device or stored data of a session have changed; its state has not.
    case sessionChanged = "session.changed"
    /// A session is gone for good.
    case sessionDiscarded = "session.discarded"
    /// A session takes no part in routing any more.
    case sessionDisabled = "session.disabled"
    /// A session takes part again.
    case sessionEnabled = "session.enabled"

    /// A session is connected: it is in the background.
    case sceneWillConnect = "scene.willConnect"
    /// A session goes to the foreground.
    case sceneWillEnterForeground = "scene.willEnterForeground"
    /// A session is the one that the person uses.
    case sceneDidBecomeActive = "scene.didBecomeActive"
    /// A session is not used any more.
    case sceneWillResignActive = "scene.willResignActive"
    /// A session is in the background.
    case sceneDidEnterBackground = "scene.didEnterBackground"
    /// A session is not connected any more, and is kept.
    case sceneDidDisconnect = "scene.didDisconnect"
    /// A session shows something else: the application, the steps before it, or neither.
    case applicationScreenDidChange = "scene.applicationScreenDidChange"

    /// Another session, or none, is responsible for onboarding.
    case onboardingSceneDidChange = "application.onboardingSceneDidChange"
    /// Another session, or none, asks for the passcode.
    case passcodeSceneDidChange = "application.passcodeSceneDidChange"
    /// A gate has changed its state.
    case gateDidChange = "gate.didChange"
    /// Onboarding at a gate has come a step further.
    case gateDidProgress = "gate.didProgress"

    /// A notification was accepted and decided.
    case notificationAccepted = "notification.accepted"
    /// A notification was decided again.
    case notificationReassigned = "notification.reassigned"
    /// An attempt has come to its end.
    case attemptEnded = "attempt.ended"
    /// The receiver has taken it.
    case notificationDelivered = "notification.delivered"
    /// Its time ran out.
    case notificationExpired = "notification.expired"
    /// It was given up.
    case notificationDeadLettered = "notification.deadLettered"
    /// A newer one replaced it.
    case notificationSuperseded = "notification.superseded"
    /// A client cancelled it.
    case notificationCancelled = "notification.cancelled"

    /// The types that a name means: its own, or with a `*` at the end all that begin so; none if there are no such
    /// types.
    public static func named(_ name: String) -> [RouterEventType] {
        allCases.filter { type in
            name.utf8.last == UInt8(ascii: "*")
                ? type.rawValue.utf8.starts(with: name.utf8.dropLast()) : type.rawValue.utf8.elementsEqual(name.utf8)
        }
    }
}
