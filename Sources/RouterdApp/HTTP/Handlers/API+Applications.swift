import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

extension API {
    @Sendable func putApplication(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        let draft = try ApplicationBody.read(try await request.json(), id: id, within: scope(id))
        guard case .application(let application, let created) = try await submit(.putApplication(draft)) else {
            throw Problem.unexpectedReply
        }
        return .json(created ? .created : .ok, ApplicationBody.write(application, issued: draft))
    }

    @Sendable func getApplication(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        let found = await host.read { engine in
            engine.tenants[id].map { tenant in
                let gate = engine.gate(GateKey(application: id, device: device))
                return (
                    application: tenant.application,
                    scenes: ApplicationScenes(
                        state: tenant.activationState, current: .some(tenant.currentSession(on: device)?.key.session),
                        onboarding: .some(gate.flatMap { $0.state.needsSomebody ? $0.responsible : nil }))
                )
            }
        }
        guard let found else { throw Problem(.unknownApplication(id)) }
        return .json(.ok, ApplicationBody.write(found.application, found.scenes))
    }

    @Sendable func deleteApplication(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        _ = try await submit(.deleteApplication(try context.application()))
        return Response(status: .noContent)
    }

    @Sendable func listApplications(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let applications = await host.read { engine in
            engine.tenants.values.map {
                (application: $0.application, scenes: ApplicationScenes(state: $0.activationState))
            }
            .filter { caller.mayUse($0.application.id) }.sorted { $0.application.id < $1.application.id }
        }
        let page = Page(of: applications, after: after, limit: limit, key: \.application.id.text)
        return .json(.ok, page.body("applications") { $0.raw(ApplicationBody.write($1.application, $1.scenes)) })
    }
}

extension Problem {
    /// The engine gave an answer that the command cannot have: a defect, reported as one. A request or a body in the
    /// form of another system.
    ///
    /// - Parameters:
    ///   - kind: The kind of source that accepts it.
    ///   - mark: The header or the fields that show the form.
    static func foreignFormat(_ kind: String, mark: String) -> Problem {
        Problem(
            .unsupportedMediaType, "foreign-format",
            "The mark \(mark) says that this is no push payload but a request for a source of the kind \(kind). "
                + "Put such a source, and let the sender post to /v1/sources/{source}.")
    }

    static let unexpectedReply = Problem(
        .internalServerError, "internal-error", "The daemon made a mistake; its log says more.")
}
