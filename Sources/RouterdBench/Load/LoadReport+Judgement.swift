/// The judgement of a run: its failures, and its outcome under a goal.
extension LoadReport {
    /// The reasons for which a run has failed, as sentences; empty if it has not.
    package func failures(of goal: LoadGoal? = nil) -> [String] { countFailures(goal) + timeFailures(goal) }

    /// The failures that do not depend on the time that anything took.
    private func countFailures(_ goal: LoadGoal?) -> [String] {
        var failures: [String] = []
        // A run that was ended before its time may have sent nothing.
        if ledger.accepted == 0, !isInterrupted { failures.append("nothing was accepted") }
        if pending > 0, !isInterrupted { failures.append("\(pending) requests have no answer") }
        for count in LoadGoal.Count.allCases {
            let value = ledger.value(of: count)
            if let most = self.most(count, goal), value > most {
                failures.append("\(count.rawValue) \(value), at most \(most)")
            }
        }
        if let daemon, !isInterrupted {
            if let accepted = daemon.accepted, Int(accepted) < ledger.accepted {
                failures.append("the daemon's metrics have \(Int(accepted)) accepted, and not \(ledger.accepted)")
            }
            if let unaccounted = daemon.unaccounted, unaccounted != 0 {
                failures.append("the daemon's metrics have \(Int(unaccounted)) notifications in no state")
            }
        }
        return failures
    }

    /// The bound of a count; nil for none.
    private func most(_ count: LoadGoal.Count, _ goal: LoadGoal?) -> Int? {
        if let most = goal?.counts[count] { return most }
        switch count {
        case .duplicates: return nil
        // A daemon that is killed refuses, and a request that it left without an answer may have been accepted.
        case .refused, .unanswered: return wasKilled ? nil : 0
        case .unexpected: return ledger.value(of: .unanswered)
        // Webhooks that a run no longer waited for are not lost.
        case .lost: return isInterrupted ? nil : 0
        case .misrouted, .overtaken, .forged: return 0
        }
    }

    private func timeFailures(_ goal: LoadGoal?) -> [String] {
        (goal?.bounds ?? []).compactMap { bound in
            guard let times = self.times(of: bound) else { return nil }
            guard times.hasEnough(for: bound.percentile) else {
                return "\(bound.text): no verdict, \(times.count) requests are too few"
            }
            if let noVerdict { return "\(bound.text): no verdict, \(noVerdict)" }
            let value = times.percentile(bound.percentile)
            return value <= bound.milliseconds ? nil : "\(bound.text): it is \(Self.shown(value)) ms"
        }
    }

    private func times(of bound: LoadGoal.Bound) -> LoadTimes? {
        zip(LoadGoal.times, compared).first { $0.0 == bound.times }?.1.times
    }

    /// The outcome of a run that had a goal. Failed requests and lost notifications are never within it.
    package func outcome(_ goal: LoadGoal) -> RateSearch.Outcome {
        if !countFailures(goal).isEmpty { return isInterrupted ? .noVerdict : .exceeded }
        let hasTooFew = goal.bounds.contains { times(of: $0)?.hasEnough(for: $0.percentile) == false }
        guard !isInterrupted else { return .noVerdict }
        guard !hasTooFew else { return .tooFew }
        guard noVerdict == nil else {
            // Requests that took too long on connections of their own did so whatever others waited for.
            let onlyWaits = generator.map { $0.isStarvedOfConnections && $0.isOnTime } ?? false
            let isTooSlow = goal.bounds.contains { bound in
                bound.times == LoadGoal.times[0]
                    && ledger.acceptTimesFromSent.percentile(bound.percentile) > bound.milliseconds
            }
            return onlyWaits && isTooSlow ? .exceeded : .noVerdict
        }
        return timeFailures(goal).isEmpty ? .sustained : .exceeded
    }
}
