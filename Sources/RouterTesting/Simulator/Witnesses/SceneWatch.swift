import Router
import RouterPlugin

/// What scenes have been told, from what was committed, never from the sessions' own books.
struct SceneWatch {
    /// How far a session has come.
    struct Told: Hashable {
        var number = EventNumber(epoch: 0, sequence: 0)
        var state = ActivationState.unattached
        /// Whether it was told to connect by a notification, and has not said that it is.
        var isAwaited = false
    }

    /// What is no part of a session's life.
    static let eventsOfGates: Set<SceneEventKind> = [
        .hideApplicationScreen, .showApplicationScreen, .showProgressScreen, .onboardingSceneDidChange,
        .passcodeSceneDidChange,
    ]

    var told: [SessionKey: Told] = [:]
    /// Under which number a session was last told to connect by a notification.
    var connects: [SessionKey: EventNumber] = [:]

    /// An event was committed; says what is wrong with it.
    ///
    /// - Parameter hasTakenNotification: Whether a notification of its lane was delivered in this transaction: the answer
    ///   may have said that the session is connected.
    mutating func add(_ event: SceneEvent, of key: SessionKey, hasTakenNotification: Bool) -> String? {
        guard let number = event.number else { return "an event of no session, for \(key)" }
        guard let enters = event.kind.enters, let leaves = event.kind.leaves else {
            return add(event.kind, number, of: key)
        }
        var last = told[key] ?? Told()
        if last.isAwaited, leaves != .unattached {
            // It has said that it is connected, or that it will not be.
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

    /// What is no step: it comes to a connected scene, which stays where it is.
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

    /// The session after a transaction; says what is wrong with it.
    ///
    /// - Parameters:
    ///   - mayJump: Whether it may stand elsewhere than where it was told to go.
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
