package import RouterPlugin

extension ActivationState {
    /// The states that may follow this one, as UIKit's scenes move. To the foreground and back a scene passes
    /// `foregroundInactive`, which a report may leave out; but it is connected before it is active, and in the
    /// background before it is reclaimed.
    ///
    /// Source: Apple, "Managing your app's life cycle", and the callbacks of `UISceneDelegate`.
    package var successors: [ActivationState] {
        switch self {
        case .unattached: [.background, .foregroundInactive]
        case .background: [.unattached, .foregroundInactive, .foregroundActive]
        case .foregroundInactive: [.background, .foregroundActive]
        case .foregroundActive: [.background, .foregroundInactive]
        }
    }

    /// Whether a session in this state may report the other state; reporting the same state is always allowed.
    package func mayBecome(_ state: ActivationState) -> Bool { state == self || successors.contains(state) }
}

extension SceneSession {
    /// Moves to a state, through all states between.
    ///
    ///     unattached ⇄ background ⇄ foregroundInactive ⇄ foregroundActive
    ///
    /// Each step is one event, with the session as it is after that step. Before the step to the background the scene
    /// is asked for its restoration activity, as it may not answer again. A session that a notification has told to
    /// connect is not told again; a session that becomes unattached instead is told that it is disconnected.
    ///
    /// - Parameter isKept: Whether the scene's restoration activity would be kept.
    package mutating func pass(
        to state: ActivationState, at now: Timestamp, isKept: Bool = true,
        telling tell: (SceneEvent, SceneSession) -> Void
    ) {
        while activationState != state {
            guard let kind = SceneEventKind.step(from: activationState, towards: state), let next = kind.enters else {
                return
            }
            if kind == .didEnterBackground, isKept { tell(connection.next(.stateRestorationActivity), self) }
            enter(next, at: now)
            if kind == .willConnect {
                if connection.isTold {
                    connection.isTold = false
                    continue
                }
                connection.begin()
            }
            tell(connection.next(kind), self)
        }
        if state == .unattached, connection.isTold {
            connection.isTold = false
            tell(connection.next(.didDisconnect), self)
        }
    }

    /// Enters a registered state without moving there step by step: no event is sent, but a session that becomes
    /// connected begins a new epoch.
    package mutating func register(_ state: ActivationState, at now: Timestamp) {
        if state != .unattached, activationState == .unattached, !connection.isTold { connection.begin() }
        if state != .unattached { connection.isTold = false }
        enter(state, at: now)
    }

    /// Disconnects from any state: the session did not take the steps between itself, so the only event is the
    /// disconnection.
    package mutating func drop(telling tell: (SceneEvent, SceneSession) -> Void) {
        guard activationState != .unattached else { return }
        leaveDemo()
        activationState = .unattached
        tell(connection.next(.didDisconnect), self)
    }
}

extension SceneSession {
    /// The steps that the session has taken since `before`, whether or not they were sent to a receiver; none if the
    /// session was registered in its state, or has stayed in it.
    ///
    /// The session's numbers show whether it moved: `pass` and `drop` count each step, and `register` counts none.
    package func steps(since before: SceneSession) -> [SceneEventKind] {
        let isSameEpoch = connection.epoch == before.connection.epoch
        let counted = connection.lastEvent - (isSameEpoch ? before.connection.lastEvent : 0)
        guard counted > 0 || isSameEpoch && before.connection.isTold && !connection.isTold else { return [] }
        let steps = SceneEventKind.steps(from: before.activationState, to: activationState)
        // The session was disconnected by `drop`, which takes a single step.
        return activationState == .unattached && counted < Int64(steps.count) ? steps.suffix(1) : steps
    }
}

extension SceneEventKind {
    /// The events of all steps from one state to another one.
    package static func steps(from state: ActivationState, to goal: ActivationState) -> [SceneEventKind] {
        var steps: [SceneEventKind] = []
        var place = state
        while let step = step(from: place, towards: goal), let next = step.enters {
            steps.append(step)
            place = next
        }
        return steps
    }

    /// The event of the first step from one state to another one; nil if they are the same.
    fileprivate static func step(from state: ActivationState, towards goal: ActivationState) -> SceneEventKind? {
        allCases.first { kind in
            guard let enters = kind.enters, kind.leaves == state else { return false }
            return goal > state ? enters > state : goal < state && enters < state
        }
    }
}
