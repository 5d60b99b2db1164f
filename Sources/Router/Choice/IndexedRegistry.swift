package import PredicateEngine
package import RouterPlugin

/// The registry that decides with an index, without looking at the sessions that a query does not need.
///
/// A value like every registry: a copy is independent, and memory is copied when either is next changed.
package struct IndexedRegistry: SessionRegistry {
    /// Owns the store, which is not copyable by itself. The store lies behind a pointer, so that reading it is a plain
    /// load: for a mutable property Swift would check exclusive access each time.
    ///
    /// Safety: the target of a pointer cannot be proven Sendable. A store with several owners is never changed: every
    /// change first makes its owner the only one (`makeUnique`), and queries change nothing.
    private final class Holder: @unchecked Sendable {
        let store: UnsafeMutablePointer<SessionStore>

        init(_ store: consuming SessionStore) {
            self.store = .allocate(capacity: 1)
            self.store.initialize(to: store)
        }

        deinit {
            store.deinitialize(count: 1)
            store.deallocate()
        }
    }

    private var holder = Holder(SessionStore())

    package init() {}

    package var count: Int { holder.store.pointee.count }
    package var version: UInt64 { holder.store.pointee.version }

    /// The size in bytes of the memory that decisions read, literals included; unused capacity counts.
    package var decisionBytes: Int { holder.store.pointee.decisionBytes }
    /// The size in bytes of session names, and of the table that finds a session by its name.
    package var nameBytes: Int { holder.store.pointee.nameBytes }

    /// Reserves memory for this many sessions at once.
    package mutating func reserve(_ sessions: Int) {
        makeUnique()
        holder.store.pointee.reserve(sessions)
    }

    package mutating func insert(_ entry: RegistryEntry) {
        makeUnique()
        holder.store.pointee.version += 1
        holder.store.pointee.insert(entry)
    }

    @discardableResult
    package mutating func remove(_ session: SessionID) -> Bool {
        // A holder that is not the only owner copies everything: only do so for a session that exists.
        guard isKnownUniquelyReferenced(&holder) || contains(session) else { return false }
        makeUnique()
        guard holder.store.pointee.remove(session) else { return false }
        holder.store.pointee.version += 1
        return true
    }

    @discardableResult
    package mutating func setState(
        _ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?
    ) -> Bool {
        guard let slot = holder.store.pointee.slot(of: session) else { return false }
        makeUnique()
        holder.store.pointee.version += 1
        holder.store.pointee.setState(slot, state, lastActivatedAt: lastActivatedAt)
        return true
    }

    /// Applies the changes in order, with the same result as one call for each.
    ///
    /// The memory of each group of changes is prefetched first, so that a batch takes less than half the time among a
    /// million sessions.
    package mutating func apply(_ changes: [RegistryChange]) {
        changes.withUnsafeBufferPointer { changes in
            for start in stride(from: 0, to: changes.count, by: SessionStore.prefetchWidth) {
                let end = min(start + SessionStore.prefetchWidth, changes.count)
                // A shared holder is copied at the next change, so a prefetch would be of no use.
                if end - start > 1, count >= SessionStore.prefetchThreshold, isKnownUniquelyReferenced(&holder) {
                    holder.store.pointee.prefetch(UnsafeBufferPointer(rebasing: changes[start..<end]))
                }
                for place in start..<end { apply(changes[place]) }
            }
        }
    }

    package mutating func apply(_ change: RegistryChange) {
        switch change {
        case .insert(let entry): insert(entry)
        case .remove(let session): remove(session)
        case .setState(let session, let state, let lastActivatedAt):
            setState(session, state, lastActivatedAt: lastActivatedAt)
        }
    }

    package func contains(_ session: SessionID) -> Bool { holder.store.pointee.slot(of: session) != nil }

    package func best(for query: RegistryQuery) -> RegistryMatch? {
        var work = DecisionWork.unlimited
        return best(for: query, &work)
    }

    /// The same within the steps of a try. If the work is unfinished afterwards, nil is no answer.
    package func best(for query: RegistryQuery, _ work: inout DecisionWork) -> RegistryMatch? {
        guard let best = holder.store.pointee.best(for: query, &work) else { return nil }
        return RegistryMatch(tier: best.tier, session: holder.store.pointee.names[Int(best.slot)])
    }

    package func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool) {
        var work = DecisionWork.unlimited
        self.visit(tier, for: query, &work, visit)
    }

    /// The same within the steps of a try. If the work is unfinished afterwards, further sessions may be candidates.
    package func visit(
        _ tier: MatchTier, for query: RegistryQuery, _ work: inout DecisionWork, _ visit: (SessionID) -> Bool
    ) {
        holder.store.pointee.visit(tier, query, &work) { visit(holder.store.pointee.names[Int($0)]) }
    }

    /// Shows every session in scope once: the candidates of each tier, best first, then the other sessions. Ends when
    /// `visit` returns false, or when it has shown a session and the evaluation of predicates has taken `steps` steps:
    /// see `RouterLimits.explanationSteps`.
    ///
    /// - Parameters:
    ///   - hasCandidates: False if it is known that no session is a candidate: then none is searched for.
    ///   - work: The steps of this try. If it is unfinished afterwards, further sessions may have been wanted.
    /// - Returns: The effort of evaluating the predicates.
    @discardableResult
    package func examine(
        _ query: RegistryQuery, hasCandidates: Bool, steps: Int, _ work: inout DecisionWork,
        _ visit: (ExaminedSession) -> Bool
    ) -> IndexEffort {
        holder.store.pointee.examine(query, hasCandidates: hasCandidates, steps: steps, &work) {
            slot, tier, can, prefers in
            visit(
                ExaminedSession(
                    session: holder.store.pointee.names[Int(slot)], tier: tier, can: can, prefers: prefers))
        }
    }

    package func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool) {
        if let device {
            for slot in holder.store.pointee.devices[device] where !visit(holder.store.pointee.names[Int(slot)]) {
                return
            }
        } else {
            for slot in 0..<holder.store.pointee.records.count where holder.store.pointee.records.base[slot].rank != 0 {
                guard visit(holder.store.pointee.names[slot]) else { return }
            }
        }
    }

    /// The number of sessions in scope.
    package func count(of device: DeviceID?) -> Int { device.map { holder.store.pointee.devices[$0].count } ?? count }

    private mutating func makeUnique() {
        if !isKnownUniquelyReferenced(&holder) { holder = Holder(holder.store.pointee.copy()) }
    }
}
