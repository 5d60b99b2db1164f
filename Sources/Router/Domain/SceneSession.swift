package import PredicateEngine
package import RouterPlugin

/// Identifies a session among all applications. All state of a session is kept under this key.
package struct SessionKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let application: ApplicationID
    package let session: SessionID

    package init(application: ApplicationID, session: SessionID) {
        self.application = application
        self.session = session
    }

    package var description: String { "\(application)/\(session)" }

    package static func < (lhs: SessionKey, rhs: SessionKey) -> Bool {
        lhs.application == rhs.application ? lhs.session < rhs.session : lhs.application < rhs.application
    }
}

/// The contents that a scene can show, and those that it prefers: UIKit's `UISceneActivationConditions`.
package struct ActivationConditions: Hashable, Sendable {
    package var canActivate: Predicate
    package var prefersToActivate: Predicate
    /// Sessions that prefer the same content rank by this level, the greatest first.
    package var preferenceLevel: Int

    /// UIKit's defaults: the session can show everything and prefers nothing.
    package init(
        canActivate: Predicate = .alwaysTrue, prefersToActivate: Predicate = .alwaysFalse, preferenceLevel: Int = 0
    ) {
        self.canActivate = canActivate
        self.prefersToActivate = prefersToActivate
        self.preferenceLevel = preferenceLevel
    }
}

/// A receiver that persists: UIKit's `UISceneSession` with the conditions of its scene.
package struct SceneSession: Hashable, Sendable {
    package var key: SessionKey
    package var role: String
    package var configuration: String
    package var device: DeviceID?
    package var activationState: ActivationState
    package var conditions: ActivationConditions
    /// The session's own endpoint; nil takes the configuration's endpoint.
    package var endpoint: Endpoint?
    package var stateRestorationActivity: JSONDocument?
    package var userInfo: JSONDocument
    /// How long the session counts as connected without a request from it; nil for any time.
    package var leaseSeconds: Int?
    /// The time at which the lease lapses unless renewed.
    package var leaseExpiresAt: Timestamp?
    /// The time at which it last became `foregroundActive`.
    package var lastActivatedAt: Timestamp?
    /// Position in the order of creation over all sessions; the last tie-break of the choice.
    package var creationSequence: Int64
    /// Why the session takes no part in routing, and since when; nil if it takes part.
    package var disabled: Disabled?
    package var connection: SceneConnection
    /// The time at which it was discarded, if it exists only until its scene has been told.
    package var discardedAt: Timestamp?
    /// The observers of the session, in calling order, called after those of its application.
    package var observers: [PluginID]
    /// The place of waiting deliveries during an absence; nil for the default of the endpoint.
    package var whileAway: WhileAway?

    package init(
        key: SessionKey, role: String, configuration: String, device: DeviceID? = nil,
        activationState: ActivationState = .unattached, conditions: ActivationConditions = ActivationConditions(),
        endpoint: Endpoint? = nil, stateRestorationActivity: JSONDocument? = nil,
        userInfo: JSONDocument = .emptyObject, leaseSeconds: Int? = nil, leaseExpiresAt: Timestamp? = nil,
        lastActivatedAt: Timestamp? = nil, creationSequence: Int64 = 0, disabled: Disabled? = nil,
        connection: SceneConnection = SceneConnection(), discardedAt: Timestamp? = nil, observers: [PluginID] = [],
        whileAway: WhileAway? = nil
    ) {
        self.key = key
        self.role = role
        self.configuration = configuration
        self.device = device
        self.activationState = activationState
        self.conditions = conditions
        self.endpoint = endpoint
        self.stateRestorationActivity = stateRestorationActivity
        self.userInfo = userInfo
        self.leaseSeconds = leaseSeconds
        self.leaseExpiresAt = leaseExpiresAt
        self.lastActivatedAt = lastActivatedAt
        self.creationSequence = creationSequence
        self.disabled = disabled
        self.connection = connection
        self.discardedAt = discardedAt
        self.observers = observers
        self.whileAway = whileAway
    }

    /// Enters a state; the time of becoming active is kept, for it ranks sessions.
    package mutating func enter(_ state: ActivationState, at now: Timestamp) {
        if state == .foregroundActive, activationState != .foregroundActive { lastActivatedAt = now }
        if state == .unattached { leaveDemo() }
        activationState = state
    }

    /// Prefers a content, for which it is made, until its scene says otherwise. Without a content it prefers none.
    mutating func prefer(_ content: ContentID?) {
        guard let content, let equality = try? Predicate(format: "SELF == %@", arguments: [.string(content.text)])
        else {
            return
        }
        conditions.prefersToActivate = equality
    }

    /// Renews the lease: any request from the session does so.
    package mutating func renewLease(at now: Timestamp) {
        leaseExpiresAt = leaseSeconds.map { now.advanced(byMilliseconds: Int64($0) * 1000) }
    }
}

/// The place of waiting deliveries while the receiver is unreachable.
package enum WhileAway: String, CaseIterable, Hashable, Sendable {
    /// The next best reachable session; the default of streams.
    case next
    /// The lane of the session; the default of URLs.
    case wait
}

/// The reason why a session takes no part in routing, and the time.
package struct Disabled: Hashable, Sendable {
    package var reason: DisabledReason
    /// Nil if the session was disabled by a version that did not store the time.
    package var since: Timestamp?

    package init(_ reason: DisabledReason, since: Timestamp?) {
        self.reason = reason
        self.since = since
    }
}

/// Why a session takes no part in routing.
package enum DisabledReason: Hashable, Sendable {
    /// Its endpoint answered 410 Gone.
    case gone
    /// It shows the demo under the demo's configuration, and returns to this one afterwards.
    case demo(insteadOf: String)
    /// Its role is to be told the events of other sessions.
    case observer

    /// The reason in a word, for clients and operators.
    package var name: String {
        switch self {
        case .gone: "gone"
        case .demo: "demo"
        case .observer: "observer"
        }
    }
}

extension SceneSession {
    /// Whether its endpoint has answered 410 Gone.
    package var isGone: Bool { if case .gone? = disabled?.reason { true } else { false } }

    /// Whether it shows the demo, and takes no part in routing and at its gate.
    package var isInDemo: Bool { if case .demo? = disabled?.reason { true } else { false } }

    /// Whether it is told the events of other sessions, and takes no part in routing and at a gate.
    package var isObserver: Bool { if case .observer? = disabled?.reason { true } else { false } }

    /// Whether it is left out of routing although it is there.
    package var takesNoPart: Bool { isInDemo || isObserver }

    /// Takes part or does not, as its role has it.
    mutating func takePart(at now: Timestamp) {
        if role.isSame(as: SceneRole.observer) {
            if disabled == nil { disabled = Disabled(.observer, since: now) }
        } else if isObserver {
            disabled = nil
        }
    }

    /// Shows the demo, which is a configuration of the application.
    mutating func enterDemo(_ demo: String, at now: Timestamp) {
        disabled = Disabled(.demo(insteadOf: configuration), since: now)
        configuration = demo
    }

    /// Returns to the configuration from before the demo, if the session shows one.
    package mutating func leaveDemo() {
        guard case .demo(let known)? = disabled?.reason else { return }
        (configuration, disabled) = (known, nil)
    }

    /// The session as it is when it has left the demo.
    var afterDemo: SceneSession {
        var session = self
        session.leaveDemo()
        return session
    }
}
