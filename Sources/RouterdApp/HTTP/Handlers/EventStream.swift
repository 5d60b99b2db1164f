import NIOCore
import RouterPlugin
import Synchronization

/// The steps of a feed reader, written for a client.
///
/// The client counts as gone when its connection is closed, or when it has read nothing for some heartbeats: then the
/// connection is closed, even if data waits to be written to it.
struct EventStream: AsyncSequence, Sendable {
    static let contentType = "text/event-stream"

    let reader: FeedReader
    let filter: StreamFilter
    let format: ServerSentEvents
    let settings: StreamSettings
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        let stream: EventStream
        let heartbeats: Heartbeats

        /// Being asked for more means that the client has taken the buffer before.
        @concurrent mutating func next() async -> ByteBuffer? {
            heartbeats.taken()
            while true {
                guard let buffer = stream.buffer(for: await stream.reader.next(limit: DaemonLimits.feedEventsAtOnce))
                else { return nil }
                if buffer.readableBytes > 0 { return buffer }
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let (channel, end) = (channel, settings.end)
        channel.closeFuture.whenComplete { [weak reader] _ in reader?.end() }
        reader.whenEnding { channel.eventLoop.scheduleTask(in: end) { channel.close(promise: nil) } }
        // The head is sent at once, and names the place from which the client receives events.
        reader.nudge()
        return AsyncIterator(stream: self, heartbeats: Heartbeats(of: reader, over: channel, settings))
    }

    /// The bytes of a step; nil at the end.
    private func buffer(for step: FeedState.Step) -> ByteBuffer? {
        var buffer = ByteBuffer()
        switch step {
        case .events(let events, let missed, let place):
            if let missed { format.appendGap(missed, before: (events.first?.sequence ?? place + 1) - 1, to: &buffer) }
            for event in events where filter.shows(event) { format.append(event, to: &buffer) }
        case .nudged(let place): format.appendHeartbeat(at: place, to: &buffer)
        case .ended: return nil
        }
        return buffer
    }
}

/// Nudges a reader periodically, and closes the connection of a client that leaves too many heartbeats unread.
/// Deallocation stops the timer.
final class Heartbeats: Sendable {
    private final class Count: Sendable { let untaken = Atomic(0) }

    private let count: Count
    private let timer: RepeatedTask

    init(of reader: FeedReader, over channel: any Channel, _ settings: StreamSettings) {
        let count = Count()
        self.count = count
        timer = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: settings.heartbeat, delay: settings.heartbeat
        ) { [weak reader] _ in
            let untaken = count.untaken.add(1, ordering: .relaxed).newValue
            if untaken <= settings.heartbeatsInVain { reader?.nudge() } else { channel.close(promise: nil) }
        }
    }

    deinit { timer.cancel() }

    func taken() { count.untaken.store(0, ordering: .relaxed) }
}
