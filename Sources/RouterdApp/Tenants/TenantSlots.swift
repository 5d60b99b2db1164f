import RouterPlugin
import Synchronization

/// Slots that tasks of tenants wait for, in the order of `TenantTurns`.
///
/// Thread-safe. A task that waits for a slot keeps no thread.
final class TenantSlots: Sendable {
    /// The tenant has as many tasks waiting as it may have.
    struct Full: Error {}

    private let turns: Mutex<TenantTurns<CheckedContinuation<Void, any Error>>>

    /// The parameters are those of `TenantTurns`.
    init(slots: Int, share: Int, waitingLimit: Int) {
        turns = Mutex(TenantTurns(slots: slots, share: share, waitingLimit: waitingLimit))
    }

    /// Runs `body` in a slot, and gives the slot back when it has ended.
    ///
    /// - Throws: `Full`; the errors of `body`.
    func withSlot<Value: Sendable>(
        for tenant: ApplicationID?, _ body: () async throws -> Value
    ) async throws -> Value {
        try await enter(tenant)
        defer { leave(tenant) }
        return try await body()
    }

    /// Returns when the task has a slot, which `leave` gives back.
    ///
    /// - Throws: `Full`.
    func enter(_ tenant: ApplicationID?) async throws {
        try await withCheckedThrowingContinuation { waiter in
            switch turns.withLock({ $0.ask(tenant, waiter) }) {
            case .begin: waiter.resume()
            case .wait: break
            case .refused: waiter.resume(throwing: Full())
            }
        }
    }

    func leave(_ tenant: ApplicationID?) { turns.withLock { $0.finished(tenant) }?.resume() }
}
