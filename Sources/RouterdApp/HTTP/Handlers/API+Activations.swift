import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Requests that bring scenes forward or refresh them.
extension API {
    /// Brings forward the named session, or the session that prefers the content, or creates one.
    @Sendable func postActivation(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let body = try await request.bytes(in: context)
        var activation = try ActivationBody.read(try Request.parse(body), in: try context.application())
        try await admit(&activation, by: caller)
        activation.once = try request.repeatable(in: activation.application, of: "routerd.activations", body: body)
        return try await activate(activation, for: caller)
    }

    /// The same for the session in the path.
    @Sendable func activateSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let key = try context.sessionKey()
        let body = try await request.bytes(in: context)
        // All members are optional, and so is the body.
        let value = body.isEmpty ? .object(JSONObject()) : try Request.parse(body)
        var activation = try ActivationBody.read(value, of: key)
        try await admit(&activation, by: caller)
        activation.once = try request.repeatable(in: key.application, of: "routerd.activations", body: body)
        return try await activate(activation, for: caller)
    }

    /// With a token a window asks for scenes of its own device.
    private func admit(_ activation: inout ActivationRequest, by caller: Caller) async throws(Problem) {
        guard let token = caller.token else { return }
        let own = token.session.session
        if activation.session != own {
            activation.device = try caller.ownDevice(insteadOf: activation.device)
            if let named = activation.session {
                activation.device = nil
                try await expectPlace(of: token, and: SessionKey(application: activation.application, session: named))
            }
        }
        guard activation.options.requestingSession ?? own == own else {
            throw Problem(
                .forbidden, "token-of-another-session", "The token is for another session.",
                pointer: "/options/requestingSession")
        }
        // The session of the token may be on its way still.
        let isThere = await host.read { $0.session(token.session) != nil }
        if isThere { activation.options.requestingSession = own }
    }

    private func activate(_ activation: ActivationRequest, for caller: Caller) async throws -> Response {
        guard case .session(let session, let created) = try await submit(.activate(activation)) else {
            throw Problem.unexpectedReply
        }
        return await answer(created ? .created : .ok, session, to: caller)
    }

    @Sendable func refreshSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        guard case .session(let session, _) = try await submit(.refreshSession(try context.sessionKey())) else {
            throw Problem.unexpectedReply
        }
        return await answer(.accepted, session, to: caller)
    }

    /// Refreshes the connected sessions, but for the one that has changed the content of the others. Each is refreshed by itself.
    @Sendable func refreshSessions(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let id = try context.application()
        let body = try await request.bytes(in: context)
        var reader = try ObjectReader(body.isEmpty ? .object(JSONObject()) : try Request.parse(body))
        let except = try reader.identifier("except", of: IdentifierKinds.Session.self)
        var device = try reader.identifier("device", of: IdentifierKinds.Device.self)
        try reader.finish()
        if let own = try caller.ownDevice(insteadOf: device) { device = own }
        let found = await host.read { [device] engine in
            engine.tenants[id].map { tenant in
                var keys: [SessionKey] = []
                tenant.visitConnected(at: device) { session in
                    if session.key.session != except { keys.append(session.key) }
                    return true
                }
                return keys
            }
        }
        guard let keys = found else { throw Problem(.unknownApplication(id)) }
        var (refreshed, refusal): (Int, Refusal?) = (0, nil)
        for start in stride(from: 0, to: keys.count, by: DaemonLimits.batchLines) {
            let chunk = keys[start...].prefix(DaemonLimits.batchLines)
            for reply in await host.submit(chunk.map { .refreshSession($0) }) ?? [.refused(.overloaded)] {
                switch reply {
                case .session: refreshed += 1
                // A session that has gone meanwhile needs no refresh.
                case .refused(.unknownSession): break
                case .refused(let reason): refusal = refusal ?? reason
                default: throw Problem.unexpectedReply
                }
            }
        }
        if refreshed == 0, let refusal { throw Problem(refusal) }
        return .json(.accepted, JSONWriter.object { $0.field("refreshed", refreshed) })
    }
}

/// Activation requests, on the wire.
enum ActivationBody {
    /// Reads a request whose body names the session, if any.
    static func read(_ body: JSONValue, in application: ApplicationID) throws(Problem) -> ActivationRequest {
        var reader = try ObjectReader(body)
        var request = ActivationRequest(application: application)
        request.session = try reader.identifier("session", of: IdentifierKinds.Session.self)
        request.role = try reader.string("role")
        request.isNew = try reader.bool("new") ?? false
        request.device = try reader.identifier("device", of: IdentifierKinds.Device.self)
        if request.session != nil {
            // A session already has its role and its device.
            guard request.role == nil else { throw reader.invalid("role", "cannot stand beside session") }
            guard !request.isNew else { throw reader.invalid("new", "cannot stand beside session") }
            guard request.device == nil else { throw reader.invalid("device", "cannot stand beside session") }
        }
        try readScene(&reader, into: &request)
        try reader.finish()
        return request
    }

    /// Reads a request for a session.
    static func read(_ body: JSONValue, of key: SessionKey) throws(Problem) -> ActivationRequest {
        var reader = try ObjectReader(body)
        var request = ActivationRequest(application: key.application, session: key.session)
        try readScene(&reader, into: &request)
        try reader.finish()
        return request
    }

    private static func readScene(
        _ reader: inout ObjectReader, into request: inout ActivationRequest
    ) throws(Problem) {
        if let activity = reader.value("userActivity") {
            do { request.userActivity = try UserActivity(activity) } catch { throw Problem(error) }
            guard activity.serialized().count <= RouterLimits.userInfoBytes else {
                throw reader.invalid("userActivity", "may have \(RouterLimits.userInfoBytes) bytes")
            }
        }
        guard var options = try reader.object("options") else { return }
        request.options.requestingSession = try options.identifier(
            "requestingSession", of: IdentifierKinds.Session.self)
        if let name = try options.string("preferredPresentationStyle") {
            guard let style = PresentationStyle(rawValue: name) else {
                let names = PresentationStyle.allCases.map(\.rawValue).joined(separator: ", ")
                throw options.invalid("preferredPresentationStyle", "must be one of \(names)")
            }
            request.options.preferredPresentationStyle = style
        }
        try options.finish()
    }
}
