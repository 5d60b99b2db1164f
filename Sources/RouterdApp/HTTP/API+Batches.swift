import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import Plugins
import Router
import RouterPlugin

/// Many in one request: a line in, a line out, in the same order. A bad line fails alone, and the good ones of a chunk
/// share a transaction.
extension API {
    @Sendable func putSessionBatch(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let batch = try await begin(request, context, source: PluginID(unchecked: "routerd.sessions"), device: nil)
        let scope = scope(batch.application)
        let answers = try await batch.answers { line, key throws(Problem) in
            let (id, draft) = try SessionBody.readWithID(try Request.parse(line), within: scope)
            let session = SessionKey(application: batch.application, session: id)
            return BatchItem(command: .putSession(session, draft, once: key)) { Self.line(for: $0, id, draft) }
        } naming: { line in
            (try? JSONValue(parsing: line))?["id"]?.asString
        } submitting: {
            await submitAll($0)
        }
        return .lines(answers)
    }

    @Sendable func postNotificationBatch(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        let batch = try await begin(request, context, source: Self.pushSource.id, device: device)
        let receivedAt = host.now
        let traceparent = request.traceparent
        let answers = try await batch.answers { line, key throws(Problem) in
            // A line is a payload; headers belong to the batch.
            let request = SourceRequest(headers: [], body: line, receivedAt: receivedAt)
            var accept = try Self.decode(request, by: Self.pushSource, batch.application, device, traceparent)
            if let key { accept.notification.dedupeKeys.append(key.key) }
            return BatchItem(command: .accept(accept), line: Self.line)
        } naming: { _ in
            nil
        } submitting: {
            await submitAll($0)
        }
        return .lines(answers)
    }

    /// Reads the batch whole, and sees to it that its key stands for this batch and no other.
    private func begin(
        _ request: Request, _ context: RouterdContext, source: PluginID, device: DeviceID?
    ) async throws -> BatchRequest {
        let application = try context.application()
        let key = try request.idempotencyKey()
        let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
        let batch = BatchRequest(application: application, source: source, key: key, lines: Lines(of: body))
        guard let claim = batch.claim else {
            guard await host.read({ $0.tenants[application] != nil }) else {
                throw Problem(.unknownApplication(application))
            }
            return batch
        }
        var digest = SHA256()
        digest.update(data: Array((device?.text ?? "").utf8) + [0])
        digest.update(data: body)
        guard case .batchBegun = try await submit(.beginBatch(claim, fingerprint: Array(digest.finalize()))) else {
            throw Problem.unexpectedReply
        }
        return batch
    }

    /// Commands of a batch; nil if they are too many altogether.
    private func submitAll(_ commands: [Command]) async -> [Reply]? {
        commands.isEmpty ? [] : await host.submit(commands)
    }

    private static func line(for reply: Reply) -> [UInt8] {
        switch reply {
        case .accepted(let accepted): NotificationBody.answer(accepted)
        case .duplicate(let receipt): NotificationBody.answer(receipt)
        case .refused(let refusal): BatchLine.write(Problem(refusal))
        default: BatchLine.write(.unexpectedReply)
        }
    }

    private static func line(for reply: Reply, _ id: SessionID, _ draft: SessionDraft) -> [UInt8] {
        switch reply {
        case .session(let session, let created):
            let isIssued = draft.endpoint?.isIssued(in: session.endpoint) == true
            return BatchLine.write(id, created, secret: isIssued ? draft.endpoint?.freshSecret : nil)
        // A secret is shown once.
        case .sessionKept(let created): return BatchLine.write(id, created, secret: nil)
        case .refused(let refusal): return BatchLine.write(Problem(refusal), id: id.text)
        default: return BatchLine.write(.unexpectedReply, id: id.text)
        }
    }
}

/// A line that could be read: what it asks for, and how the answer to it is written.
struct BatchItem {
    var command: Command
    var line: (Reply) -> [UInt8]
}

/// The lines of a request with what they have in common.
struct BatchRequest {
    var application: ApplicationID
    var source: PluginID
    /// The client's.
    var key: String?
    var lines: Lines

    /// What the key of the whole batch is kept under.
    var claim: DedupeKey? { key.map { DedupeKey(application: application, source: source, key: "batch:\($0)") } }

    /// What a line is known by, if the batch has a key. No key of a single request begins like that.
    private func key(ofLine number: Int) -> DedupeKey? {
        key.map { DedupeKey(application: application, source: source, key: "line:\(number):\($0)") }
    }

    /// Reads, submits and answers the lines, a chunk at a time. What a line that cannot be read is `naming` is said with the
    /// reason. A batch that is too much is refused whole, or from the chunk on that was too much: what is done is told.
    func answers(
        _ read: ([UInt8], DedupeKey?) throws(Problem) -> BatchItem, naming: ([UInt8]) -> String?,
        submitting submit: ([Command]) async -> [Reply]?
    ) async throws(Problem) -> [[UInt8]] {
        var number = 0
        var answers: [[UInt8]] = []
        var isTooMuch = false
        for chunk in lines.chunks(of: DaemonLimits.batchLines) {
            let items = chunk.map { line in
                number += 1
                return Result { () throws(Problem) in
                    let item = try read(line, key(ofLine: number))
                    if isTooMuch { throw .overloaded }
                    return item
                }
            }
            let replies = await submit(items.compactMap { try? $0.get().command })
            if replies == nil {
                if answers.isEmpty { throw .overloaded }
                isTooMuch = true
            }
            var rest = (replies ?? []).makeIterator()
            for (line, item) in zip(chunk, items) {
                switch item {
                case .failure(let problem): answers.append(BatchLine.write(problem, id: naming(line)))
                case .success where isTooMuch: answers.append(BatchLine.write(.overloaded, id: naming(line)))
                case .success(let item): answers.append(item.line(rest.next() ?? .none))
                }
            }
        }
        return answers
    }
}

/// One line of a batch's answer.
private enum BatchLine {
    static func write(_ problem: Problem, id: String? = nil) -> [UInt8] {
        JSONWriter.object { line in
            if let id { line.field("id", id) }
            line.field("status", problem.status.code)
            line.raw("error", problem.body)
        }
    }

    static func write(_ id: SessionID, _ created: Bool, secret: String?) -> [UInt8] {
        JSONWriter.object { line in
            line.field("id", id)
            line.field("status", created ? 201 : 200)
            if let secret { line.field("secret", secret) }
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
