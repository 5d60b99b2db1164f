import HummingbirdCore
import NIOCore
import NIOWebSocket
import RouterPlugin

/// The messages of one connection as text frames of a WebSocket, and the messages of its client.
///
///     daemon ──▶ {"type":"delivery","id":"dlv_01J…","attempt":1,"sequence":42,"epoch":1795674000123,"envelope":{…}}
///     client ──▶ {"type":"ack","id":"dlv_01J…"}
///     daemon ──▶ {"type":"settled","id":"dlv_01J…"}
///
/// The next deliveries are taken when the client has read the ones before. A client that reads nothing, or sends no frame, for
/// some pings counts as gone.
struct WebSocketStream: Sendable {
    /// Codes of our own for the ends of a stream; RFC 6455, 7.4.2.
    private static let superseded = WebSocketErrorCode(codeNumber: 4000)
    private static let ended = WebSocketErrorCode(codeNumber: 4001)
    private static let silent = WebSocketErrorCode(codeNumber: 4002)

    let consumer: StreamConsumer
    let inbox: WebSocketInbox
    let settings: StreamSettings
    let channel: any Channel
    /// Detaches the consumer, and hands its unwritten messages back.
    let detach: @Sendable () -> Void
    /// The reply to a message of the client.
    let reply: @Sendable ([UInt8]) async -> [UInt8]

    @concurrent func run(_ writer: inout any ResponseBodyWriter) async throws {
        // The group waits for the end of the client's messages.
        let sent = await withTaskGroup(of: Void.self) { group -> Result<Void, any Error> in
            group.addTask { await receive() }
            defer { finish() }
            do { return .success(try await send(&writer)) } catch { return .failure(error) }
        }
        try sent.get()
        try await writer.finish(nil)
    }

    private func finish() {
        detach()
        inbox.end()
    }

    // MARK: To the client

    @concurrent private func send(_ writer: inout any ResponseBodyWriter) async throws {
        let beat = DeliveryStream.Beat(consumer, settings, channel)
        while channel.isActive {
            let step = await consumer.next()
            guard let (frames, isLast) = self.frames(for: step) else { return }
            try await writer.write(frames)
            beat.taken()
            if case .replies(_, let cost) = step { inbox.answered(cost) }
            if isLast { return }
        }
    }

    /// The frames of a step, and whether they are the last ones; nil if the last one has been written.
    private func frames(for step: StreamConsumer.Step) -> (ByteBuffer, isLast: Bool)? {
        var buffer = ByteBuffer()
        switch step {
        case .messages(let messages):
            for message in messages {
                let text = JSONWriter.object { object in
                    object.field("type", "delivery")
                    message.write(epoch: consumer.epoch, to: &object)
                }
                buffer.write(frame: .text, text)
            }
        case .moved(let ids):
            let text = JSONWriter.object { object in
                object.field("type", "moved")
                object.array("ids") { list in for id in ids { list.element(id) } }
            }
            buffer.write(frame: .text, text)
        case .replies(let replies, _): buffer = replies
        case .nudged:
            if inbox.pinged() > settings.heartbeatsInVain {
                buffer.write(close: Self.silent)
                return (buffer, true)
            }
            buffer.write(frame: .ping, [])
        case .closed(let reason):
            let text = JSONWriter.object { object in
                object.field("type", reason.rawValue)
                object.field("epoch", consumer.epoch)
            }
            buffer.write(frame: .text, text)
            buffer.write(close: reason == .superseded ? Self.superseded : Self.ended)
            return (buffer, true)
        case .hungUp: return nil
        case .ended:
            buffer.write(close: .goingAway)
            return (buffer, true)
        }
        return (buffer, false)
    }

    // MARK: From the client

    /// Messages are handled at the same time, so that acknowledgements share transactions. When the client closes, those that it
    /// has sent are answered before its close frame.
    private func receive() async {
        let code: WebSocketErrorCode? = await withDiscardingTaskGroup { group in
            while let message = await inbox.next() {
                let cost = WebSocketInbox.cost(of: message)
                switch message {
                case .ping(let bytes):
                    var frame = ByteBuffer()
                    frame.write(frame: .pong, bytes)
                    consumer.reply(frame, cost: cost)
                case .text(let bytes):
                    group.addTask {
                        var frame = ByteBuffer()
                        frame.write(frame: .text, await reply(bytes))
                        consumer.reply(frame, cost: cost)
                    }
                case .end(let code): return code
                }
            }
            return nil
        }
        guard let code else { return }
        var frame = ByteBuffer()
        frame.write(close: code)
        consumer.reply(frame, cost: 0, isLast: true)
        detach()
    }
}

extension ByteBuffer {
    /// Appends a frame of a server: whole and without a mask.
    mutating func write(frame opcode: WebSocketOpcode, _ payload: [UInt8]) {
        writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        switch payload.count {
        case ...125: writeInteger(UInt8(payload.count))
        case ...0xFFFF:
            writeInteger(UInt8(126))
            writeInteger(UInt16(payload.count))
        default:
            writeInteger(UInt8(127))
            writeInteger(UInt64(payload.count))
        }
        writeBytes(payload)
    }

    mutating func write(close code: WebSocketErrorCode) {
        let number = UInt16(webSocketErrorCode: code)
        write(frame: .connectionClose, [UInt8(number >> 8), UInt8(number & 0xFF)])
    }
}
