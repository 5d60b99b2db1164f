import RouterPlugin

// The delegate is told which sessions were discarded before a scene of the application connects, if it can be told now:
//
//     delegate's lane    discarded ──▶ being told, or about to be ──▶ told, or put off
//     a scene's lane          willConnect waits ···················▶ goes
//
// Scenes do not wait for a delegate that is down: windows go on when a server stops.

extension Lane {
    /// The first event of discarded sessions that the delegate has not received.
    var untoldDiscard: NotificationSequence? {
        guard hasDiscards else { return nil }
        return queue.first { $0.notification.event?.kind == .didDiscardSceneSessions }?.notification.sequence
    }

    /// The delivery that would tell the session to connect, if it is the next to start.
    func nextConnect(_ terms: LaneTerms, at now: Timestamp) -> NotificationSequence? {
        guard let index = candidate(at: now, terms.overtakenAfter, isResting(terms.isGated)).index else { return nil }
        let next = queue[index].notification
        let connects =
            if let event = next.event {
                event.kind == .willConnect
            } else if let step = nextStep(after: next.sequence) {
                step.kind == .willConnect
            } else {
                terms.connects
            }
        return connects ? next.sequence : nil
    }

    /// Whether an attempt is under way, or may start now.
    func isGoing(at now: Timestamp, isBlocked: Bool) -> Bool {
        if inFlight > 0 { return true }
        guard !isClosed, !isBlocked else { return false }
        guard let next = queue.first(where: { $0.machine.isWaiting && !$0.isEnding }) else { return false }
        return next.machine.progress.notBefore.map { $0 <= now } ?? true
    }
}

extension LanePlanner {
    /// Whether the lane's scene would connect before the delegate is told of discarded sessions, if the delegate is
    /// about to be told.
    func isEarly(_ key: SessionKey, _ terms: LaneTerms, at now: Timestamp) -> Bool {
        let delegateKey = SessionKey.delegate(of: key.application)
        guard !key.session.isDelegate, let delegate = lanes[delegateKey], let discard = delegate.untoldDiscard,
            let connect = lanes[key]?.nextConnect(terms, at: now)
        else { return false }
        return discard < connect && delegate.isGoing(at: now, isBlocked: dispatcher.blockedOn(delegateKey) != nil)
    }
}
