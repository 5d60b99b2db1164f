package import RouterPlugin

/// Whether a call-out is worth a request: after some faults one after the other it is left alone for a time that doubles,
/// and after more of them it is out of use until it is enabled.
package struct CallOutHealth: Hashable, Sendable {
    /// The number of faults after which the next request waits.
    private static let patience = 3
    private static let firstWaitMilliseconds: Int64 = 200
    private static let lastWaitMilliseconds: Int64 = 30_000

    private let quarantineAfter: Int
    package private(set) var consecutiveFaults = 0
    package private(set) var isQuarantined = false
    private var openUntil: Timestamp?
    private var lastFault: Timestamp?
    /// Whether a question is on its way that finds out whether the server answers again.
    private var isProbed = false

    package init(quarantineAfter: Int) {
        self.quarantineAfter = quarantineAfter
    }

    /// Asks the server: nil, or why it is not asked. After a wait one question is sent, and the others wait for its answer.
    package mutating func admit(at now: Timestamp) -> RuleFault? {
        if let refusal = refusal(at: now) { return refusal }
        guard openUntil != nil else { return nil }
        if isProbed { return .unreachable }
        isProbed = true
        return nil
    }

    /// Why the server is left alone; nil if it is not.
    package func refusal(at now: Timestamp) -> RuleFault? {
        if isQuarantined { return .quarantined }
        return openUntil.map { now < $0 } == true ? .unreachable : nil
    }

    package mutating func answered() {
        consecutiveFaults = 0
        openUntil = nil
        isProbed = false
    }

    /// A question of that time has failed. Questions that were on their way together fail together, and are one fault.
    package mutating func failed(askedAt asked: Timestamp, at now: Timestamp) {
        isProbed = false
        guard lastFault.map({ asked > $0 }) ?? true else { return }
        lastFault = now
        consecutiveFaults += 1
        isQuarantined = isQuarantined || consecutiveFaults >= quarantineAfter
        guard consecutiveFaults >= Self.patience else { return }
        let wait = RetryPolicy.doubled(
            Self.firstWaitMilliseconds, times: consecutiveFaults - Self.patience, atMost: Self.lastWaitMilliseconds)
        openUntil = now.advanced(byMilliseconds: wait)
    }

    package mutating func enable() {
        (consecutiveFaults, isQuarantined, openUntil, isProbed) = (0, false, nil, false)
    }
}
