package import RouterPlugin

/// How many lanes there are in each state. A lane is in one state.
package struct LaneCensus: Hashable, Sendable {
    /// The state of a lane with deliveries.
    package enum State: String, CaseIterable, Hashable, Sendable {
        /// An attempt is under way, and nothing more may start beside it.
        case inFlight
        /// The first delivery waits for the time of its next attempt.
        case retry
        /// It waits for its endpoint: the breaker, a pause, or the few attempts after these.
        case endpoint
        case origin, slowSlots, share, consumer
        /// It has a turn soon, or nothing of it may be sent: its notifications wait for an event.
        case ready
    }

    package private(set) var lanes: [State: Int] = [:]

    package init() {}

    mutating func count(_ state: State) { lanes[state, default: 0] += 1 }
}

extension LaneReport {
    /// Counts the lanes with these keys. A lane that has gone since is not counted.
    package func count(_ keys: ArraySlice<SessionKey>, at now: Timestamp, into census: inout LaneCensus) {
        for key in keys { if let state = state(of: key, at: now) { census.count(state) } }
    }

    private func state(of key: SessionKey, at now: Timestamp) -> LaneCensus.State? {
        guard let lane = planner.lanes[key] else { return nil }
        switch planner.blockedOn(key) {
        case .endpoint: return .endpoint
        case .origin: return .origin
        case .slowSlots: return .slowSlots
        case .originShare, .share, .streamShare: return .share
        case .consumer: return .consumer
        case nil: break
        }
        if lane.inFlight > 0 { return .inFlight }
        // No attempt is under way, so the first delivery waits.
        let notBefore = lane.queue.first?.machine.progress.notBefore
        return notBefore.map { $0 > now } ?? false ? .retry : .ready
    }
}
