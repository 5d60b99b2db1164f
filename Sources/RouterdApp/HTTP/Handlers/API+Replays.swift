import Crypto
import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Replays: settled notifications that a filter selects, sent again.
extension API {
    @Sendable func postReplay(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response
    {
        let key = try request.idempotencyKey()
        let body = try await request.bytes(in: context)
        let asked = try ReplayBody.read(try Request.parse(body), caller: caller)
        if let application = asked.filter.application, let absence = await host.absence(of: application) {
            throw Problem(absence)
        }
        let askedAt = try await host.settledTime()
        let tally = try await reading(for: caller) { try $0.tally(of: asked.filter, settledBy: askedAt) }
        if asked.isDryRun { return .json(.ok, ReplayBody.writeDryRun(tally, asked)) }
        let draft = ReplayDraft(
            filter: asked.filter, perSecond: asked.perSecond, tally: tally, askedAt: askedAt,
            request: key.map { RepeatedReplay(key: $0, fingerprint: Array(SHA256.hash(data: body))) })
        guard case .replay(let replay) = try await submit(.replay(draft)) else { throw Problem.unexpectedReply }
        return .json(.accepted, ReplayBody.write(replay))
    }

    @Sendable func listReplays(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response
    {
        let query = try request.query("cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let application = caller.application
        let kept = await host.read { engine in
            application.map { engine.replaying.all(of: $0) } ?? Array(engine.replays.values)
        }
        let replays = kept.filter(caller.mayUse).sorted { $0.id < $1.id }
        let page = Page(of: replays, after: after, limit: limit, key: \.id.text)
        return try await answer("replays", page, to: caller) { ReplayBody.write($0) }
    }

    @Sendable func getReplay(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        .json(.ok, ReplayBody.write(try await known(context, caller)))
    }

    @Sendable func cancelReplay(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try await known(context, caller).id
        guard case .replay(let replay) = try await submit(.cancelReplay(id)) else { throw Problem.unexpectedReply }
        return .json(.ok, ReplayBody.write(replay))
    }

    /// The replay that the path names, if the caller may see it.
    private func known(_ context: RouterdContext, _ caller: Caller) async throws -> Replay {
        let id = try context.identifier("replay", of: ReplayKind.self)
        guard let replay = await host.read({ $0.replays[id] }), caller.mayUse(replay) else {
            throw Problem(.unknownReplay(id))
        }
        return replay
    }
}

extension Caller {
    /// A replay without an application sends notifications of all applications, and only callers that may use all of
    /// them may use it.
    fileprivate func mayUse(_ replay: Replay) -> Bool {
        replay.filter.application.map(mayUse) ?? (key?.application == nil)
    }
}
