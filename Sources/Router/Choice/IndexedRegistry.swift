import PredicateEngine
package import RouterPlugin

/// The registry that decides without looking at the sessions that it does not need.
///
/// A value like every registry: a copy is independent, and costs its size when either is changed next.
package struct IndexedRegistry: SessionRegistry {
    /// Holds the store, which cannot be copied by itself.
    ///
    /// Safety: a holder that is shared is never changed; whoever changes has made sure to be its only owner.
    private final class Holder: @unchecked Sendable {
        var store: SessionStore

        init(_ store: consuming SessionStore) { self.store = store }
    }

    private var holder = Holder(SessionStore())

    package init() {}

    package var count: Int { holder.store.count }
    package var version: UInt64 { holder.store.version }

    /// The bytes of what decisions look at, literals included; unused room counts.
    package var decisionBytes: Int { holder.store.decisionBytes }
    /// The bytes of the names of sessions, and of what finds a session by its name.
    package var nameBytes: Int { holder.store.nameBytes }

    /// Makes room for so many sessions at once.
    package mutating func reserve(_ sessions: Int) {
        makeUnique()
        holder.store.reserve(sessions)
    }

    package mutating func insert(_ entry: RegistryEntry) {
        makeUnique()
        holder.store.version += 1
        holder.store.insert(entry)
    }

    package mutating func remove(_ session: SessionID) -> Bool {
        guard let slot = holder.store.slot(of: session) else { return false }
        makeUnique()
        holder.store.version += 1
        holder.store.remove(slot)
        return true
    }

    package mutating func setState(
        _ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?
    ) -> Bool {
        guard let slot = holder.store.slot(of: session) else { return false }
        makeUnique()
        holder.store.version += 1
        holder.store.setState(slot, state, lastActivatedAt: lastActivatedAt)
        return true
    }

    package func contains(_ session: SessionID) -> Bool { holder.store.slot(of: session) != nil }

    package func best(for query: RegistryQuery) -> RegistryMatch? {
        guard let best = holder.store.best(for: query) else { return nil }
        return RegistryMatch(tier: best.tier, session: holder.store.names[Int(best.slot)])
    }

    package func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool) {
        holder.store.visit(tier, query) { visit(holder.store.names[Int($0)]) }
    }

    package func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool) {
        if let device {
            for slot in holder.store.devices[device] where !visit(holder.store.names[Int(slot)]) { return }
        } else {
            for slot in 0..<holder.store.records.count where holder.store.records[slot].rank != 0 {
                guard visit(holder.store.names[slot]) else { return }
            }
        }
    }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&holder) { holder = Holder(holder.store.copy()) }
    }
}
