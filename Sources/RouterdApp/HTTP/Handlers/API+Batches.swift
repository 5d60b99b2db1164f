import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import Plugins
import Router
import RouterPlugin

/// Many items in one request: each line is answered by a line, in the same order. A bad line fails alone, and the good
/// ones of a chunk share a transaction.
extension API {
    @Sendable func putSessionBatch(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let batch = try await begin(request, context, source: PluginID(unchecked: "routerd.sessions"), device: nil)
        let (application, scope) = (batch.application, scope(batch.application))
        return try await BatchAnswers(to: batch, in: shares.parts) { line, key throws(Problem) in
            let (id, draft) = try SessionBody.readWithID(try Request.parse(line), within: scope)
            let session = SessionKey(application: application, session: id)
            return BatchItem(command: .putSession(session, draft, once: key)) { Self.line(for: $0, id, draft) }
        } naming: { line in
            (try? JSONValue(parsing: line))?["id"]?.asString
        } submitting: {
            await submitAll($0)
        }.response(over: context.channel)
    }

    @Sendable func postNotificationBatch(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        try request.refuseForeignMarks()
        let batch = try await begin(request, context, source: Self.pushSource.id, device: device)
        let receivedAt = host.now
        let run = SourceRun(binding: Self.pushSource, to: batch.application, device: device)
        // The answer goes on while the span of the request has ended.
        let trace = try await host.accepting(from: request.trace) { $0 }
        return try await BatchAnswers(to: batch, in: shares.parts) { line, key throws(Problem) in
            // A line is a payload; headers belong to the batch.
            let request = SourceRequest(headers: [], body: line, receivedAt: receivedAt)
            var accept = try Self.accept(request, by: run, trace)
            if let key { accept.notification.dedupeKeys.append(key.key) }
            return BatchItem(command: .accept(accept), line: Self.line)
        } naming: { _ in
            nil
        } submitting: {
            await submitAll($0)
        }.response(over: context.channel)
    }

    /// Reads the whole batch, and ensures that its idempotency key stands for this batch and no other.
    private func begin(
        _ request: Request, _ context: RouterdContext, source: PluginID, device: DeviceID?
    ) async throws -> BatchRequest {
        let application = try context.application()
        let key = try request.idempotencyKey()
        let body = try await request.bytes(in: context)
        let batch = BatchRequest(application: application, source: source, key: key, lines: Lines(of: body))
        guard let claim = batch.claim else {
            if let absence = await host.absence(of: application) { throw Problem(absence) }
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

    /// Submits the commands of a batch; nil if they are too many altogether.
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
        // A secret is shown only once.
        case .sessionKept(let created): return BatchLine.write(id, created, secret: nil)
        case .refused(let refusal): return BatchLine.write(Problem(refusal), id: id.text)
        default: return BatchLine.write(.unexpectedReply, id: id.text)
        }
    }
}

/// A valid line: its command, and the writer of its answer.
struct BatchItem {
    var command: Command
    var line: (Reply) -> [UInt8]
}

/// The lines of a request with their common properties.
struct BatchRequest: Sendable {
    var application: ApplicationID
    var source: PluginID
    /// The client's idempotency key.
    var key: String?
    var lines: Lines

    /// The idempotency key of the whole batch.
    var claim: DedupeKey? { key.map { DedupeKey(application: application, source: source, key: "batch:\($0)") } }

    /// The idempotency key of a line, if the batch has a key. No key of a single request begins like that.
    fileprivate func key(ofLine number: Int) -> DedupeKey? {
        key.map { DedupeKey(application: application, source: source, key: "line:\(number):\($0)") }
    }
}

/// The answers to a batch. The lines are read, submitted and answered a chunk at a time, and a chunk only when the
/// client has taken the answers to the chunks before it. Memory therefore holds one chunk, however many lines there are
/// and however long their answers.
struct BatchAnswers: Sendable {
    private var batch: BatchRequest
    private let turns: TenantSlots
    private let read: @Sendable ([UInt8], DedupeKey?) throws(Problem) -> BatchItem
    private let name: @Sendable ([UInt8]) -> String?
    private let submit: @Sendable ([Command]) async -> [Reply]?
    private var number = 0
    private var isTooMuch = false

    /// - Parameters:
    ///   - turns: The slots in which chunks are read: other requests wait for few of them, however many batches a tenant sends.
    ///   - read: Reads the command of a line.
    ///   - naming: Finds the id that the answer to an unreadable line shows beside the reason.
    ///   - submit: Returns the replies to the commands of a chunk; nil if the engine has no room for them.
    init(
        to batch: BatchRequest, in turns: TenantSlots,
        reading read: @escaping @Sendable ([UInt8], DedupeKey?) throws(Problem) -> BatchItem,
        naming name: @escaping @Sendable ([UInt8]) -> String?,
        submitting submit: @escaping @Sendable ([Command]) async -> [Reply]?
    ) {
        (self.batch, self.turns, self.read, self.name, self.submit) = (batch, turns, read, name, submit)
    }

