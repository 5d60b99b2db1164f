package import RouterPlugin

extension RecoveredState {
    /// The state without waits that no clock can have begun which goes right: one that was ahead when the daemon ran before, and
    /// has been set right since, must not stop a lane for as long as it was ahead.
    ///
    /// What was accepted later than now waits for so much less; a wait that is longer than any may be is over. Scenes were
    /// active, left and leased by now at the latest. It is memory that is corrected: what is kept is written over when it
    /// changes next, and corrected again until then.
    package func corrected(at now: Timestamp) -> RecoveredState {
        var state = self
        let schedules = Dictionary(uniqueKeysWithValues: applications.map { ($0.id, $0.delivery.retrySchedule) })
        for index in state.unsettled.indices {
            state.unsettled[index].correctWaits(schedules[state.unsettled[index].application] ?? [], at: now)
        }
        for index in state.sessions.indices { state.sessions[index].correctTimes(at: now) }
        return state
    }
}

extension UnsettledNotification {
    fileprivate mutating func correctWaits(_ schedule: [Int], at now: Timestamp) {
        let lead = max(0, receivedAt.milliseconds - now.milliseconds)
        heldUntil = heldUntil?.advanced(byMilliseconds: -lead)
        guard let time = progress.notBefore?.advanced(byMilliseconds: -lead) else { return }
        progress.notBefore = time <= now.advanced(byMilliseconds: RetryPolicy.longestWait(in: schedule)) ? time : now
    }
}

extension SceneSession {
    fileprivate mutating func correctTimes(at now: Timestamp) {
        lastActivatedAt = lastActivatedAt.map { min($0, now) }
        discardedAt = discardedAt.map { min($0, now) }
        if let end = leaseExpiresAt, let leaseSeconds {
            leaseExpiresAt = min(end, now.advanced(byMilliseconds: Int64(leaseSeconds) * 1000))
        }
    }
}
