import HTTPTypes
import Hummingbird
import NIOCore
import Router
import RouterPlugin

/// Receivers that connect out over a WebSocket.
extension API {
    /// Answers 101, and streams the deliveries of a session from then on. Refusals are answers of HTTP.
    func webSocket(
        _ request: Request, _ channel: any Channel, of key: SessionKey, for caller: Caller
    ) async throws -> Response {
        let handshake = try WebSocketHandshake(request, origins: origins)
        let consumer = StreamConsumer(
            session: key, isPoll: false, loop: channel.eventLoop, memory: host.streams.memory,
            token: caller.token)
        try await attach(consumer, over: channel)
        let host = host
        let detach: @Sendable () -> Void = {
            host.streams.detach(consumer) { host.offer(Inbox.Entry(commands: [$0], answer: nil)) }
        }
        let inbox = WebSocketInbox()
        do {
            try await channel.triggerUserOutboundEvent(WebSocketUpgrade(inbox: inbox))
        } catch {
            detach()
            throw Problem.invalidHandshake("A WebSocket begins with a request of HTTP/1.1.")
        }
        let stream = WebSocketStream(
            consumer: consumer, inbox: inbox, settings: streams, channel: channel, detach: detach,
            reply: { await reply(to: $0, of: key) })
        return Response(
            status: .switchingProtocols, headers: handshake.answer,
            body: ResponseBody { writer in try await stream.run(&writer) })
    }

    private func acknowledgeInTurn(_ ids: [String], of key: SessionKey) async throws(Problem) {
        do {
            try await shares.inTurn(.acknowledgements, of: key.application) { try await acknowledge(all: ids, of: key) }
        } catch {
            throw error as? Problem ?? .unexpectedReply
        }
    }

    /// The reply to a message of the client, when its outcome is durable.
    private func reply(to bytes: [UInt8], of key: SessionKey) async -> [UInt8] {
        var subject = WebSocketSubject()
        do throws(Problem) {
            var reader = try ObjectReader(try Request.parse(bytes))
            subject = try WebSocketSubject(&reader)
            guard let type = try reader.string("type") else { throw reader.missing("type") }
            switch (type, subject.id, subject.ids) {
            case ("ack", let id?, nil):
                let answer = reader.value("answer").map { JSONDocument($0).bytes } ?? []
                try reader.finish()
                try await acknowledge(try delivery(id), of: key, body: answer)
            case ("ack", nil, let ids?):
                try reader.finish()
                try await acknowledgeInTurn(ids, of: key)
            case ("nack", let id?, nil):
                let refusal = try DeliveryRefusal(&reader)
                try reader.finish()
                try await refuse(try delivery(id), of: key, refusal)
            case ("ack", _, _), ("nack", _, _):
                throw Problem(
                    .unprocessableContent, "missing-field", "An ack has an id or ids, a nack has an id.", pointer: "/id"
                )
            default: throw Problem(.badRequest, "unknown-message", "The type of a message is ack or nack.")
            }
            return JSONWriter.object { object in
                object.field("type", "settled")
                subject.write(to: &object)
            }
        } catch {
            return JSONWriter.object { object in
                object.field("type", "refused")
                subject.write(to: &object)
                object.field("status", error.status.code)
                object.field("code", error.code)
                object.field("detail", error.detail)
                if let retryAfter = error.retryAfter { object.field("retryAfterSeconds", retryAfter) }
            }
        }
    }
}

/// The deliveries that a message of a client is about, which its reply names again.
private struct WebSocketSubject {
    var id: String?
    var ids: [String]?

    init() {}

    init(_ reader: inout ObjectReader) throws(Problem) {
        id = try reader.string("id")
        ids = try reader.strings("ids", atMost: DaemonLimits.acksAtOnce)
    }

    func write(to object: inout JSONObjectWriter) {
        if let id { object.field("id", id) }
        if let ids { object.array("ids") { list in for id in ids { list.element(id) } } }
    }
}
