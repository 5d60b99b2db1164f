import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// The log of changes.
extension API {
    @Sendable func listChanges(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("application", "after", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let filter = try Self.changeFilter(query, caller)
        let found = try await reading(for: caller) { try $0.changes(matching: filter, limit: limit + 1) }
        let page = Page(of: found, after: nil, limit: limit) { String($0.number) }
        return try await answer("changes", page, to: caller) { change in
            JSONWriter.object { Self.write(change, to: &$0) }
        }
    }

    private static func changeFilter(_ query: [String: String], _ caller: Caller) throws(Problem) -> ChangeFilter {
        let named = try query.identifier("application", of: IdentifierKinds.Application.self)
        if let named, !caller.mayUse(named) { throw Problem(.unknownApplication(named)) }
        guard let after = Int64(query["after"] ?? "0"), after >= 0 else {
            throw Problem(.badRequest, "invalid-parameter", "after must be the number of a change, or 0.")
        }
        var filter = ChangeFilter(application: named ?? caller.application, after: after)
        if let cursor = try Cursor.read(query["cursor"]) {
            guard let before = Int64(cursor) else { throw Problem.invalidCursor }
            filter.before = before
        }
        return filter
    }

    private static func write(_ change: LoggedChange, to object: inout JSONObjectWriter) {
        object.field("number", change.number)
        object.field("at", change.time)
        object.field("key", change.note.key)
        object.field("operation", change.note.operation)
        object.field("application", change.note.application)
        object.field("resource", change.note.resource)
    }
}

extension Operation {
    /// Operations with a line in the log of changes: changes of configured resources, without the life cycle of sessions.
    static let logged: Set<String> = [
        "putApplication", "deleteApplication", "rotateDelegateSecret", "rotateConfigurationSecret",
        "rotateSessionSecret", "putSource", "deleteSource", "rotateSourceSecret", "apply", "putRules", "deleteRules",
        "putKey", "deleteKey",
    ]

    var isLogged: Bool { Self.logged.contains(name) }

    /// The note of a request's change; nil if the operation has no place in the log.
    func note(of request: Request, _ context: RouterdContext, by caller: Caller) -> ChangeNote? {
        guard isLogged else { return nil }
        return ChangeNote(
            key: caller.key?.name, operation: name, resource: request.uri.path, application: try? context.application())
    }
}

extension Caller {
    /// The command with the note of the caller's request, if it has one.
    ///
    /// - Parameter application: The application of the change, unless the path names it.
    func noting(_ command: Command, of application: ApplicationID? = nil) -> Command {
        guard var note else { return command }
        if let application { note.application = application }
        return .logged(command, note)
    }
}
