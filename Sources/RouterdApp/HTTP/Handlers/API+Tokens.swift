import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Tokens of sessions, and the application as a session sees it.
extension API {
    /// Gives a token for one session, which need not be there yet. The device is that of the session unless the body says
    /// otherwise.
    @Sendable func postSessionToken(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let session = try context.sessionKey()
        let bytes = try await request.bytes(in: context)
        var reader = try ObjectReader(bytes.isEmpty ? .object(JSONObject()) : try Request.parse(bytes))
        let seconds = try reader.integer("lifetimeSeconds", in: DaemonLimits.tokenSeconds)
        let named = try reader.identifier("device", of: IdentifierKinds.Device.self)
        try reader.finish()
        let found = await host.read { engine in
            engine.tenants[session.application].map { $0.sessions[session.session] }
        }
        guard let known = found else {
            throw Problem(await host.absence(of: session.application) ?? .unknownApplication(session.application))
        }
        let lifetime = Int64(seconds ?? Int(DaemonLimits.usualTokenSeconds)) * 1000
        let token = SessionToken(
            session: session, device: named ?? known?.device,
            expiresAt: host.clock.wall.advanced(byMilliseconds: lifetime), issuer: caller.key, wasThere: known != nil)
        return .json(
            .created,
            JSONWriter.object { body in
                body.field("token", authenticator.tokens.text(of: token))
                body.field("expiresAt", token.expiresAt)
            })
    }

    /// The scenes that are closest to the person at the session's device, as UIKit's scene manager knows them.
    @Sendable func getSessionApplication(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        _ = try request.query()
        let key = try context.sessionKey()
        let found = await host.read { engine in
            engine.tenants[key.application].map { tenant in
                tenant.sessions[key.session].map { session in
                    ApplicationScenes(of: tenant, at: engine.gate(GateKey(of: session)), on: session.device)
                }
            }
        }
        guard let tenant = found else { throw Problem(.unknownApplication(key.application)) }
        guard let scenes = tenant else { throw Problem(.unknownSession(key)) }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.field("id", key.application.text)
                scenes.write(to: &body)
            })
    }
}

extension API {
    /// Refuses a token whose session is on another device by now: it is good for the person at the device of the token. The
    /// session need not be there yet. Every operation that takes tokens asks this first.
    ///
    /// - Parameter named: A session of the path that need not be the token's, but has to be on its device.
    func expectPlace(of token: SessionToken, and named: SessionKey?) async throws(Problem) {
        let (session, other) = (token.session, named.flatMap { $0 == token.session ? nil : $0 })
        if let other, other.application != session.application || token.device == nil {
            throw Problem(.forbidden, "token-of-another-session", "The token is for another session.")
        }
        let (own, theirs) = await host.read { engine in
            let sessions = engine.tenants[session.application]?.sessions
            return (sessions?[session.session], other.flatMap { sessions?[$0.session] })
        }
        if let own { try Caller(key: nil, token: token).expect(own.device) }
        guard other != nil else { return }
        guard let theirs, theirs.device == token.device, !theirs.isObserver else {
            throw Problem(
                .forbidden, "token-of-another-session", "The token is for a session of another device, or of none.")
        }
    }
}

extension Caller {
    /// The device that a caller with a token speaks for; nil for a caller with a key. Sessions of no device share no person,
    /// so that a token without one speaks for its session alone.
    func ownDevice(insteadOf named: DeviceID?) throws(Problem) -> DeviceID? {
        guard let token else { return nil }
        guard let device = token.device else {
            throw Problem(.forbidden, "scope-missing", "The token is for no device: it speaks for its session alone.")
        }
        if let named { try expect(named) }
        return device
    }

    /// A page registers itself as a receiver that connects out, on the device of its token. Where else deliveries go,
    /// which observers hear of them, and which sessions observe, is for keys.
    ///
    /// - Parameter observers: The observers of the session before, which stay.
    func expectOwn(_ draft: SessionDraft, observedBy observers: [PluginID]) throws(Problem) {
        guard token != nil else { return }
        try expect(draft.device)
        try expectStream(draft.endpoint?.url)
        try expectNoObservers(draft.observers == observers)
        try expectScene(draft.role)
    }

    func expectOwn(_ patch: SessionPatch) throws(Problem) {
        guard token != nil else { return }
        switch patch.device {
        case nil: break
        case .remove: try expect(DeviceID?.none)
        case .set(let device): try expect(device)
        }
        try expectStream(patch.endpoint?.value?.url)
        try expectNoObservers(patch.observers == nil)
        try expectScene(patch.role)
    }

    /// A session that observes is sent the events of all others.
    private func expectScene(_ role: String?) throws(Problem) {
        guard let role, role == SceneRole.observer else { return }
        throw Problem(
            .forbidden, "scope-missing", "The token of a session does not let it observe others.", pointer: "/role")
    }

    private func expectStream(_ url: String?) throws(Problem) {
        guard url == nil || url == Endpoint.streamURL else {
            throw Problem(
                .forbidden, "scope-missing", "With the token of a session its endpoint can be a stream only.",
                pointer: "/endpoint")
        }
    }

    private func expectNoObservers(_ isSo: Bool) throws(Problem) {
        guard isSo else {
            throw Problem(
                .forbidden, "scope-missing", "The token of a session does not allow observers.", pointer: "/observers")
        }
    }
}
