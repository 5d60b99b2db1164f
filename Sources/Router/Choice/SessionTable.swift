import HashTreeCollections
package import RouterPlugin

/// Sessions by name.
///
/// They stand in a tree, which grows a node at a time. A dictionary moves all that it has when it outgrows its memory: with
/// 786,432 sessions one more took 2.5 s, and all applications waited.
package struct SessionTable: Hashable, Sendable {
    private var tree: TreeDictionary<SessionID, SceneSession> = [:]

    package var count: Int { tree.count }
    package var isEmpty: Bool { tree.isEmpty }
    /// All, in no order.
    package var values: some Collection<SceneSession> { tree.values }

    package subscript(id: SessionID) -> SceneSession? { tree[id] }

    /// The conditions of a session; nil if there is none of that name. A copy of all of it would retain each of its members.
    func conditions(of id: SessionID) -> ActivationConditions? {
        tree.index(forKey: id).map { tree.values[$0].conditions }
    }

    /// Puts a session; returns what stood under its name.
    mutating func put(_ session: SceneSession) -> SceneSession? {
        tree.updateValue(session, forKey: session.key.session)
    }

    mutating func remove(_ id: SessionID) -> SceneSession? { tree.removeValue(forKey: id) }
}
