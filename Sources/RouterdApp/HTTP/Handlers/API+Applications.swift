import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

extension API {
    @Sendable func putApplication(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let draft = try ApplicationBody.read(try await request.json(in: context), id: id, within: scope(id))
        let reply = try await submit(caller.noting(.putApplication(draft)))
        guard case .application(let application, let created) = reply else {
            throw Problem.unexpectedReply
        }
        return .json(created ? .created : .ok, ApplicationBody.write(application, issued: draft))
    }

    @Sendable func getApplication(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        let found = await host.read { engine -> ShownApplication? in
            if let deletion = engine.deletions[id] { return ShownApplication(deletion) }
            return engine.tenants[id].map { tenant in
                let gate = engine.gate(GateKey(application: id, device: device))
                return ShownApplication(
                    application: tenant.application, scenes: ApplicationScenes(of: tenant, at: gate, on: device))
            }
        }
        guard let found else { throw Problem(.unknownApplication(id)) }
        return .json(.ok, found.body)
    }

    @Sendable func deleteApplication(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        switch try await submit(caller.noting(.deleteApplication(try context.application()))) {
        case .deletionBegun(let application): .json(.accepted, ApplicationBody.write(application, isDeleting: true))
        default: Response(status: .noContent)
        }
    }

    @Sendable func listApplications(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let applications = await host.read { engine in
            let there = engine.tenants.values.map {
                ShownApplication(application: $0.application, scenes: ApplicationScenes(state: $0.activationState))
            }
            return (there + engine.deletions.values.map(ShownApplication.init))
                .filter { caller.mayUse($0.application.id) }.sorted { $0.application.id < $1.application.id }
        }
        let page = Page(of: applications, after: after, limit: limit, key: \.application.id.text)
        return try await answer("applications", page, to: caller) { $0.body }
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
