import HTTPTypes
import Router
package import RouterPlugin

/// The filter that selects the events of a stream.
package struct StreamFilter: Equatable, Sendable {
    /// Nil shows the events of all applications.
    package var applications: Set<ApplicationID>?
    package var sessions: Set<SessionID>?
    package var types: Set<RouterEventType>?

    package init() {}

    package func shows(_ event: RouterEvent) -> Bool {
        applications?.contains(event.application) ?? true && types?.contains(event.type) ?? true
            && sessions.map { sessions in event.session.map(sessions.contains) ?? false } ?? true
    }

    /// The requested filter, limited to the applications of the caller.
    package static func read(_ query: [String: [String]], caller: Caller) throws(Problem) -> StreamFilter {
        var filter = StreamFilter()
        filter.applications = try identifiers(query["application"], of: IdentifierKinds.Application.self)
        if let own = caller.key?.application {
            if let other = filter.applications?.first(where: { $0 != own }) {
                throw Problem(.unknownApplication(other))
            }
            filter.applications = [own]
        }
        filter.sessions = try identifiers(query["session"], of: IdentifierKinds.Session.self)
        if let names = query["type"] {
            var types: Set<RouterEventType> = []
            for name in names { types.formUnion(try self.types(of: name)) }
            filter.types = types
        }
        return filter
    }

    private static func identifiers<Kind>(
        _ texts: [String]?, of kind: Kind.Type
    ) throws(Problem) -> Set<Identifier<Kind>>? {
        guard let texts else { return nil }
        var identifiers: Set<Identifier<Kind>> = []
        for text in texts {
            do { identifiers.insert(try Identifier<Kind>(text)) } catch { throw Problem(error) }
        }
        return identifiers
    }

    /// The types that a name stands for, which may end in `*`; an unknown name is refused, for it would never match an
    /// event.
    private static func types(of name: String) throws(Problem) -> [RouterEventType] {
        let found = RouterEventType.named(name)
        guard found.isEmpty else { return found }
        let names = RouterEventType.allCases.map(\.rawValue).joined(separator: ", ")
        throw Problem(
            .badRequest, "invalid-parameter", "type must be one of \(names), or the beginning of one and a *.")
    }
}
