import RouterPlugin

/// Endpoints: learning from attempts, and waking the lanes blocked on an endpoint.
extension Dispatcher {
    /// Learns from an attempt that has ended.
    ///
    /// - Parameters:
    ///   - lane: The lane of the delivery.
    ///   - isForSession: Whether the receiver's answer is about that session alone.
    ///   - status: The status of the receiver's answer; nil if there was none.
    ///   - milliseconds: The duration of the attempt.
    ///   - hasRunOutOfTime: Whether a limit of time has ended the attempt.
    mutating func learn(
        from sequence: NotificationSequence, in lane: SessionKey?, _ outcome: ResponseClass,
        isForSession: Bool = false, status: Int?, milliseconds: Int64, hasRunOutOfTime: Bool,
        using generator: inout some RandomNumberGenerator
    ) {
        guard let flight = flights[sequence], var health = endpoints[flight.endpoint] else { return }
        // A receiver that takes long to acknowledge uses no resource that others wait for.
        health.took(
            milliseconds: flight.isStream ? 0 : milliseconds, hasRunOutOfTime: hasRunOutOfTime && !flight.isStream)
        var signal = outcome.signal(status: status)
        // The receiver is connected: a time-out of its stream is the silence of a person.
        if flight.isStream, outcome == .unreachable(.timedOut) { signal = .nothing }
        // An answer about one session says that the receiver of the others is there.
        if isForSession, case .failed = signal { signal = .answered }
        if flight.isShared, let lane {
            let evidence = count(signal, of: lane, at: flight.endpoint, using: &generator)
            // A probe is made to learn about the endpoint, whichever session it is for.
            if !flight.isProbe { signal = evidence }
        }
        let transition = health.breaker.ended(
            signal, isProbe: flight.isProbe, isShared: flight.isShared, at: now, using: &generator)
        // After the answer has been counted, so that the slow start begins again.
        if !isForSession, let asked = outcome.pause {
            let wait = Int64(RetryPolicy.gateWait(asked: asked)) * 1000
            health.gate(until: now.advanced(byMilliseconds: wait))
        }
        if transition?.to == .open { openedBy[flight.endpoint] = lane }
        if let alert = health.newAlert(outcome) { report(.alert(flight.endpoint, alert)) }
        endpoints[flight.endpoint] = health
        if let transition { report(.breaker(flight.endpoint, transition)) }
    }

    /// Counts the outcome of a session at an endpoint that it shares. Returns the evidence about the endpoint: a session that
    /// fails again is none.
    private mutating func count(
        _ signal: Breaker.Signal, of lane: SessionKey, at endpoint: EndpointKey,
        using generator: inout some RandomNumberGenerator
    ) -> Breaker.Signal {
        switch signal {
        case .nothing: return signal
        case .answered:
            forgetTrouble(of: lane, at: endpoint, .answered)
            return signal
        case .failed(let reason):
            let known = troubles[endpoint]?[lane]
            var trouble = known ?? SessionTrouble()
            if trouble.failed(reason, at: now, using: &generator) {
                let transition = Breaker.Transition(from: .closed, to: .open, reason: reason, at: now)
                report(.sessionBreaker(lane, endpoint, transition))
            }
            troubles[endpoint, default: [:]][lane] = trouble
            return known == nil ? signal : .nothing
        }
    }

    /// The trouble of a session at an endpoint that it shares; nil if its last attempt was answered.
    func trouble(of lane: SessionKey, at endpoint: EndpointKey) -> SessionTrouble? {
        troubles.isEmpty ? nil : troubles[endpoint]?[lane]
    }

    /// Forgets the failures of a session at an endpoint.
    mutating func forgetTrouble(of lane: SessionKey, at endpoint: EndpointKey, _ reason: Breaker.Reason) {
        guard !troubles.isEmpty, let trouble = troubles[endpoint]?.removeValue(forKey: lane) else { return }
        if troubles[endpoint]?.isEmpty == true { troubles[endpoint] = nil }
        guard trouble.until != nil else { return }
        report(.sessionBreaker(lane, endpoint, Breaker.Transition(from: .open, to: .closed, reason: reason, at: now)))
    }

    /// Forgets the failures of a session that is gone.
    mutating func forgetTroubles(of lane: SessionKey) {
        guard !troubles.isEmpty else { return }
        for endpoint in troubles.keys.sorted() where troubles[endpoint]?[lane] != nil {
            forgetTrouble(of: lane, at: endpoint, .forgotten)
        }
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
        if endpoints.values[place].isPristine, !isAwaited, troubles.isEmpty || troubles[endpoint] == nil {
            endpoints.remove(at: place)
            if !openedBy.isEmpty { openedBy[endpoint] = nil }
        } else if let idleSince = endpoints.values[place].idleSince {
            // Lanes that are no longer blocked may still be in its wait list; the endpoint is reconsidered all the
            // same.
            let since = isAwaited || hasSlowLanes(endpoint) ? now : idleSince
            let end = since.advanced(byMilliseconds: RouterLimits.endpointMemoryMilliseconds)
            if end > now {
                wake(endpoint, at: end)
            } else if let pause = lastPause(at: endpoint), pause > now {
                wake(endpoint, at: pause)
            } else {
                forget(endpoint)
            }
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

    /// The end of the last pause of a session at the endpoint; nil if none pauses.
    private func lastPause(at endpoint: EndpointKey) -> Timestamp? {
        troubles.isEmpty ? nil : troubles[endpoint]?.values.compactMap(\.until).max()
    }

    private mutating func forget(_ endpoint: EndpointKey) {
        let health = endpoints.removeValue(forKey: endpoint)
        openedBy[endpoint] = nil
        for lane in (troubles.isEmpty ? nil : troubles[endpoint]?.keys.sorted()) ?? [] {
            forgetTrouble(of: lane, at: endpoint, .forgotten)
        }
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
