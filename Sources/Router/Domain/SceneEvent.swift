package import RouterPlugin

/// What a scene or an application's delegate is told of the life cycle: UIKit's callbacks, in the words of webhooks.
package enum SceneEventKind: String, CaseIterable, Hashable, Sendable {
    case willConnect = "scene.willConnect"
    case willEnterForeground = "scene.willEnterForeground"
    case didBecomeActive = "scene.didBecomeActive"
    case willResignActive = "scene.willResignActive"
    /// Asks for what the scene is doing; the answer is kept, and handed over when it connects again.
    case stateRestorationActivity = "scene.stateRestorationActivity"
    case didEnterBackground = "scene.didEnterBackground"
    case didDisconnect = "scene.didDisconnect"
    /// Asks for what the scene shows and can show by now.
    case refresh = "scene.refresh"
    /// For the delegate: which configuration a new session is to have.
    case configurationForConnecting = "application.configurationForConnecting"
    /// The application is not to be used now; others are at it.
    case hideApplicationScreen = "scene.hideApplicationScreen"
    /// The application is to be used.
    case showApplicationScreen = "scene.showApplicationScreen"
    /// How far those have come that are at it.
    case showProgressScreen = "scene.showProgressScreen"
    /// For the delegate: sessions are gone for good.
    case didDiscardSceneSessions = "application.didDiscardSceneSessions"
    /// For the delegate, and for the one it is now: which session is responsible for onboarding.
    case onboardingSceneDidChange = "application.onboardingSceneDidChange"
    /// Likewise: which one asks for the passcode.
    case passcodeSceneDidChange = "application.passcodeSceneDidChange"

    /// The state that a session leaves by it; nil for what is no step from one state to another.
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

    /// The state that a session enters by it; nil for what is no step from one state to another.
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

/// The place of an event in the life of its session: which time it is connected, and how many events came before since.
///
/// Numbers of a session only grow. A receiver that has seen one may drop those that are not greater.
package struct EventNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 1 for the first time that the session is connected.
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

/// An event that is to be delivered: an obligation like a notification, but to a receiver that is not chosen.
package struct SceneEvent: Hashable, Sendable {
    package var kind: SceneEventKind
    /// Nil for what is no step of the session's.
    package var number: EventNumber?
    /// Whom it is about, where the delegate is asked about one session.
    package var session: SessionID?

    package init(_ kind: SceneEventKind, _ number: EventNumber? = nil, about session: SessionID? = nil) {
        self.kind = kind
        self.number = number
        self.session = session
    }
}

/// How far a session has come in being connected and told of it.
package struct SceneConnection: Hashable, Sendable {
    /// How often it has been connected.
    package var epoch: Int64
    /// How many events there have been since.
    package var lastEvent: Int64
    /// Whether it is unattached, and has taken a notification that told it to connect: its epoch has begun.
    package var isTold: Bool

    package init(epoch: Int64 = 0, lastEvent: Int64 = 0, isTold: Bool = false) {
        self.epoch = epoch
        self.lastEvent = lastEvent
        self.isTold = isTold
    }

    /// The number under which a notification tells an unattached session to connect.
    package var nextConnect: EventNumber { EventNumber(epoch: isTold ? epoch : epoch + 1, sequence: 1) }

    /// Another epoch begins.
    package mutating func begin() {
        self = SceneConnection(epoch: epoch + 1)
    }

    /// Numbers the next event.
    package mutating func next(_ kind: SceneEventKind) -> SceneEvent {
        lastEvent += 1
        return SceneEvent(kind, EventNumber(epoch: epoch, sequence: lastEvent))
    }
}

/// Why a scene goes for good, in UIKit's words; a hint for how to show it.
package enum Dismissal: String, CaseIterable, Hashable, Sendable {
    /// It was cancelled or deleted.
    case standard
    /// Its purpose is fulfilled.
    case commit
    /// It is kept for later.
    case decline
}

extension SessionID {
    /// In place of a session's, where the application's delegate is the receiver. No session can be named so.
    package static let delegate = SessionID(unchecked: "/delegate")

    /// Whether it names the delegate.
    package var isDelegate: Bool { self == .delegate }
}

extension SessionKey {
    /// Names the application's delegate as a receiver.
    package static func delegate(of application: ApplicationID) -> SessionKey {
        SessionKey(application: application, session: .delegate)
    }
}
