package import Router
import RouterPlugin

/// Runs reads of the store and other long work on separate threads, in turns of the tenants.
///
/// The threads that answer requests never wait for SQLite: a handler suspends until its read has run. Thread-safe.
package final class StoreReaders: Sendable {
    private let store: any Store
    private let threads = BackgroundThreads(DaemonLimits.reads)
    private let slots = TenantSlots(
        slots: DaemonLimits.reads, share: DaemonLimits.readsOfTenant, waitingLimit: DaemonLimits.readsWaiting)

    private let sourceThreads = BackgroundThreads(DaemonLimits.reads)
    private let sources = TenantSlots(
        slots: DaemonLimits.reads, share: DaemonLimits.readsOfTenant, waitingLimit: DaemonLimits.readsWaiting)

    package init(_ store: any Store) { self.store = store }

    /// Runs a read when the tenant's turn has come.
    ///
    /// - Parameter tenant: The application of the caller's key; nil for a key of all applications.
    /// - Throws: The read's error; 429 `too-many-reads` if the tenant has as many reads waiting as it may have.
    func read<Value: Sendable>(
        for tenant: ApplicationID?, _ body: @escaping @Sendable (any Store) throws -> Value
    ) async throws -> Value {
        try await inTurn(of: tenant, slots) { [store, threads] in try await threads.perform { try body(store) } }
    }

    /// Runs long work without the store, such as the writing of a page, when the tenant's turn has come.
    func perform<Value: Sendable>(
        for tenant: ApplicationID?, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await inTurn(of: tenant, slots) { [threads] in try await threads.perform(body) }
    }

    /// Verifies or decodes a request to a source when the turn of the source's application has come. Its sender may have no key: these
    /// turns and threads are others than those of keys.
    ///
    /// - Parameter passes: The bytes that the work goes through, each as often as that happens; little work is done at once.
    func decode<Value: Sendable>(
        _ passes: Int, for tenant: ApplicationID, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        if passes <= DaemonLimits.passesAtOnce { return try body() }
        return try await inTurn(of: tenant, sources) { [sourceThreads] in try await sourceThreads.perform(body) }
    }

    private func inTurn<Value: Sendable>(
        of tenant: ApplicationID?, _ slots: TenantSlots, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await slots.withSlot(for: tenant, body)
        } catch is TenantSlots.Full {
            throw Problem.tooManyReads
        }
    }
}
