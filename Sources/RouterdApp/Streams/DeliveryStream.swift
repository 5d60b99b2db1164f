import NIOCore
import RouterPlugin
import Synchronization

/// The messages of one connection as server-sent events.
///
///     id: dlv_01J…
///     event: delivery
///     data: {"id":"dlv_01J…","attempt":1,"sequence":42,"epoch":1795674000123,"envelope":{…}}
///
/// An event ends with an empty line, and `data` is one line: what a payload has between its values must not end it.
///
/// The next messages are taken when the client has read the ones before. A client that reads nothing for some heartbeats
/// counts as gone, and its connection is closed.
struct DeliveryStream: AsyncSequence, Sendable {
    let consumer: StreamConsumer
    let settings: StreamSettings
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        let stream: DeliveryStream
        let beat: Beat

        @concurrent mutating func next() async -> ByteBuffer? {
            beat.taken()
            // Messages for a connection that has ended stay where they are, and count as not written.
            guard stream.channel.isActive else { return nil }
            return stream.buffer(for: await stream.consumer.next())
        }
    }

    /// Nudges the connection periodically until it is deallocated.
    final class Beat: Sendable {
        final class Count: Sendable { let value = Atomic(0) }

        private let count = Count()
        private let timer: RepeatedTask

        init(_ consumer: StreamConsumer, _ settings: StreamSettings, _ channel: any Channel) {
            let (count, most) = (count, settings.heartbeatsInVain)
            timer = channel.eventLoop.scheduleRepeatedTask(
                initialDelay: settings.heartbeat, delay: settings.heartbeat
            ) { [weak consumer] _ in
                let untaken = count.value.add(1, ordering: .relaxed).newValue
                if untaken <= most { consumer?.nudge() } else { channel.close(promise: nil) }
            }
        }

        deinit { timer.cancel() }

        func taken() { count.value.store(0, ordering: .relaxed) }
    }

    func makeAsyncIterator() -> AsyncIterator {
        // The head is sent at once.
        consumer.nudge()
        return AsyncIterator(stream: self, beat: Beat(consumer, settings, channel))
    }

    private func buffer(for step: StreamConsumer.Step) -> ByteBuffer? {
        var buffer = ByteBuffer()
        switch step {
        case .messages(let messages):
            for message in messages {
                buffer.writeString("id: \(message.id)\nevent: delivery\ndata: ")
                buffer.writeBytes(Self.line(JSONWriter.object { message.write(epoch: consumer.epoch, to: &$0) }))
                buffer.writeString("\n\n")
            }
        case .moved(let ids):
            buffer.writeString("event: moved\ndata: ")
            buffer.writeBytes(JSONWriter.object { $0.array("ids") { list in for id in ids { list.element(id) } } })
            buffer.writeString("\n\n")
        case .nudged: buffer.writeString(":\n\n")
        case .closed(let reason):
            buffer.writeString("event: \(reason.rawValue)\ndata: {\"epoch\":\(consumer.epoch)}\n\n")
        // The client has no way to send messages.
        case .replies, .hungUp, .ended: return nil
        }
        return buffer
    }

    /// The document without line ends. A text has none in JSON, so that they are between values, and as good as spaces.
    private static func line(_ document: [UInt8]) -> [UInt8] {
        func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
        guard document.contains(where: isLineEnd) else { return document }
        return document.map { isLineEnd($0) ? UInt8(ascii: " ") : $0 }
    }
}
