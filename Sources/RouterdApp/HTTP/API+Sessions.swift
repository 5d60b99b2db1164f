import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import Router
import RouterPlugin

extension API {
    @Sendable func putSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let draft = try SessionBody.read(try await request.json())
        let reply = try await submit(.putSession(try context.sessionKey(), draft))
        guard case .session(let session, let created) = reply else { throw Problem.unexpectedReply }
        return .json(created ? .created : .ok, SessionBody.write(session, issuing: draft.endpoint?.freshSecret))
    }

    @Sendable func patchSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let patch = try SessionBody.readPatch(try await request.json())
        let reply = try await submit(.patchSession(try context.sessionKey(), patch))
        guard case .session(let session, _) = reply else { throw Problem.unexpectedReply }
        return .json(.ok, SessionBody.write(session, issuing: patch.endpoint?.value?.freshSecret))
    }

    @Sendable func getSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let key = try context.sessionKey()
        let found = await host.read { (isApplication: $0.tenants[key.application] != nil, session: $0.session(key)) }
        guard found.isApplication else { throw Problem(.unknownApplication(key.application)) }
        guard let session = found.session else { throw Problem(.unknownSession(key)) }
        return .json(.ok, SessionBody.write(session))
    }

    @Sendable func deleteSession(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let query = try request.query("dismissal")
        guard ["standard", "commit", "decline"].contains(query["dismissal"] ?? "standard") else {
            throw Problem(.badRequest, "invalid-parameter", "dismissal must be standard, commit or decline.")
        }
        _ = try await submit(.deleteSession(try context.sessionKey()))
        return Response(status: .noContent)
    }

    @Sendable func listSessions(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
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
        let found = await host.read { engine in
            engine.tenants[id]?.sessions.values.filter { session in
                (state == nil || session.activationState == state) && (device == nil || session.device == device)
            }
        }
        guard let sessions = found?.sorted(by: { $0.key < $1.key }) else { throw Problem(.unknownApplication(id)) }
        let page = Page(of: sessions, after: after, limit: limit, key: \.key.session.text)
        return .json(.ok, page.body("sessions") { $0.raw(SessionBody.write($1)) })
    }

    /// A session a line in, a result a line out; a bad line fails alone, and a good one is committed with its chunk.
    @Sendable func putSessionBatch(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let application = try context.application()
        let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
        let key = try request.idempotencyKey()
        var number = 0
        var results: [[UInt8]] = []
        for chunk in Lines(of: body).chunks(of: DaemonLimits.batchLines) {
            let entries = chunk.map { line in
                number += 1
                let repeatable = key.map { RepeatableChange(batchKey: $0, line: number, line, application) }
                return Self.read(line) { value throws(Problem) in
                    let (id, draft) = try SessionBody.readWithID(value)
                    return (id, draft, repeatable)
                }
            }
            let commands = entries.compactMap { entry -> Command? in
                guard case .success(let (id, draft, repeatable)) = entry else { return nil }
                return .putSession(SessionKey(application: application, session: id), draft, repeatable: repeatable)
            }
            let replies = try await submitAll(commands)
            var next = replies.makeIterator()
            for entry in entries {
                switch entry {
                case .failure(let problem): results.append(BatchLine.write(problem))
                case .success(let (id, draft, _)): results.append(Self.line(for: next.next(), id, draft))
                }
            }
        }
        return .lines(results)
    }

    /// Commands of a batch: refused ones are answered in their own lines, too many altogether refuse the request.
    func submitAll(_ commands: [Command]) async throws(Problem) -> [Reply] {
        guard !commands.isEmpty else { return [] }
        guard let replies = await host.submit(commands) else { throw .overloaded }
        return replies
    }

    static func read<Value>(
        _ line: [UInt8], _ read: (JSONValue) throws(Problem) -> Value
    ) -> Result<Value, Problem> {
        do { return .success(try read(try Request.parse(line))) } catch { return .failure(error) }
    }

    private static func line(for reply: Reply?, _ id: SessionID, _ draft: SessionDraft) -> [UInt8] {
        switch reply {
        case .session(let session, let created):
            line(id, created, secret: draft.endpoint?.isIssued(in: session.endpoint) == true ? session.endpoint : nil)
        // A secret is shown once.
        case .sessionKept(let answer): line(id, answer.created, secret: nil)
        case .refused(let refusal): BatchLine.write(Problem(refusal), id: id.text)
        default: BatchLine.write(.unexpectedReply, id: id.text)
        }
    }

    private static func line(_ id: SessionID, _ created: Bool, secret endpoint: Endpoint?) -> [UInt8] {
        JSONWriter.object { line in
            line.field("id", id)
            line.field("status", created ? 201 : 200)
            if let endpoint { line.field("secret", endpoint.secret) }
        }
    }
}

extension RepeatableChange {
    /// A line of a batch, under the key of the batch and its own number.
    fileprivate init(batchKey: String, line number: Int, _ line: [UInt8], _ application: ApplicationID) {
        self.init(
            key: DedupeKey(
                application: application, source: PluginID(unchecked: "routerd.sessions-batch"),
                key: "\(batchKey)#\(number)"),
            fingerprint: Array(SHA256.hash(data: line)))
    }
}

/// One line of a batch's answer.
enum BatchLine {
    static func write(_ problem: Problem, id: String? = nil) -> [UInt8] {
        JSONWriter.object { line in
            if let id { line.field("id", id) }
            line.field("status", problem.status.code)
            line.raw("error", problem.body)
        }
    }
}

/// The lines of a body of newline-delimited JSON; empty ones are passed over.
struct Lines {
    private let lines: [ArraySlice<UInt8>]

    init(of body: [UInt8]) {
        lines = body.split(separator: UInt8(ascii: "\n")).filter { line in
            !line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
        }
    }

    func chunks(of size: Int) -> [[[UInt8]]] {
        stride(from: 0, to: lines.count, by: size).map { start in
            lines[start..<min(start + size, lines.count)].map { Array($0) }
        }
    }
}