    /// The answers to the next chunk, a line each; nil when there are no more lines. When the engine has no room, the
    /// batch is refused as a whole, or from the chunk on that found no room: earlier lines keep their answers.
    mutating func next() async throws(Problem) -> ByteBuffer? {
        let isFirst = number == 0
        let (chunk, items) = try await readChunk()
        guard !chunk.isEmpty else { return nil }
        let replies = await submit(items.compactMap { try? $0.get().command })
        if replies == nil {
            if isFirst { throw .overloaded }
            isTooMuch = true
        }
        var rest = (replies ?? []).makeIterator()
        var answers = ByteBuffer()
        for (line, item) in zip(chunk, items) {
            switch item {
            case .failure(let problem): answers.writeBytes(BatchLine.write(problem, id: name(line)))
            case .success where isTooMuch: answers.writeBytes(BatchLine.write(.overloaded, id: name(line)))
            case .success(let item): answers.writeBytes(item.line(rest.next() ?? .none))
            }
            answers.writeInteger(UInt8(ascii: "\n"))
        }
        return answers
    }

    /// Reads the next lines in a slot of the tenant.
    private mutating func readChunk() async throws(Problem) -> ([[UInt8]], [Result<BatchItem, Problem>]) {
        do { try await turns.enter(batch.application) } catch { throw .overloaded }
        defer { turns.leave(batch.application) }
        let chunk = batch.lines.next(DaemonLimits.batchLines, bytes: DaemonLimits.batchTurnBytes)
        var items: [Result<BatchItem, Problem>] = []
        for line in chunk {
            number += 1
            do throws(Problem) {
                let item = try read(line, batch.key(ofLine: number))
                items.append(isTooMuch ? .failure(.overloaded) : .success(item))
            } catch {
                items.append(.failure(error))
            }
        }
        return (chunk, items)
    }

    /// The whole answer. It begins when the first chunk is done; until then the batch may be refused. The answer to a
    /// batch of one chunk has a length.
    ///
    /// - Parameter channel: The client's connection, which is closed if the client reads nothing for a while.
    func response(over channel: any Channel) async throws(Problem) -> Response {
        var answers = self
        let first = try await answers.next() ?? ByteBuffer()
        let body =
            answers.batch.lines.isAtEnd
            ? ResponseBody(byteBuffer: first)
            : ResponseBody(asyncSequence: BatchStream(first: first, answers: answers, channel: channel))
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson"], body: body)
    }
}

/// The answers to a batch of several chunks, as the client reads them.
private struct BatchStream: AsyncSequence, Sendable {
    let first: ByteBuffer
    let answers: BatchAnswers
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        private var first: ByteBuffer?
        private var answers: BatchAnswers
        private let channel: any Channel
        /// Closes the connection, unless the client reads the answers it was given.
        private var cut: Scheduled<Void>?
        /// When the client was last given answers, and how much longer all its pauses together may last.
        private var given: NIODeadline?
        private var patience = TimeAmount.seconds(DaemonLimits.requestSeconds)

        init(_ stream: BatchStream) { (first, answers, channel) = (stream.first, stream.answers, stream.channel) }

        /// Being asked for the next chunk means that the client has taken the one before.
        @concurrent mutating func next() async throws -> ByteBuffer? {
            cut?.cancel()
            let (channel, loop) = (channel, channel.eventLoop)
            if let given { patience = patience - (loop.now - given) }
            guard let answers = try await following() else { return nil }
            given = loop.now
            cut = loop.scheduleTask(in: Swift.min(.seconds(DaemonLimits.answerSeconds), patience)) {
                channel.close(promise: nil)
            }
            return answers
        }

        private mutating func following() async throws -> ByteBuffer? {
            if let first {
                self.first = nil
                return first
            }
            return try await answers.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
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

/// The lines of a body of newline-delimited JSON; empty lines are skipped.
struct Lines: Sendable {
    private let body: [UInt8]
    private var place = 0

    init(of body: [UInt8]) {
        self.body = body
        passOverBlanks()
    }

    var isAtEnd: Bool { place == body.count }

    /// The next lines, at most `most`; fewer when they reach `bytes`, which only the last of them may exceed.
    mutating func next(_ most: Int, bytes: Int) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        let start = place
        while lines.count < most, place - start < bytes, !isAtEnd {
            let end = body[place...].firstIndex(of: UInt8(ascii: "\n")) ?? body.count
            lines.append(Array(body[place..<end]))
            place = end
            passOverBlanks()
        }
        return lines
    }

    /// Advances to the first byte of a line that has more than blanks.
    private mutating func passOverBlanks() {
        var start = place
        while place < body.count {
            switch body[place] {
            case UInt8(ascii: "\n"): start = place + 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            default: return place = start
            }
            place += 1
        }
    }
}
