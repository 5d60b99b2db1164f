package import RouterPlugin

extension RecoveredState {
    /// Ends waits that a correct clock cannot have begun: a clock that was ahead when the daemon ran before, and has been
    /// set right since, must not stop a lane for as long as it was ahead. Returns whether there were any.
    ///
    /// The waits of notifications that were accepted later than now are shortened by the difference; a wait beyond the
    /// longest possible one is over. Scenes were active, left and leased by now at the latest. The correction is one of
    /// memory: stored values stay until their next change, and are corrected again at each start until then.
    package mutating func correct(at now: Timestamp) -> Bool {
        var isCorrected = false
        let schedules = Dictionary(uniqueKeysWithValues: applications.map { ($0.id, $0.delivery.retrySchedule) })
        for index in unsettled.indices {
            let schedule = schedules[unsettled[index].application] ?? []
            isCorrected = unsettled[index].correctWaits(schedule, at: now) || isCorrected
        }
        for index in sessions.indices { isCorrected = sessions[index].correctTimes(at: now) || isCorrected }
        return isCorrected
    }
}

extension UnsettledNotification {
    fileprivate mutating func correctWaits(_ schedule: [Int], at now: Timestamp) -> Bool {
        let lead = max(0, receivedAt.milliseconds - now.milliseconds)
        let latest = now.advanced(byMilliseconds: RetryPolicy.longestWait(in: schedule))
        guard lead > 0 || progress.notBefore.map({ $0 > latest }) == true else { return false }
        heldUntil = heldUntil?.advanced(byMilliseconds: -lead)
        progress.notBefore = progress.notBefore?.advanced(byMilliseconds: -lead)
        if let time = progress.notBefore, time > latest { progress.notBefore = now }
        return true
    }
}

extension SceneSession {
    fileprivate mutating func correctTimes(at now: Timestamp) -> Bool {
        var isCorrected = false
        func bound(_ time: inout Timestamp?, _ latest: Timestamp) {
            guard let known = time, known > latest else { return }
            time = latest
            isCorrected = true
        }
        bound(&lastActivatedAt, now)
        bound(&discardedAt, now)
        let lease = leaseSeconds.map { Int64($0) * 1000 } ?? RouterLimits.gateLeaseMilliseconds
        bound(&leaseExpiresAt, now.advanced(byMilliseconds: lease))
        return isCorrected
    }
}
