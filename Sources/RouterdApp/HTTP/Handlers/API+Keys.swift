import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// API keys: those of the configuration, and those created by requests.
extension API {
    /// Names and rights; a digest is no secret, and of no use either.
    @Sendable func listKeys(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        let keys = authenticator.keys.filter { caller.mayManage($0.application) }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.array("keys") { list in
                    for key in keys { list.object { Self.write(key, for: caller, to: &$0) } }
                }
            })
    }

    /// Makes a key with a fresh secret or with the client's SHA-256, or replaces the rights of one.
    @Sendable func putKey(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        let id = try context.identifier("key", of: APIKeyKind.self)
        guard !authenticator.isOpen else {
            throw Problem(
                .conflict, "development-mode", "Without keys in the configuration none is checked: add one there.")
        }
        if let key = configured(id) {
            throw caller.mayManage(key.application) ? Problem.keyOfConfiguration(id) : Problem.keyTaken(id)
        }
        var reader = try ObjectReader(try await request.json(in: context))
        let scopes = try APIKeyEntry.scopes(&reader)
        let application = try reader.identifier("application", of: IdentifierKinds.Application.self)
        let perSecond = try reader.integer(
            "requestsPerSecond", in: 1...Int64(DaemonLimits.requestsPerSecondMaximum))
        let digest = try APIKeyEntry.digest(&reader)
        try reader.finish()
        try caller.expectManager(of: application)
        try caller.expectOwnRate(atLeast: perSecond)
        if let digest, authenticator.configured.contains(where: { $0.digest == digest }) { throw Problem.digestTaken }
        var generator = SystemRandomNumberGenerator()
        let fresh = APIKey.fresh(using: &generator)
        let draft = APIKeyDraft(
            id: id, scopes: scopes, application: application, requestsPerSecond: perSecond, digest: digest,
            freshDigest: APIKey.digest(of: fresh))
        let command = caller.noting(.putKey(draft, by: caller.application), of: application)
        guard case .key(let key, let created) = try await submit(command) else {
            throw Problem.unexpectedReply
        }
        let isIssued = key.digest == draft.freshDigest
        return .json(
            created ? .created : .ok,
            JSONWriter.object { body in
                Self.write(key, for: caller, to: &body)
                if isIssued { body.field("key", fresh) }
            })
    }

    /// Revokes a key with its session tokens, and closes their streams, before the answer.
    @Sendable func deleteKey(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        let id = try context.identifier("key", of: APIKeyKind.self)
        do throws(Problem) {
            let known = await host.read { $0.keys.first { $0.name == id.text } }
            _ = try await submit(
                caller.noting(.deleteKey(id, by: caller.application), of: known?.application))
        } catch {
            guard error.code == "unknown-key", let key = configured(id), caller.mayManage(key.application) else {
                throw error
            }
            throw Problem.keyOfConfiguration(id)
        }
        return Response(status: .noContent)
    }

    private func configured(_ id: APIKeyID) -> APIKey? {
        authenticator.configured.first { $0.name.isSame(as: id.text) }
    }

    private static func write(_ key: APIKey, for caller: Caller, to object: inout JSONObjectWriter) {
        object.field("name", key.name)
        object.array("scopes") { scopes in
            for scope in APIScope.allCases where key.scopes.contains(scope) { scopes.element(scope.rawValue) }
        }
        object.field("application", key.application)
        object.field("requestsPerSecond", key.requestsPerSecond)
        object.field("isCaller", key == caller.key)
        object.field("origin", (key.createdAt == nil ? KeptRules.Origin.configuration : .request).rawValue)
        object.field("createdAt", key.createdAt)
    }
}

extension Caller {
    /// Whether the caller may see and change the keys for an application, or for all of them.
    fileprivate func mayManage(_ application: ApplicationID?) -> Bool {
        self.application == nil || self.application == application
    }

    fileprivate func expectManager(of application: ApplicationID?) throws(Problem) {
        guard !mayManage(application) else { return }
        guard let application else {
            throw Problem(
                .forbidden, "key-of-one-application",
                "The key would be for all applications, and that of the caller is for one.", pointer: "/application")
        }
        throw Problem(.unknownApplication(application))
    }

    /// Refuses a key that may send more requests than the caller's.
    fileprivate func expectOwnRate(atLeast perSecond: Int?) throws(Problem) {
        guard let own = key?.requestsPerSecond, perSecond.map({ $0 > own }) ?? true else { return }
        throw Problem(
            .forbidden, "rate-above-own", "The key may have \(own) requests a second at most, as that of the caller.",
            pointer: "/requestsPerSecond")
    }
}
