import RouterPlugin

/// Plans the acknowledgement of a delivery whose attempt has ended meanwhile, or which has come to its end. It sees the
/// application's lanes and held notifications, and adds to a draft.
struct Acknowledging {
    let planner: LanePlanner
    /// Nil if the application is gone.
    let scenes: SceneLifeCycle?

    /// - Parameter isHeld: Whether a notification is held, for a time or a gate.
    func acknowledge(
        _ word: Acknowledgement, isHeld: (NotificationSequence) -> Bool, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        let id = Identity.delivery(of: word.notification)
        guard let stored = try plan.facts.notification(word.notification),
            stored.header.application == word.session.application
        else { return plan.refuse(.unknownDelivery(id)) }
        plan.reads.append(.delivery(stored.sequence))
        guard let delivery = planner.delivery(stored.sequence) else {
            let isItsOwn = !isHeld(stored.sequence) && stored.decision.session == word.session.session
            return isItsOwn ? plan.reply = .acknowledged : plan.refuse(.unknownDelivery(id))
        }
        let notification = delivery.notification
        let attempts = delivery.machine.progress.attempts
        // The attempts of a delivery that has moved may all have been at another session.
        let wasElsewhere =
            stored.attempts.count >= attempts && !stored.attempts.contains { $0.session == word.session.session }
        let wasSent = attempts > 0 && !wasElsewhere || !delivery.machine.isWaiting || notification.isInDoubt
        guard planner.lane(of: stored.sequence) == word.session, wasSent else {
            return plan.refuse(.unknownDelivery(id))
        }
        plan.reply = .acknowledged
        guard !delivery.isEnding else { return }
        switch word.meaning {
        case .taken(let answer):
            let attempt = FinishedAttempt(
                sequence: stored.sequence, number: attempts, session: word.session.session,
                url: "", startedAt: plan.time, result: .acknowledged, answer: answer)
            if answer != nil { _ = scenes?.hear(attempt, in: &plan) }
            plan.settle(stored.sequence, as: .delivered)
        case .refused(let seconds): if let seconds { postpone(delivery, bySeconds: seconds, in: &plan) }
        }
    }

    /// The next attempt is not made before the time that the receiver names.
    private func postpone(_ delivery: QueuedDelivery, bySeconds seconds: Int, in plan: inout PlanDraft) {
        guard delivery.machine.isWaiting, delivery.notification.recall == nil else { return }
        let wait = Int64(RetryPolicy.gateWait(asked: seconds)) * 1000
        let time = plan.time.advanced(byMilliseconds: wait)
        var progress = delivery.machine.progress
        guard progress.notBefore.map({ $0 < time }) ?? true else { return }
        progress.notBefore = time
        plan.changes.append(.reschedule(delivery.notification.sequence, progress: progress))
    }
}
