import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

extension API {
    /// The scope in which endpoints of the application are read now.
    func scope(_ application: ApplicationID) -> EndpointScope {
        EndpointScope(
            policy: egress, application: application, now: host.now, observers: plugins.observers.map(\.id),
            formats: DeliveryFormats(plugins.deliveryFormatKinds))
    }

    @Sendable func putSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let key = try context.sessionKey()
        let draft = try SessionBody.read(
            try await request.json(), within: scope(key.application))
        try caller.expectOwn(draft)
        let reply = try await submit(.putSession(key, draft))
        guard case .session(let session, let created) = reply else { throw Problem.unexpectedReply }
        return .json(created ? .created : .ok, SessionBody.write(session, issuing: draft.endpoint?.freshSecret))
    }

    @Sendable func patchSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let key = try context.sessionKey()
        let patch = try SessionBody.readPatch(
            try await request.json(), within: scope(key.application))
        try caller.expectOwn(patch)
        let reply = try await submit(.patchSession(key, patch))
        guard case .session(let session, _) = reply else { throw Problem.unexpectedReply }
        return .json(.ok, SessionBody.write(session, issuing: patch.endpoint?.value?.freshSecret))
    }

    @Sendable func getSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let key = try context.sessionKey()
        let found = await host.read { engine -> ShownSession?? in
            guard let tenant = engine.tenants[key.application], let reach = engine.reach(in: key.application) else {
                return nil
            }
            return .some(tenant.sessions[key.session].map { ShownSession($0, in: tenant, reach) })
        }
        guard let found else { throw Problem(.unknownApplication(key.application)) }
        guard let shown = found else { throw Problem(.unknownSession(key)) }
        return .json(.ok, SessionBody.write(shown))
    }

    @Sendable func deleteSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let query = try request.query("dismissal")
        guard let dismissal = Dismissal(rawValue: query["dismissal"] ?? Dismissal.standard.rawValue) else {
            throw Problem(.badRequest, "invalid-parameter", "dismissal must be standard, commit or decline.")
        }
        _ = try await submit(.deleteSession(try context.sessionKey(), dismissal: dismissal))
        return Response(status: .noContent)
    }

    /// Sends one test webhook at once, and answers with its outcome.
    @Sendable func testSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let key = try context.sessionKey()
        try sessionTests.take(
            key.application, perSecond: DaemonLimits.sessionTestsPerSecond, at: context.channel.eventLoop.now)
        let attempt: AttemptRecord
        do { attempt = try await host.test(key) } catch { throw Problem(error) }
        return .json(.ok, JSONWriter.object { NotificationBody.write(attempt, for: caller, to: &$0) })
    }

    @Sendable func disconnectSession(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        _ = try request.query()
        guard case .session(let session, _) = try await submit(.disconnectSession(try context.sessionKey())) else {
            throw Problem.unexpectedReply
        }
        return .json(.ok, SessionBody.write(session))
    }

    @Sendable func listSessions(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let query = try request.query("state", "device", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        let state = try query["state"].map { name throws(Problem) in
            guard let state = ActivationState(name: name) else {
                throw Problem(.badRequest, "invalid-parameter", "state must be an activation state.")
            }
            return state
        }
        let found = try await readers.walk(for: caller.application) {
            try await sessions(of: id, after: after.map { SessionID(unchecked: $0) }, limit: limit + 1) {
                (state == nil || $0.activationState == state) && (device == nil || $0.device == device)
            }
        }
        let page = Page(of: found, after: nil, limit: limit, key: \.session.key.session.text)
        let body = try await readers.write(page.elements.count, for: caller.application) {
            page.body("sessions") { $0.raw(SessionBody.write($1)) }
        }
        return .json(.ok, body)
    }

    /// The first sessions behind one that a list shows, in the order of their ids. The engine does other work between two
    /// parts of a long walk.
    private func sessions(
        of id: ApplicationID, after: SessionID?, limit: Int, where isShown: @Sendable @escaping (SceneSession) -> Bool
    ) async throws(Problem) -> [ShownSession] {
        var found: [ShownSession] = []
        var last = after
        while true {
            let (start, room) = (last, limit - found.count)
            let part = await host.read { engine -> (SessionPage, [ShownSession])? in
                guard let tenant = engine.tenants[id], let reach = engine.reach(in: id) else { return nil }
                let page = tenant.page(
                    after: start, limit: room, examined: DaemonLimits.sessionsExaminedPerTurn, where: isShown)
                return (page, page.sessions.map { ShownSession($0, in: tenant, reach) })
            }
            guard let (page, shown) = part else { throw Problem(.unknownApplication(id)) }
            found += shown
            last = page.last
            if found.count == limit || !page.hasMore { return found }
        }
    }
}
