import HTTPTypes
package import Router
import RouterPlugin

/// The query of a list of notifications.
package enum NotificationQuery {
    /// - Returns: The filter for the store, and whether only notifications in flight, or only notifications not in
    ///   flight, are wanted.
    package static func filter(
        _ query: [String: String], caller: Caller
    ) throws(Problem) -> (stored: NotificationFilter, inFlight: Bool?) {
        var filter = NotificationFilter()
        filter.application = try query.identifier("application", of: IdentifierKinds.Application.self)
        if let own = caller.key?.application {
            guard filter.application == nil || filter.application == own else {
                throw Problem(.unknownApplication(filter.application ?? own))
            }
            filter.application = own
        }
        filter.session = try query.identifier("session", of: IdentifierKinds.Session.self)
        filter.contentID = try query.identifier("contentId", of: IdentifierKinds.Content.self)
        filter.type = try type(query["type"])
        filter.since = try query.time("since")
        filter.until = try query.time("until")
        if let cursor = try Cursor.read(query["cursor"]) {
            guard let before = Int64(cursor) else {
                throw Problem.invalidCursor
            }
            filter.before = NotificationSequence(before)
        }
        guard let name = query["state"] else { return (filter, nil) }
        guard let state = NotificationState(rawValue: name) else {
            let names = NotificationState.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.badRequest, "invalid-parameter", "state must be one of \(names).")
        }
        filter.state = state == .inFlight ? .waiting : state
        return (filter, state == .inFlight ? true : state == .waiting ? false : nil)
    }

    private static func type(_ name: String?) throws(Problem) -> NotificationFilter.TypeFilter? {
        guard let name else { return nil }
        if let kind = NotificationKind.allCases.first(where: { WebhookType.name(of: $0) == name }) {
            return .notification(kind)
        }
        if let kind = SceneEventKind(rawValue: name) { return .event(kind) }
        let types = NotificationKind.allCases.map { WebhookType.name(of: $0) } + SceneEventKind.allCases.map(\.rawValue)
        let names = types.joined(separator: ", ")
        throw Problem(.badRequest, "invalid-parameter", "type must be one of \(names).")
    }
}
