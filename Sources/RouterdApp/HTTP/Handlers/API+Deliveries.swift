import HTTPTypes
import Hummingbird
import NIOCore
import Router
import RouterPlugin

/// Receivers that connect out: their streams, and their acknowledgements.
extension API {
    /// Streams the deliveries of a session, or answers with those that arrive within a time.
    @Sendable func streamDeliveries(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let key = try context.sessionKey()
        let query = try request.query("waitSeconds", "after", "limit")
        if query["after"] != nil || query["limit"] != nil { return try await range(of: key, query, caller) }
        var wait: Int64?
        if let text = query["waitSeconds"] {
            guard let seconds = Int64(text), (0...DaemonLimits.pollSeconds).contains(seconds) else {
                throw Problem(
                    .badRequest, "invalid-parameter", "waitSeconds must be 0 to \(DaemonLimits.pollSeconds).")
            }
            wait = seconds
        }
        // A head has no deliveries, and takes none from a receiver.
        guard request.method == .get else { return Response(status: .ok) }
        authenticator.watch(context.channel, of: caller)
        if WebSocketHandshake.isAsked(by: request.headers) {
            guard wait == nil else {
                throw Problem(.badRequest, "invalid-parameter", "A WebSocket has no waitSeconds.")
            }
            return try await webSocket(request, context.channel, of: key, for: caller)
        }
        let consumer = StreamConsumer(
            session: key, isPoll: wait != nil, loop: context.channel.eventLoop, memory: host.streams.memory,
            token: caller.token)
        try await attach(consumer, over: context.channel)
        if let wait { return await poll(consumer, for: wait, over: context.channel) }
        var headers: HTTPFields = [.contentType: EventStream.contentType, .cacheControl: "no-store"]
        // A buffering proxy would hold the events back.
        if let name = HTTPField.Name("x-accel-buffering") { headers[name] = "no" }
        let stream = DeliveryStream(consumer: consumer, settings: streams, channel: context.channel)
        return Response(status: .ok, headers: headers, body: ResponseBody(asyncSequence: stream))
    }

    /// A range of the deliveries of a session by their numbers, whatever has become of them.
    private func range(of key: SessionKey, _ query: [String: String], _ caller: Caller) async throws -> Response {
        guard query["waitSeconds"] == nil else {
            throw Problem(.badRequest, "invalid-parameter", "waitSeconds and after exclude each other.")
        }
        guard let after = Int64(query["after"] ?? "0"), after >= 0 else {
            throw Problem(.badRequest, "invalid-parameter", "after must be the number of a delivery, or 0.")
        }
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let range = try await reading(for: caller) {
            try $0.deliveries(of: key, after: after, limit: limit, bytes: DaemonLimits.rangeBytes)
        }
        // Asked last: a gate that has closed meanwhile closes for this answer too.
        let found = await host.read { engine in
            engine.tenants[key.application].map { tenant in
                tenant.sessions[key.session].map { (session: $0, past: tenant.pastShown(to: $0)) }
            }
        }
        guard let found else { throw Problem(.unknownApplication(key.application)) }
        guard let (session, past) = found else { throw Problem(.unknownSession(key)) }
        return .json(
            .ok,
            try DeliveryRangeBody.write(
                range, after: after, to: session, showing: past, by: host.sender.webhooks))
    }

    func attach(_ consumer: StreamConsumer, over channel: any Channel) async throws {
        let hub = host.streams
        let host = host
        let tell: StreamHub.Tell = { host.offer(Inbox.Entry(commands: [$0], answer: nil)) }
        guard let epoch = hub.attach(consumer, at: host.now) else {
            throw Problem(.serviceUnavailable, "shutting-down", "The daemon is about to stop.", retryAfter: 1)
        }
        do {
            let command = Command.attachConsumer(consumer.session, epoch: epoch, isPoll: consumer.isPoll)
            guard case .attached(let moved) = try await submit(command) else { throw Problem.unexpectedReply }
            if !moved.isEmpty, !consumer.isPoll { consumer.tell(ofMoved: moved.map { Identity.delivery(of: $0) }) }
        } catch {
            hub.detach(consumer, tell: tell)
            throw error
        }
        hub.watch(consumer, over: channel, tell: tell)
        streams.limitSilence(of: channel)
    }

