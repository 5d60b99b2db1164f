package import RouterPlugin

/// An event of the life cycle for a scene or an application's delegate: UIKit's callbacks, under their webhook names.
package enum SceneEventKind: String, CaseIterable, Hashable, Sendable {
    case willConnect = "scene.willConnect"
    case willEnterForeground = "scene.willEnterForeground"
    case didBecomeActive = "scene.didBecomeActive"
    case willResignActive = "scene.willResignActive"
    /// Asks for the scene's restoration activity; the answer is kept, and handed over when the scene connects again.
    case stateRestorationActivity = "scene.stateRestorationActivity"
    case didEnterBackground = "scene.didEnterBackground"
    case didDisconnect = "scene.didDisconnect"
    /// Asks for the content that the scene shows, and for its current activation conditions.
    case refresh = "scene.refresh"
    /// For the delegate: asks for the configuration of a new session.
    case configurationForConnecting = "application.configurationForConnecting"
    /// The application is not to be used now; another session is onboarding or is asked for the passcode.
    case hideApplicationScreen = "scene.hideApplicationScreen"
    /// The application is to be used.
    case showApplicationScreen = "scene.showApplicationScreen"
    /// The progress of the session that is onboarding.
    case showProgressScreen = "scene.showProgressScreen"
    /// For the delegate: sessions are permanently gone.
    case didDiscardSceneSessions = "application.didDiscardSceneSessions"
    /// For the delegate, and for the session that is now responsible: the session responsible for onboarding has
    /// changed.
    case onboardingSceneDidChange = "application.onboardingSceneDidChange"
    /// Likewise: the session that asks for the passcode has changed.
    case passcodeSceneDidChange = "application.passcodeSceneDidChange"

    /// The state that a session leaves by the event; nil if the event is no step between states.
    package var leaves: ActivationState? {
        switch self {
        case .willConnect: .unattached
        case .willEnterForeground, .didDisconnect: .background
        case .didBecomeActive, .didEnterBackground, .stateRestorationActivity: .foregroundInactive
        case .willResignActive: .foregroundActive
        case .refresh, .configurationForConnecting, .hideApplicationScreen, .showApplicationScreen,
            .showProgressScreen, .didDiscardSceneSessions, .onboardingSceneDidChange, .passcodeSceneDidChange:
            nil
        }
    }

    /// The state that a session enters by the event; nil if the event is no step between states.
    package var enters: ActivationState? {
        switch self {
        case .didDisconnect: .unattached
        case .willConnect, .didEnterBackground: .background
        case .willEnterForeground, .willResignActive, .stateRestorationActivity: .foregroundInactive
        case .didBecomeActive: .foregroundActive
        case .refresh, .configurationForConnecting, .hideApplicationScreen, .showApplicationScreen,
            .showProgressScreen, .didDiscardSceneSessions, .onboardingSceneDidChange, .passcodeSceneDidChange:
            nil
        }
    }
}

/// The place of an event in the life of its session: the count of its connections, and the count of events since the
/// last.
///
/// Numbers of a session only grow. A receiver that has seen one may drop events whose number is not greater.
package struct EventNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 1 for the first connection of the session.
    package var epoch: Int64
    /// 1 for the first event of its epoch.
    package var sequence: Int64

    package init(epoch: Int64, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    package var description: String { "\(epoch).\(sequence)" }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        (lhs.epoch, lhs.sequence) < (rhs.epoch, rhs.sequence)
    }
}

/// An event to deliver: an obligation like a notification, but to a fixed receiver.
package struct SceneEvent: Hashable, Sendable {
    package var kind: SceneEventKind
    /// Nil if the event is no step of the session.
    package var number: EventNumber?
    /// The session that the event is about, where the delegate is asked about one session.
    package var session: SessionID?

    package init(_ kind: SceneEventKind, _ number: EventNumber? = nil, about session: SessionID? = nil) {
        self.kind = kind
        self.number = number
        self.session = session
    }
}

/// The progress of a session in connecting, and in being told of it.
package struct SceneConnection: Hashable, Sendable {
    /// The number of connections so far.
    package var epoch: Int64
    /// The number of events since the last one.
    package var lastEvent: Int64
    /// Whether the session is unattached, and has received a notification that told it to connect: its epoch has begun.
    package var isTold: Bool

    package init(epoch: Int64 = 0, lastEvent: Int64 = 0, isTold: Bool = false) {
        self.epoch = epoch
        self.lastEvent = lastEvent
        self.isTold = isTold
    }

    /// The number under which a notification tells an unattached session to connect.
    package var nextConnect: EventNumber { EventNumber(epoch: isTold ? epoch : epoch + 1, sequence: 1) }

    /// Begins the next epoch.
    package mutating func begin() {
        self = SceneConnection(epoch: epoch + 1)
    }

    /// Numbers the next event.
    package mutating func next(_ kind: SceneEventKind) -> SceneEvent {
        lastEvent += 1
        return SceneEvent(kind, EventNumber(epoch: epoch, sequence: lastEvent))
    }
}

/// Why a scene is permanently gone, in UIKit's terms; a hint for how to show it.
package enum Dismissal: String, CaseIterable, Hashable, Sendable {
    /// The scene was cancelled or deleted.
    case standard
    /// The scene has served its purpose.
    case commit
    /// The scene's work is kept for later.
    case decline
}

extension SessionID {
    /// The id in place of a session's, where the application's delegate is the receiver. No session can have this id.
    package static let delegate = SessionID(unchecked: "/delegate")

    /// Whether the id is the delegate's.
    package var isDelegate: Bool { self == .delegate }
}

extension SessionKey {
    /// The key of the application's delegate as a receiver.
    package static func delegate(of application: ApplicationID) -> SessionKey {
        SessionKey(application: application, session: .delegate)
    }
}
