package import RouterPlugin

/// Sessions of a list, in the order of their ids.
package struct SessionPage: Sendable {
    package var sessions: [SceneSession] = []
    /// The last session that was looked at, shown or not; the next page begins behind it.
    package var last: SessionID?
    /// Whether there are sessions behind the last one.
    package var hasMore = false
}

/// Gates of a list, in the order of their keys.
package struct GatePage: Sendable {
    package var gates: [OnboardingGate] = []
    /// The last examined gate; the next page begins behind it.
    package var last: GateKey?
    /// Whether there are gates behind the last one.
    package var hasMore = false
}

extension Tenant {
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
            if let session = sessions[id], isShown(session) { page.sessions.append(session) }
            return true
        }
        return page
    }
}
