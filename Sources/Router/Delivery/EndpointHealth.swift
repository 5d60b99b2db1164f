package import RouterPlugin

/// What is known of an endpoint that is in use or has been in trouble; of the others nothing is kept.
package struct EndpointHealth: Sendable {
    package internal(set) var breaker = Breaker()
    /// The receiver has asked to be left alone until then.
    package internal(set) var gatedUntil: Timestamp?
    /// Attempts that are under way.
    package internal(set) var underWay = 0
    /// How many quick answers are missing until it does not count as slow any more; 0 if it does not.
    private var quickAnswersMissing = 0
    /// Whether the last attempt could not be made, for want of a thread, a socket or memory.
    var wasNotSent = false
    /// For when a timer is set already.
    var wakesAt: Timestamp?
    /// What was reported of it, until it takes something.
    private var alert: EndpointAlert?
    private var redirectsInARow = 0
    /// Since when nothing has been under way.
    var idleSince: Timestamp?

    init() {}

    /// Whether its attempts take long, so that they have to share few slots.
    package var isSlow: Bool { quickAnswersMissing > 0 }

    /// Whether its attempts share few slots with one another. Those that this machine could not make do too: if what keeps
    /// them is a name that is not found out, each of them waits for a while, and the others must not wait for them.
    package var sharesFewSlots: Bool { isSlow || wasNotSent }

    /// Whether there is nothing to remember.
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

    /// What time alone changes.
    mutating func notice(_ now: Timestamp) {
        if let gated = gatedUntil, gated <= now { gatedUntil = nil }
        if underWay == 0, idleSince == nil { idleSince = now }
    }

    /// Whether an attempt may start.
    package func admits(at now: Timestamp) -> Breaker.Admission {
        if let gatedUntil, gatedUntil > now { return .wait(until: gatedUntil) }
        return breaker.admits(underWay: underWay, at: now)
    }

    /// An attempt has taken that long. One that has run out of its time is slow, however short an application makes that:
    /// it would have gone on.
    mutating func took(milliseconds: Int64, hasRunOutOfTime: Bool) {
        wasNotSent = false
        if milliseconds >= RouterLimits.slowAttemptMilliseconds || hasRunOutOfTime {
            quickAnswersMissing = RouterLimits.quickAnswersToRecover
        } else if quickAnswersMissing > 0 {
            quickAnswersMissing -= 1
        }
    }

    /// What an operator should hear of, once; nil if there is nothing new.
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
