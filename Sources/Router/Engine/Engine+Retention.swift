import RouterPlugin

extension Engine {
    /// Forgets the oldest of what is over, as much as a transaction bears. What is committed asks for the next step, so
    /// that others have their turn between two of them.
    mutating func planForget(at now: Timestamp, facts: Facts) throws(MissingFacts) -> Plan {
        let retained = try facts.retained(limit: RouterLimits.forgottenPerTransaction)
        let step = retention.step(retained, at: now)
        var plan = Plan()
        for item in step.forget {
            switch item.subject {
            case .notification(let sequence):
                plan.changes.append(.forget(sequence))
                // Somebody may be about to learn another key of it.
                plan.reads.append(.delivery(sequence))
                plan.writes.append(.delivery(sequence))
            case .answer(let key):
                plan.changes.append(.forgetAnswer(key))
                plan.reads.append(.dedupe(key))
                plan.writes.append(.dedupe(key))
            }
        }
        if step.forget.isEmpty {
            isForgetting = false
            growth = 0
            if let time = step.lookAgainAt { timers.set(.retention, at: time) }
        }
        return plan
    }

    /// Asks for a step, unless one has been asked for.
    mutating func forgetMore() -> [FollowUp] {
        if isForgetting { return [] }
        isForgetting = true
        return [.forget]
    }

    /// Something has ended at that time and is to be forgotten some day.
    mutating func forgetLater(_ end: Timestamp) {
        if let look = retention.look(after: end) { timers.set(.retention, at: look) }
    }

    /// The store has grown by about so much; asks for a step when it may have become too large.
    mutating func grown(by bytes: Int) -> [FollowUp] {
        guard let limit = retention.bytesBetweenLooks else { return [] }
        growth += bytes
        return growth > limit ? forgetMore() : []
    }
}
