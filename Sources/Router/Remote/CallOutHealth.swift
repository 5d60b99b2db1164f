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

    package init(quarantineAfter: Int) {
        self.quarantineAfter = quarantineAfter
    }

    /// Why the server is not asked; nil if it is.
    package func refusal(at now: Timestamp) -> RuleFault? {
        if isQuarantined { return .quarantined }
        return openUntil.map { now < $0 } == true ? .unreachable : nil
    }

    package mutating func answered() {
        consecutiveFaults = 0
        openUntil = nil
    }

    package mutating func failed(at now: Timestamp) {
        consecutiveFaults += 1
        isQuarantined = isQuarantined || consecutiveFaults >= quarantineAfter
        guard consecutiveFaults >= Self.patience else { return }
        let doublings = min(consecutiveFaults - Self.patience, 16)
        let wait = min(Self.lastWaitMilliseconds, Self.firstWaitMilliseconds << doublings)
        openUntil = now.advanced(byMilliseconds: wait)
    }

    package mutating func enable() {
        (consecutiveFaults, isQuarantined, openUntil) = (0, false, nil)
    }
}
