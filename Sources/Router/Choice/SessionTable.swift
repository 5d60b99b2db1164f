import HashTreeCollections
package import RouterPlugin

/// Sessions by id.
///
/// The table is a tree, which grows a node at a time. A dictionary moves all of its elements when it outgrows its
/// memory: with 786,432 sessions one insertion took 2.5 s, and all applications waited.
package struct SessionTable: Hashable, Sendable {
    private var tree: TreeDictionary<SessionID, SceneSession> = [:]

    package var count: Int { tree.count }
    package var isEmpty: Bool { tree.isEmpty }
    /// All sessions, in no order.
    package var values: some Collection<SceneSession> { tree.values }

    package subscript(id: SessionID) -> SceneSession? { tree[id] }

    /// The conditions of a session; nil if there is no such session. A copy of the whole session would retain each of
    /// its members.
    func conditions(of id: SessionID) -> ActivationConditions? {
        tree.index(forKey: id).map { tree.values[$0].conditions }
    }

    /// Inserts a session; returns the previous session with its id.
    mutating func put(_ session: SceneSession) -> SceneSession? {
        tree.updateValue(session, forKey: session.key.session)
    }

    mutating func remove(_ id: SessionID) -> SceneSession? { tree.removeValue(forKey: id) }
}
