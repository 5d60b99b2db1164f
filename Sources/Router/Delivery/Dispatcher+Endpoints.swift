import RouterPlugin

/// Endpoints: learning from attempts, and waking the lanes blocked on an endpoint.
extension Dispatcher {
    /// Learns from an attempt that has ended.
    ///
    /// - Parameters:
    ///   - lane: The lane of the delivery.
    ///   - status: The status of the receiver's answer; nil if there was none.
    ///   - milliseconds: The duration of the attempt.
    ///   - hasRunOutOfTime: Whether a limit of time has ended the attempt.
    mutating func learn(
        from sequence: NotificationSequence, in lane: SessionKey?, _ outcome: ResponseClass, status: Int?,
        milliseconds: Int64, hasRunOutOfTime: Bool, using generator: inout some RandomNumberGenerator
    ) {
        guard let flight = flights[sequence], var health = endpoints[flight.endpoint] else { return }
        health.took(milliseconds: milliseconds, hasRunOutOfTime: hasRunOutOfTime)
        let transition = health.breaker.ended(
            outcome.signal(status: status), isProbe: flight.isProbe, at: now, using: &generator)
        // After the answer has been counted, so that the slow start begins again.
        if let asked = outcome.pause {
            let wait = Int64(RetryPolicy.gateWait(asked: asked)) * 1000
            health.gate(until: now.advanced(byMilliseconds: wait))
        }
        if transition?.to == .open { openedBy[flight.endpoint] = lane }
        if let alert = health.newAlert(outcome) { report(.alert(flight.endpoint, alert)) }
        endpoints[flight.endpoint] = health
        if let transition { report(.breaker(flight.endpoint, transition)) }
    }

    /// Notes that the attempt could not be made, for want of a thread, a socket or memory.
    mutating func noteNotSent(_ sequence: NotificationSequence) {
        if let flight = flights[sequence] { endpoints[flight.endpoint]?.wasNotSent = true }
    }

    /// Closes the endpoint's breaker and ends its pause: an operator reports that the receiver works again.
    mutating func resume(_ endpoint: EndpointKey) {
        guard endpoints[endpoint] != nil else { return }
        endpoints[endpoint]?.gatedUntil = nil
        if let transition = endpoints[endpoint]?.breaker.resume(at: now) { report(.breaker(endpoint, transition)) }
        reconsider(endpoint)
    }

    /// The timer of the endpoint has fired.
    mutating func timeHasCome(for endpoint: EndpointKey) {
        guard endpoints[endpoint] != nil else { return }
        endpoints[endpoint]?.wakesAt = nil
        reconsider(endpoint)
    }

    /// A probe that has ended without an outcome opens its breaker again.
    mutating func abandonProbe(at endpoint: EndpointKey) {
        guard endpoints[endpoint]?.breaker.state == .halfOpen else { return }
        var unused = UnusedGenerator()
        let transition = endpoints[endpoint]?.breaker.ended(.nothing, isProbe: true, at: now, using: &unused)
        if let transition { report(.breaker(endpoint, transition)) }
    }

    /// Wakes the lanes that may start at the endpoint now, or sets a timer for the endpoint, or forgets it.
    mutating func reconsider(_ endpoint: EndpointKey) {
        guard let place = endpoints.index(forKey: endpoint) else { return }
        endpoints.values[place].notice(now)
        if !endpoints.values[place].sharesFewSlots { wakeSlowLanes(of: endpoint) }
        if isAwaited(endpoint) { wakeLanes(at: endpoint, endpoints.values[place]) }
        let isAwaited = isAwaited(endpoint)
        if endpoints.values[place].isPristine, !isAwaited {
            endpoints.remove(at: place)
            if !openedBy.isEmpty { openedBy[endpoint] = nil }
        } else if let idleSince = endpoints.values[place].idleSince {
            // Lanes that are no longer blocked may still be in its wait list; the endpoint is reconsidered all the
            // same.
            let since = isAwaited || hasSlowLanes(endpoint) ? now : idleSince
            let end = since.advanced(byMilliseconds: RouterLimits.endpointMemoryMilliseconds)
            if end <= now { forget(endpoint) } else { wake(endpoint, at: end) }
        }
    }

    private mutating func wakeLanes(at endpoint: EndpointKey, _ health: EndpointHealth) {
        switch health.admits(at: now) {
        case .wait(let until): wake(endpoint, at: until)
        case .waitForOthers: break
        case .start:
            // As many as slow start has room for, and all lanes of an endpoint that has recovered.
            let isProbing = if case .open = health.breaker.state { true } else { false }
            let room = health.breaker.slowStartLimit.map { max(1, $0 - health.underWay) }
            wakeNext(.endpoint(endpoint), isProbing ? 1 : room ?? .max)
        }
    }

    private mutating func forget(_ endpoint: EndpointKey) {
        let health = endpoints.removeValue(forKey: endpoint)
        openedBy[endpoint] = nil
        if let transition = health?.breaker.forgotten(at: now) { report(.breaker(endpoint, transition)) }
    }

    /// Sets the timer of an endpoint, unless it is set for that time or an earlier one.
    mutating func wake(_ endpoint: EndpointKey, at time: Timestamp) {
        if let set = endpoints[endpoint]?.wakesAt, set <= time { return }
        endpoints[endpoint]?.wakesAt = time
        wakeUps.append((endpoint, at: time))
    }
}

extension ResponseClass {
    /// The pause that the receiver asks for, with its seconds if it names them; nil if it asks for none.
    fileprivate var pause: Int?? {
        switch self {
        case .backPressure(let seconds): .some(seconds)
        case .transient(let seconds?): .some(seconds)
        default: nil
        }
    }

    /// The meaning of the outcome for the breaker.
    fileprivate func signal(status: Int?) -> Breaker.Signal {
        switch self {
        case .success, .rejected, .backPressure, .gone, .refused: .answered
        case .misdirected, .unauthorized, .transient: .failed(.status(status ?? 0))
        case .unreachable(.streamEnded): .nothing
        case .unreachable(let kind): .failed(.failure(kind))
        case .unusable, .egressRefused, .payloadMissing, .formatFailed, .notSent, .notWritten:
            .nothing
        }
    }
}

/// A generator for a call that draws nothing.
private struct UnusedGenerator: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
}
