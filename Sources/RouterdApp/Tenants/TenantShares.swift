import HTTPTypes
import NIOCore
package import RouterPlugin

/// The slots of the shares that requests hold.
///
/// Thread-safe. A request that waits for a slot keeps no thread.
package struct TenantShares: Sendable {
    private let walks = TenantSlots(
        slots: DaemonLimits.walks, share: DaemonLimits.readsOfTenant, waitingLimit: DaemonLimits.readsWaiting)
    private let decisions = TenantSlots(
        slots: DaemonLimits.decisionsTried, share: 1, waitingLimit: DaemonLimits.readsWaiting)
    private let acknowledgements = TenantSlots(
        slots: DaemonLimits.ackLists, share: DaemonLimits.ackListsOfTenant, waitingLimit: DaemonLimits.ackListsWaiting)
    /// Parts of batches: half of the pool for a tenant.
    let parts = TenantSlots(
        slots: max(2, System.coreCount), share: max(1, System.coreCount / 2), waitingLimit: .max)

    package init() {}

    /// The slots of which a request has one until its answer is made; nil for other shares.
    private func held(_ share: Operation.Share) -> TenantSlots? {
        switch share {
        case .walks: walks
        case .decisions: decisions
        case .acknowledgements: acknowledgements
        case .none, .line, .reads, .parts, .sources, .hashes, .streams: nil
        }
    }

    /// Whether a request has a slot until its answer is made.
    func isHeld(_ share: Operation.Share) -> Bool { held(share) != nil }

    /// Runs `body` in a slot of a share, if the share has such slots.
    ///
    /// - Parameter tenant: The application that the request is about, or that of the caller; nil for a caller of all applications.
    /// - Throws: 429 `too-many-reads` if the tenant has as many requests waiting as it may have; the errors of `body`.
    package func inTurn<Value: Sendable>(
        _ share: Operation.Share, of tenant: ApplicationID?, _ body: () async throws -> Value
    ) async throws -> Value {
        guard let slots = held(share) else { return try await body() }
        do {
            return try await slots.withSlot(for: tenant, body)
        } catch is TenantSlots.Full {
            throw Problem.tooManyReads
        }
    }
}

extension Problem {
    static let tooManyReads = Problem(
        .tooManyRequests, "too-many-reads",
        "Too many reads, trials and lists of acknowledgements of this application are waiting.", retryAfter: 1)
}
