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
        var draft = try SessionBody.read(
            try await request.json(in: context), of: key, within: scope(key.application))
        draft.condition = try request.putCondition()
        if let token = caller.token {
            draft.mayMake = !token.wasThere
            let observers = await host.read { $0.session(key)?.observers } ?? []
            // Observers that a key has named stay.
            if draft.observers.isEmpty || draft.observers == observers { draft.observers = observers }
            try caller.expectOwn(draft, observedBy: observers)
        }
        let reply = try await submit(.putSession(key, draft))
        guard case .session(let session, let created) = reply else { throw Problem.unexpectedReply }
        return await answer(created ? .created : .ok, session, issuing: draft.endpoint?.freshSecret)
    }

    @Sendable func patchSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let key = try context.sessionKey()
        let patch = try SessionBody.readPatch(
            try await request.json(in: context), within: scope(key.application))
        try caller.expectOwn(patch)
        let reply = try await submit(.patchSession(key, patch))
        guard case .session(let session, _) = reply else { throw Problem.unexpectedReply }
        return await answer(.ok, session, issuing: patch.endpoint?.value?.freshSecret)
    }

    /// An answer that shows a session, with its screen and its version.
    ///
    /// - Parameter caller: A caller with the token of another session is not shown its endpoint.
    func answer(
        _ status: HTTPResponse.Status, _ session: SceneSession, issuing freshSecret: String? = nil,
        to caller: Caller? = nil
    ) async -> Response {
        let key = session.key
        let shown =
            await host.read { $0.tenants[key.application]?.shown(session, $0.reach(in: key.application)) }
            ?? ShownSession(session: session)
        return Self.answer(status, shown, issuing: freshSecret, to: caller)
    }

    private static func answer(
        _ status: HTTPResponse.Status, _ shown: ShownSession, issuing freshSecret: String? = nil, to caller: Caller?
    ) -> Response {
        let isOthers = caller?.token.map { $0.session != shown.session.key } ?? false
        var response = Response.json(status, SessionBody.write(shown, issuing: freshSecret, isOthers: isOthers))
        response.headers[.eTag] = "\"\(shown.version)\""
        return response
    }

    @Sendable func getSession(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let key = try context.sessionKey()
        let found = await host.read { engine in
            engine.tenants[key.application].map { tenant in
                tenant.sessions[key.session].map { tenant.shown($0, engine.reach(in: key.application)) }
            }
        }
        guard let found else { throw Problem(.unknownApplication(key.application)) }
        guard let shown = found else { throw Problem(.unknownSession(key)) }
        return Self.answer(.ok, shown, to: caller)
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
        return await answer(.ok, session)
    }

    @Sendable func listSessions(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let query = try request.query("state", "device", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        var device = try query.identifier("device", of: IdentifierKinds.Device.self)
        if let own = try caller.ownDevice(insteadOf: device) { device = own }
        let isToken = caller.token != nil
        let state = try query["state"].map { name throws(Problem) in
            guard let state = ActivationState(name: name) else {
                throw Problem(.badRequest, "invalid-parameter", "state must be an activation state.")
            }
            return state
        }
        let found = try await sessions(of: id, after: after.map { SessionID(unchecked: $0) }, limit: limit + 1) {
            [device] in
            (state == nil || $0.activationState == state) && (device == nil || $0.device == device)
                && !(isToken && $0.isObserver)
        }
        let page = Page(of: found, after: nil, limit: limit, key: \.session.key.session.text)
        return try await answer("sessions", page, to: caller) { shown in
            let isOthers = caller.token.map { $0.session != shown.session.key } ?? false
            return SessionBody.write(shown, isOthers: isOthers)
        }
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
            let part = await host.read { engine in
                engine.tenants[id].map { tenant in
                    let page = tenant.page(
                        after: start, limit: room, examined: DaemonLimits.sessionsExaminedPerTurn, where: isShown)
                    let reach = engine.reach(in: id)
                    return (page, page.sessions.map { tenant.shown($0, reach) })
                }
            }
            guard let (page, shown) = part else { throw Problem(.unknownApplication(id)) }
            found += shown
            last = page.last
            if found.count == limit || !page.hasMore { return found }
        }
    }
}

extension Request {
    /// The condition of a put, from `If-Match` or `If-None-Match` (RFC 9110, section 13.1).
    fileprivate func putCondition() throws(Problem) -> PutCondition? {
        let (match, noneMatch) = (headers[.ifMatch], headers[.ifNoneMatch])
        guard match == nil || noneMatch == nil else {
            throw Problem(.badRequest, "invalid-precondition", "If-Match and If-None-Match exclude each other.")
        }
        if let noneMatch {
            guard noneMatch == "*" else {
                throw Problem(.badRequest, "invalid-precondition", "If-None-Match of a put is *.")
            }
            return .absent
        }
        guard let match else { return nil }
        if match == "*" { return .present }
        let tags = match.split(separator: ",").map { $0.drop { $0 == " " || $0 == "\t" } }
        let versions = tags.compactMap { tag -> String? in
            let tag = tag.split(separator: " ").first ?? ""
            return tag.count > 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"")
                ? String(tag.dropFirst().dropLast()) : nil
        }
        guard !versions.isEmpty, versions.count == tags.count else {
            throw Problem(.badRequest, "invalid-precondition", "If-Match is * or the ETag of a session, in its quotes.")
        }
        return .versions(Set(versions))
    }
}
