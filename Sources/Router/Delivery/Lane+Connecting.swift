import RouterPlugin

// The delegate hears which sessions are gone before a scene of the application connects, if it can be told now:
//
//     delegate's lane    discarded ──▶ being told, or about to be ──▶ told, or put off
//     a scene's lane          willConnect waits ···················▶ goes
//
// One that is down is not waited for: windows do not stop because a server does.

extension Lane {
    /// The first word of discarded sessions that has not been taken.
    var untoldDiscard: NotificationSequence? {
        guard hasDiscards else { return nil }
        return queue.first { $0.notification.event?.kind == .didDiscardSceneSessions }?.notification.sequence
    }

    /// The delivery that would tell the session to connect, if that is what would start now.
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

    /// Whether something is under way, or may start now.
    func isGoing(at now: Timestamp, isBlocked: Bool) -> Bool {
        if inFlight > 0 { return true }
        guard !isClosed, !isBlocked else { return false }
        guard let next = queue.first(where: { $0.machine.isWaiting && !$0.isEnding }) else { return false }
        return next.machine.progress.notBefore.map { $0 <= now } ?? true
    }
}

extension LanePlanner {
    /// Whether the lane's scene would connect before the delegate is told of discarded sessions, if it is about to be
    /// told.
    func isEarly(_ key: SessionKey, _ terms: LaneTerms, at now: Timestamp) -> Bool {
        let delegateKey = SessionKey.delegate(of: key.application)
        guard !key.session.isDelegate, let delegate = lanes[delegateKey], let discard = delegate.untoldDiscard,
            let connect = lanes[key]?.nextConnect(terms, at: now)
        else { return false }
        return discard < connect && delegate.isGoing(at: now, isBlocked: dispatcher.blockedOn(delegateKey) != nil)
    }
}
