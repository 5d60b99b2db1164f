import HashTreeCollections
package import RouterPlugin

/// Sessions by id.
///
/// The table is a tree, which grows a node at a time. A dictionary moves all of its elements when it outgrows its
/// memory: with 786,432 sessions one insertion took 2.5 s, and all applications waited.
package struct SessionTable: Hashable, Sendable {
    private var tree: TreeDictionary<SessionID, SceneSession> = [:]
    private var order = OrderedIDs()

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
        let previous = tree.updateValue(session, forKey: session.key.session)
        if previous == nil { order.insert(session.key.session) }
        return previous
    }

    mutating func remove(_ id: SessionID) -> SceneSession? {
        let previous = tree.removeValue(forKey: id)
        if previous != nil { order.remove(id) }
        return previous
    }

    /// A page of the sessions in the order of their ids.
    ///
    /// - Parameters:
    ///   - after: The id of the last session before the page; nil begins with the first.
    ///   - limit: The greatest number of sessions of the page.
    ///   - examined: The greatest number of sessions that are looked at.
    package func page(
        after: SessionID?, limit: Int, examined: Int, where isShown: (SceneSession) -> Bool
    ) -> SessionPage {
        var page = SessionPage()
        var count = 0
        order.visit(after: after) { id in
            guard page.sessions.count < limit, count < examined else {
                page.hasMore = true
                return false
            }
            count += 1
            page.last = id
            if let session = tree[id], isShown(session) { page.sessions.append(session) }
            return true
        }
        return page
    }
}

/// Sessions of a list, in the order of their ids.
package struct SessionPage: Sendable {
    package var sessions: [SceneSession] = []
    /// The last session that was looked at, shown or not; the next page begins behind it.
    package var last: SessionID?
    /// Whether there are sessions behind the last one.
    package var hasMore = false
}
