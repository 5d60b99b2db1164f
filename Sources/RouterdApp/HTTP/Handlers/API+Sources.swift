import HTTPTypes
import Hummingbird
import NIOCore
import Plugins
import Router
import RouterPlugin

/// Sources as resources.
extension API {
    @Sendable func listSources(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query("application", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let application = try query.identifier("application", of: IdentifierKinds.Application.self)
        let all = await host.read { Array($0.sources.values) }
        let sources = try await readers.perform(for: caller.application) {
            all.filter { caller.mayUse($0.application) && (application == nil || $0.application == application) }
                .sorted { $0.id < $1.id }
        }
        let page = Page(of: sources, after: after, limit: limit, key: \.id.text)
        return try await answer("sources", page, to: caller) { SourceBody.write($0) }
    }

    @Sendable func putSource(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        let id = try context.identifier("source", of: IdentifierKinds.Source.self)
        let existing = await host.read { $0.sources[id] }
        // A key reveals nothing about other tenants, and replaces none of their sources.
        if let existing, !caller.mayUse(existing.application) { throw Problem(.source(.taken(id))) }
        let draft = try SourceBody.read(try await request.json(in: context), id: id, kinds: plugins, existing: existing)
        guard caller.mayUse(draft.definition.application) else {
            throw Problem(.unknownApplication(draft.definition.application))
        }
        let reply = try await submit(caller.noting(.putSource(draft), of: draft.definition.application))
        guard case .source(let source, let created) = reply else {
            throw Problem.unexpectedReply
        }
        return .json(created ? .created : .ok, SourceBody.write(source))
    }

    @Sendable func getSource(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        return .json(.ok, SourceBody.write(try await source(context, caller)))
    }

    @Sendable func deleteSource(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let source = try await source(context, caller)
        _ = try await submit(caller.noting(.deleteSource(source.id), of: source.application))
        sourceRuns.forget(source.id)
        return Response(status: .noContent)
    }

    /// Adds a secret, the client's or a generated one; the existing secrets stay valid for the overlap.
    @Sendable func rotateSourceSecret(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let source = try await source(context, caller)
        let body = try await request.bytes(in: context)
        var reader = try ObjectReader(body.isEmpty ? .object(JSONObject()) : try Request.parse(body))
        let given = try reader.string("secret")
        let overlap = try reader.integer("overlapSeconds", in: 0...RouterLimits.secretOverlapSeconds)
        try reader.finish()
        guard let kind = plugins.sourceKind(named: source.kind.text) else { throw Self.kindIsGone(source) }
        let secret = given ?? ObjectReader.freshSecret()
        if given == nil, let reason = kind.secretFault(SourceSecret(secret)) {
            throw Problem(
                .unprocessableContent, "missing-field",
                "A secret of this kind cannot be made here, because one \(reason): send it in secret.",
                pointer: "/secret")
        }
        try SourceBody.check(secret, of: kind, at: "/secret")
        let once = try request.repeatable(in: source.application, of: "routerd.secrets", body: body)
        let seconds = overlap ?? DaemonLimits.secretOverlapSeconds
        let reply = try await submit(
            caller.noting(
                .rotateSourceSecret(source.id, secret: secret, overlapSeconds: seconds, once: once),
                of: source.application))
        guard case .source(let changed, _) = reply else { throw Problem.unexpectedReply }
        // A repeated request generated no secret.
        let isIssued = given == nil && changed.secrets.contains { $0.secret.isSame(as: secret) }
        return .json(.ok, SourceBody.write(changed, issuing: isIssued ? secret : nil))
    }

    /// The source that the path names, if the caller may see it.
    private func source(_ context: RouterdContext, _ caller: Caller) async throws -> SourceDefinition {
        let id = try context.identifier("source", of: IdentifierKinds.Source.self)
        guard let source = await host.read({ $0.sources[id] }), caller.mayUse(source.application) else {
            throw Problem(.source(.unknown(id)))
        }
        return source
    }

    static func kindIsGone(_ source: SourceDefinition) -> Problem {
        Problem(
            .serviceUnavailable, "kind-missing",
            "The daemon has no kind of source \(source.kind), which \(source.id) was made with.", retryAfter: 60)
    }

    // MARK: Trying

    /// Runs a sample request through all steps of a source, without any effect.
    @Sendable func testSource(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response
    {
        _ = try request.query()
        let source = try await source(context, caller)
        guard let run = sourceRuns.run(of: source) else { throw Self.kindIsGone(source) }
        let sample = try SourceSample.read(
            try await request.json(in: context), path: "/v1/sources/\(source.id)",
            at: host.now)
        var trial = try await readers.decode(run.passes(over: sample), for: source.application) {
            SourceTrial(run, of: sample)
        }
        let (now, notifications) = (host.now, trial.notifications)
        let decided = await host.decide { engine, work in
            notifications.map { outcome -> (decision: Decision?, refusal: Refusal?) in
                guard let tenant = engine.tenants[source.application] else {
                    return (nil, .unknownApplication(source.application))
                }
                let accept = AcceptRequest(outcome, from: run, trace: nil)
                if tenant.application.routing.requiresContentID, accept.lacksContentID {
                    return (nil, .contentIDMissing(source.application))
                }
                let view = NotificationView(
                    kind: accept.notification.kind, application: source.application, device: accept.device,
                    contentID: accept.notification.contentID, priority: accept.notification.priority,
                    payload: accept.notification.payload)
                return (engine.chooser.tryOut(view, in: tenant, &work, at: now).decision, nil)
            }
        }
        trial.decide(decided.map { ($0.decision, $0.refusal.map { Problem($0) }) })
        return .json(.ok, trial.body)
    }
}

extension AcceptRequest {
    /// Kinds whose senders choose the keys of requests themselves: another body under a known key is a conflict, as
    /// with posted notifications.
    private static let comparesPayloads = [PushPayloadSource.id, ScenePayloadSource.id]

    /// The notification of an event that passed the filter.
    init(_ outcome: SourceRun.Accepted, from run: SourceRun, trace: TraceContext?) {
        self.init(
            application: run.definition.application, source: run.scope, device: outcome.device,
            trace: trace, notification: outcome.notification,
            isRepeatedByKey: !Self.comparesPayloads.contains(run.definition.kind))
        release(outcome.event.releasedKeys)
    }
}
