import Dispatch
import HTTPTypes
package import Router
import RouterPlugin

/// Runs reads of the store on threads of their own, in turns of the tenants.
///
/// The threads that answer requests never wait for SQLite: a handler suspends until its read has run. Thread-safe.
package final class StoreReaders: Sendable {
    private let store: any Store
    private let queue = DispatchQueue(label: "routerd.reading", qos: .userInitiated, attributes: .concurrent)
    private let slots = TenantSlots(
        slots: DaemonLimits.reads, share: DaemonLimits.readsOfTenant, waitingLimit: DaemonLimits.readsWaiting)

    package init(_ store: any Store) { self.store = store }

    /// Runs a read when the tenant's turn has come.
    ///
    /// - Parameter tenant: The application of the caller's key; nil for a key of all applications.
    /// - Throws: The read's error; 429 `too-many-reads` if the tenant has as many reads waiting as it may have.
    func read<Value: Sendable>(
        for tenant: ApplicationID?, _ body: @escaping @Sendable (any Store) throws -> Value
    ) async throws -> Value {
        do {
            return try await slots.withSlot(for: tenant) {
                try await queue.perform { [store] in try body(store) }
            }
        } catch is TenantSlots.Full {
            throw Problem(
                .tooManyRequests, "too-many-reads", "As many lists of this application are being read as may wait.",
                retryAfter: 1)
        }
    }
}
