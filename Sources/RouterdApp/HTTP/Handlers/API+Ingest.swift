import HTTPTypes
import Hummingbird
import PredicateEngine
import Router
import RouterPlugin

/// Requests to configured sources.
extension API {
    /// The handler of a sender's requests. A source that authenticates its sender needs no API key.
    @Sendable func ingest(_ request: Request, _ context: RouterdContext) async throws -> Response {
        if authenticator.isOpen,
            let refusal = BrowserGuard.refusal(of: request.head)
        {
            throw refusal
        }
        let id = try context.identifier("source", of: IdentifierKinds.Source.self)
        guard let source = await host.read({ $0.sources[id] }) else { throw Problem(.source(.unknown(id))) }
        guard let run = sourceRuns.run(of: source) else { throw Self.kindIsGone(source) }
        do {
            return try await ingest(request, context, run)
        } catch var problem as Problem {
            if problem.status == .tooManyRequests { problem.status = .init(code: run.retryStatus) }
            throw problem
        }
    }

    private func ingest(_ request: Request, _ context: RouterdContext, _ run: SourceRun) async throws -> Response {
        guard run.methods.contains(request.method.rawValue) else {
            throw Problem.notAllowed(run.methods.joined(separator: ", "))
        }
        let head = try request.forSource(body: [], at: host.now)
        if let answer = run.handshake(head) {
            if let refusal = Problem.refusedHandshake(answer) { throw refusal }
            return Response(answer)
        }
        if !run.verifiesSender { try admit(request, context, to: run.definition) }
        let body = try await request.bytes(in: context)
        let received = try request.forSource(body: body, at: host.now)
        if let answer = run.handshake(received) { return Response(answer) }
        if run.verifiesSender {
            try await readers.decode(run.passes(over: received), for: run.definition.application) {
                do throws(SourceError) { try run.verify(received) } catch { throw Problem(error) }
            }
        }
        return try await host.accepting(from: request.trace) { try await accept(received, by: run, $0) }
    }

    /// Commits all notifications of an authenticated request, and answers in the sender's protocol.
    func accept(
        _ received: SourceRequest, by run: SourceRun, _ trace: TraceContext?
    ) async throws -> Response {
        let (requests, response) = try await readers.decode(
            run.passes(over: received), for: run.definition.application
        ) { try Self.acceptRequests(of: received, by: run, trace) }
        guard !requests.isEmpty else { return response.map { Response($0) } ?? Response(status: .noContent) }
        guard case .acceptedAll(let replies) = try await submit(.acceptAll(requests)) else {
            throw Problem.unexpectedReply
        }
        return response.map { Response($0) } ?? Self.answer(replies)
    }

    /// The notifications that a run makes of a request.
    static func acceptRequests(
        of received: SourceRequest, by run: SourceRun, _ trace: TraceContext?
    ) throws(Problem) -> (requests: [AcceptRequest], response: SourceResponse?) {
        do throws(SourceError) {
            let (accepted, response) = try run.outcomes(of: received)
            return (accepted.map { AcceptRequest($0, from: run, trace: trace) }, response)
        } catch {
            throw Problem(error)
        }
    }

    /// Checks the API key of a sender that the source does not authenticate itself.
    private func admit(_ request: Request, _ context: RouterdContext, to source: SourceDefinition) throws {
        let caller = try authenticator.caller(
            authorization: request.headers[.authorization], needing: .ingest,
            at: host.clock.wall)
        if let key = caller.key, let perSecond = key.requestsPerSecond {
            try keyRates.take(key.digest, perSecond: perSecond, at: context.channel.eventLoop.now)
        }
        guard caller.mayUse(source.application) else { throw Problem(.source(.unknown(source.id))) }
    }

    /// 200 if the whole request is a repetition.
    static func answer(_ replies: [Reply]) -> Response {
        let isRepeated = replies.allSatisfy { if case .duplicate = $0 { true } else { false } }
        let body = JSONWriter.object { body in
            body.array("notifications") { list in
                for reply in replies {
                    switch reply {
                    case .accepted(let accepted): list.raw(NotificationBody.answer(accepted))
                    case .duplicate(let receipt): list.raw(NotificationBody.answer(receipt))
                    default: break
                    }
                }
            }
        }
        return .json(isRepeated ? .ok : .accepted, body)
    }
}

extension SourceRun {
    /// The bytes that the work on a request goes through: once to decode it, once for each secret, and as often as the filter does.
    /// A signature of a short body costs as much as some thousand bytes.
    func passes(over request: SourceRequest) -> Int {
        (request.body.count + 4096) * (1 + definition.secrets.count + (definition.filter?.passes ?? 0))
    }
}

extension Request {
    /// The request as sources see it.
    func forSource(body: [UInt8], at now: Timestamp) throws(Problem) -> SourceRequest {
        SourceRequest(
            method: method.rawValue, path: uri.path, query: try decodedQuery(), headers: sourceHeaders, body: body,
            receivedAt: now)
    }
}

extension Response {
    /// An answer in the form of a sender's protocol.
    init(_ answer: SourceResponse) {
        var headers = HTTPFields()
        for field in answer.headers {
            guard let name = HTTPField.Name(field.name) else { continue }
            headers.append(HTTPField(name: name, value: field.value))
        }
        self.init(
            status: .init(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
