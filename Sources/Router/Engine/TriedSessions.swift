import RouterPlugin

/// Keeps a delivery from coming back to sessions that have failed it. They stay candidates for everything else.
struct TriedSessions: RoutingRule {
    let sessions: Set<SessionID>

    var id: PluginID { PluginID(unchecked: "routerd.tried") }

    func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
        sessions.contains(candidate.session) ? .veto(reason: "has failed this delivery") : .accept
    }
}
