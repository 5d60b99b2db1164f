import Router
import RouterPlugin

/// The events that scenes were sent, from commits, never from the sessions' own counters.
struct SceneWatch {
    /// The progress of a session.
    struct Told: Hashable {
        var number = EventNumber(epoch: 0, sequence: 0)
        var state = ActivationState.unattached
        /// Whether a notification told it to connect, and it has not reported that it is connected.
        var isAwaited = false
    }

    /// Events that are no part of a session's life.
    static let eventsOfGates: Set<SceneEventKind> = [
        .hideApplicationScreen, .showApplicationScreen, .showProgressScreen, .onboardingSceneDidChange,
        .passcodeSceneDidChange,
    ]

    var told: [SessionKey: Told] = [:]
    /// The number under which a notification last told the session to connect.
    var connects: [SessionKey: EventNumber] = [:]

    /// Records a committed event; returns the violation, if there is one.
    ///
    /// - Parameter hasTakenNotification: Whether a notification of its lane was delivered in this transaction: the
    ///   answer may have reported that the session is connected.
    mutating func add(_ event: SceneEvent, of key: SessionKey, hasTakenNotification: Bool) -> String? {
        guard let number = event.number else { return "an event of no session, for \(key)" }
        guard let enters = event.kind.enters, let leaves = event.kind.leaves else {
            return add(event.kind, number, of: key)
        }
        var last = told[key] ?? Told()
        if last.isAwaited, leaves != .unattached {
            // It has reported that it is connected, or that it will not be.
            last.isAwaited = false
            last.state = .background
        }
        let told = EventNumber(epoch: last.number.epoch + 1, sequence: 1)
        if hasTakenNotification, last.state == .unattached, leaves != .unattached, connects[key] == told {
            last = Told(number: told, state: .background)
        }
        let expected =
            event.kind == .willConnect
            ? EventNumber(epoch: last.number.epoch + 1, sequence: 1)
            : EventNumber(epoch: last.number.epoch, sequence: last.number.sequence + 1)
        // A lease may lapse in any state but this.
        let isLegal = event.kind == .didDisconnect ? last.state != .unattached : last.state == leaves
        self.told[key] = Told(number: number, state: enters)
        if !isLegal { return "\(event.kind.rawValue) of \(key) in state \(last.state)" }
        return number == expected ? nil : "event \(number) of \(key) after \(last.number)"
    }

    /// Records an event that is no step: a connected scene receives it, and stays in its state.
    private mutating func add(_ kind: SceneEventKind, _ number: EventNumber, of key: SessionKey) -> String? {
        var last = told[key] ?? Told()
        if last.isAwaited {
            last.isAwaited = false
            last.state = .background
        }
        let isNext = number == EventNumber(epoch: last.number.epoch, sequence: last.number.sequence + 1)
        let isLegal = last.state != .unattached && isNext
        last.number = number
        told[key] = last
        return isLegal ? nil : "\(kind.rawValue) \(number) of \(key) after \(last.number) in state \(last.state)"
    }

    /// Checks the session after a transaction; returns the violation, if there is one.
    ///
    /// - Parameters:
    ///   - mayJump: Whether its state may differ from the last state that events led to.
    ///   - hasTakenNotification: Whether a notification of its lane was delivered in this transaction.
    mutating func settle(_ session: SceneSession, mayJump: Bool, hasTakenNotification: Bool) -> String? {
        let key = session.key
        let last = told[key] ?? Told()
        let number = EventNumber(epoch: session.connection.epoch, sequence: session.connection.lastEvent)
        let now = Told(number: number, state: session.activationState, isAwaited: session.connection.isTold)
        told[key] = now
        if now == last { return nil }
        if last.isAwaited, !now.isAwaited, now.state == .background, number == last.number { return nil }
        let isReached = now.isAwaited ? now.state == .unattached : now.state == .background
        if !last.isAwaited, hasTakenNotification, last.state == .unattached, isReached, number == connects[key],
            number == EventNumber(epoch: last.number.epoch + 1, sequence: 1)
        {
            return nil
        }
        if mayJump, number >= EventNumber(epoch: last.number.epoch, sequence: 0) { return nil }
        return "\(key) is \(now), and was told \(last)"
    }
}