    private func poll(
        _ consumer: StreamConsumer, for seconds: Int64, over channel: any Channel
    ) async -> Response {
        // A client that closes its side has gone, and takes no delivery.
        channel.triggerUserOutboundEvent(Exchange.Listening(), promise: nil)
        if seconds == 0 {
            // At the end of the engine's round the sender has all attempts that can be made now.
            await host.read { _ in }
            await host.sender.handedOver()
        }
        let timer = consumer.loop.scheduleTask(in: .seconds(seconds)) { consumer.nudge() }
        let step = await consumer.next()
        timer.cancel()
        let (hub, host) = (host.streams, host)
        hub.detach(consumer) { host.offer(Inbox.Entry(commands: [$0], answer: nil)) }
        if case .messages(let messages) = step, !channel.isActive { hub.handBack(messages, of: consumer) }
        guard case .messages(let messages) = step else {
            guard case .closed(let reason) = step else { return Response(status: .noContent) }
            return switch reason {
            case .superseded:
                Problem(.conflict, "superseded", "Another connection has taken the deliveries of the session.").response
            case .ended: Problem(.notAStream(consumer.session)).response
            }
        }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.array("deliveries") { list in
                    for message in messages { list.object { message.write(epoch: consumer.epoch, to: &$0) } }
                }
            })
    }

    /// A receiver has taken a delivery; the body is the answer that a webhook may give.
    @Sendable func acknowledge(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let key = try context.sessionKey()
        let id = try delivery(context.parameters.get("delivery"))
        let body = try await request.bytes(in: context)
        if !body.isEmpty { _ = try Request.parse(body) }
        try await acknowledge(id, of: key, body: body)
        return Response(status: .noContent)
    }

    /// A receiver has taken several deliveries.
    @Sendable func acknowledgeAll(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let key = try context.sessionKey()
        var reader = try ObjectReader(try await request.json(in: context))
        guard let ids = try reader.strings("ids", atMost: DaemonLimits.acksAtOnce) else { throw reader.missing("ids") }
        try reader.finish()
        try await acknowledge(all: ids, of: key)
        return Response(status: .noContent)
    }

    /// Acknowledges a list in a slot of the share, which a request has already and a message takes.
    func acknowledge(all ids: [String], of key: SessionKey) async throws(Problem) {
        for id in ids { _ = try delivery(id) }
        // A few at a time wait for their transaction together.
        let problems = await withTaskGroup(of: (String, Problem?).self) { group in
            var rest = Set(ids).makeIterator()
            func begin() {
                guard let id = rest.next() else { return }
                group.addTask { (id, await problem(acknowledging: id, of: key)) }
            }
            for _ in 0..<DaemonLimits.acksUnderWay { begin() }
            var problems: [String: Problem] = [:]
            for await (id, problem) in group {
                problems[id] = problem
                begin()
            }
            return problems
        }
        if let other = problems.values.first(where: { $0.status != .notFound }) { throw other }
        guard !problems.isEmpty else { return }
        throw Problem(
            .notFound, "unknown-delivery",
            "The session has no such deliveries: \(problems.keys.sorted().joined(separator: ", ")). The others are acknowledged."
        )
    }

    private func problem(acknowledging id: String, of key: SessionKey) async -> Problem? {
        do {
            try await acknowledge(id, of: key, body: [])
            return nil
        } catch { return error }
    }

    func acknowledge(_ id: String, of key: SessionKey, body: [UInt8]) async throws(Problem) {
        let response = ReceivedResponse(
            status: body.isEmpty ? 204 : 200, contentType: body.isEmpty ? nil : "application/json", body: body)
        if let reply = await host.streams.settle(id, of: key, with: response) {
            if case .refused(let refusal) = reply { throw Problem(refusal) }
            return
        }
        let answer = AnswerReader.read(TransferResult(outcome: .response(response)), to: nil)
        try await settleLate(id, of: key, .taken(answer))
    }

    /// A receiver cannot take a delivery now.
    @Sendable func refuseDelivery(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let key = try context.sessionKey()
        let id = try delivery(context.parameters.get("delivery"))
        let body = try await request.bytes(in: context)
        var reader = try ObjectReader(body.isEmpty ? .object(JSONObject()) : try Request.parse(body))
        let refusal = try DeliveryRefusal(&reader)
        try reader.finish()
        try await refuse(id, of: key, refusal)
        return Response(status: .noContent)
    }

    func refuse(_ id: String, of key: SessionKey, _ refusal: DeliveryRefusal) async throws(Problem) {
        let response = ReceivedResponse(
            status: 503, retryAfterSeconds: refusal.retryAfterSeconds, contentType: "text/plain",
            body: Array((refusal.reason ?? "").utf8))
        if let reply = await host.streams.settle(id, of: key, with: response) {
            if case .refused(let refusal) = reply { throw Problem(refusal) }
        } else {
            try await settleLate(id, of: key, .refused(retryAfterSeconds: refusal.retryAfterSeconds))
        }
    }

    private func settleLate(
        _ id: String, of key: SessionKey, _ meaning: Acknowledgement.Meaning
    ) async throws(Problem) {
        guard let notification = Identity.notification(ofDelivery: id) else {
            throw Problem(.unknownDelivery(id))
        }
        let word = Acknowledgement(session: key, notification: notification, meaning)
        do throws(Problem) {
            guard case .acknowledged = try await submit(.acknowledge(word)) else { throw Problem.unexpectedReply }
        } catch {
            guard error.code == "unknown-delivery" else { throw error }
            let absence = await host.read { engine in
                engine.tenants[key.application] == nil ? engine.absence(of: key.application) : nil
            }
            throw absence.map { Problem($0) } ?? error
        }
        guard word.isTaken else { return }
        // An attempt may be on its way to the connection. It has been handed over before the engine settled the delivery.
        await host.sender.handedOver()
        host.streams.forget(id, of: key)
    }

    func delivery(_ raw: String?) throws(Problem) -> String {
        guard let text = raw?.percentDecoded, Identity.notification(ofDelivery: text) != nil, text.utf8.count <= 64
        else { throw Problem(.unknownDelivery(raw ?? "")) }
        return text
    }
}

/// The words of a receiver that cannot take a delivery now.
struct DeliveryRefusal {
    let reason: String?
    let retryAfterSeconds: Int?

    init(_ reader: inout ObjectReader) throws(Problem) {
        reason = try reader.string("reason")
        retryAfterSeconds = try reader.integer("retryAfterSeconds", in: 0...Int64(RouterLimits.retryAfterSeconds))
    }
}
