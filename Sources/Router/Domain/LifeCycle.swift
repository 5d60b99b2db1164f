package import RouterPlugin

extension ActivationState {
    /// The states that may follow this one, as UIKit's scenes move. To the foreground and back a scene passes
    /// `foregroundInactive`, which may be left out of a report; but it is connected before it is active, and in the
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

    /// Whether a session that is in this state may report the other one; to stay is always allowed.
    package func mayBecome(_ state: ActivationState) -> Bool { state == self || successors.contains(state) }
}

extension SceneSession {
    /// Moves to a state, through all those between.
    ///
    ///     unattached ⇄ background ⇄ foregroundInactive ⇄ foregroundActive
    ///
    /// Each step is one event, with the session as it is after that step; before the step to the background the scene is
    /// asked what it is doing, as that may be its last word. A session that a notification has told to
    /// connect is not told again; one that goes back on it is told that it is disconnected.
    ///
    /// - Parameter isKept: Whether there is somebody to keep what the scene is doing.
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

    /// Stands in a state because it says so, not because it has moved there: nobody is told, but to be connected again
    /// is another epoch.
    package mutating func register(_ state: ActivationState, at now: Timestamp) {
        if state != .unattached, activationState == .unattached, !connection.isTold { connection.begin() }
        if state != .unattached { connection.isTold = false }
        enter(state, at: now)
    }

    /// Is not connected any more, from wherever it stands: nobody was there to walk the steps.
    package mutating func drop(telling tell: (SceneEvent, SceneSession) -> Void) {
        guard activationState != .unattached else { return }
        activationState = .unattached
        tell(connection.next(.didDisconnect), self)
    }
}

extension SceneSession {
    /// The steps by which the session has come from where it stood to where it stands, whether or not anybody was told;
    /// none if it was registered there, or has stayed.
    ///
    /// That it has moved shows in its numbers: `pass` and `drop` count each step, and `register` counts none.
    package func steps(since before: SceneSession) -> [SceneEventKind] {
        let isSameEpoch = connection.epoch == before.connection.epoch
        let counted = connection.lastEvent - (isSameEpoch ? before.connection.lastEvent : 0)
        guard counted > 0 || isSameEpoch && before.connection.isTold && !connection.isTold else { return [] }
        let steps = SceneEventKind.steps(from: before.activationState, to: activationState)
        // Nobody was there to walk the steps.
        return activationState == .unattached && counted < Int64(steps.count) ? steps.suffix(1) : steps
    }
}

extension SceneEventKind {
    /// The events of all steps on the way from one state to another one.
    package static func steps(from state: ActivationState, to goal: ActivationState) -> [SceneEventKind] {
        var steps: [SceneEventKind] = []
        var place = state
        while let step = step(from: place, towards: goal), let next = step.enters {
            steps.append(step)
            place = next
        }
        return steps
    }

    /// The event of the first step on the way from one state to another one; nil if they are the same.
    fileprivate static func step(from state: ActivationState, towards goal: ActivationState) -> SceneEventKind? {
        allCases.first { kind in
            guard let enters = kind.enters, kind.leaves == state else { return false }
            return goal > state ? enters > state : goal < state && enters < state
        }
    }
}
