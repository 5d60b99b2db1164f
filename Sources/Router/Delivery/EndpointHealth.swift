package import RouterPlugin

/// The state of an endpoint that is in use or has had failures; other endpoints have no state.
package struct EndpointHealth: Sendable {
    package internal(set) var breaker = Breaker()
    /// The end of the pause that the receiver has asked for.
    package internal(set) var gatedUntil: Timestamp?
    /// Attempts that are under way.
    package internal(set) var underWay = 0
    /// The number of quick answers until the endpoint no longer counts as slow; 0 if it is not slow.
    private var quickAnswersMissing = 0
    /// Whether the last attempt could not be made, for want of a thread, a socket or memory.
    var wasNotSent = false
    /// The time of the timer that is set.
    var wakesAt: Timestamp?
    /// The alert that was reported, until the endpoint accepts a message.
    private var alert: EndpointAlert?
    private var redirectsInARow = 0
    /// The time since which no attempt has been under way.
    var idleSince: Timestamp?

    init() {}

    /// Whether its attempts take long, so that they have to share few slots.
    package var isSlow: Bool { quickAnswersMissing > 0 }

    /// Whether its attempts share few slots with one another. Attempts that this machine could not make count as slow
    /// too: an attempt may wait for a name that gets no answer, and other endpoints must not wait for it.
    package var sharesFewSlots: Bool { isSlow || wasNotSent }

    /// Whether the state equals that of an unknown endpoint.
    var isPristine: Bool {
        underWay == 0 && !sharesFewSlots && gatedUntil == nil && alert == nil && breaker.isPristine
    }

    /// An attempt starts.
    mutating func started(at now: Timestamp) -> (isProbe: Bool, transition: Breaker.Transition?) {
        let (isProbe, transition) = breaker.started(at: now)
        underWay += 1
        idleSince = nil
        return (isProbe, transition)
    }

    /// Updates the state that depends on time alone.
    mutating func notice(_ now: Timestamp) {
        if let gated = gatedUntil, gated <= now { gatedUntil = nil }
        if underWay == 0, idleSince == nil { idleSince = now }
    }

    /// Whether an attempt may start.
    package func admits(at now: Timestamp) -> Breaker.Admission {
        if let gatedUntil, gatedUntil > now { return .wait(until: gatedUntil) }
        return breaker.admits(underWay: underWay, at: now)
    }

    /// An attempt has taken that long. An attempt that has run out of time counts as slow, however short the
    /// application's limit is: it would have gone on.
    mutating func took(milliseconds: Int64, hasRunOutOfTime: Bool) {
        wasNotSent = false
        if milliseconds >= RouterLimits.slowAttemptMilliseconds || hasRunOutOfTime {
            quickAnswersMissing = RouterLimits.quickAnswersToRecover
        } else if quickAnswersMissing > 0 {
            quickAnswersMissing -= 1
        }
    }

    /// An alert for operators, once for each fault; nil if there is no new one.
    mutating func newAlert(_ outcome: ResponseClass) -> EndpointAlert? {
        redirectsInARow = outcome == .misdirected ? redirectsInARow + 1 : 0
        let found: EndpointAlert? =
            switch outcome {
            case .unauthorized: .credentials
            case .unreachable(.tlsFailed): .certificate
            case .misdirected where redirectsInARow >= RouterLimits.redirectsToReport: .redirects
            default: nil
            }
        if outcome == .success { alert = nil }
        guard let found, found != alert else { return nil }
        alert = found
        return found
    }

    /// The receiver asks for a pause.
    mutating func gate(until time: Timestamp) {
        gatedUntil = max(gatedUntil ?? time, time)
        breaker.pause()
    }
}
