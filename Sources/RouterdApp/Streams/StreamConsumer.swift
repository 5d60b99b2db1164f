import NIOCore
import Router
import RouterPlugin
import Synchronization

/// A delivery as it goes over a stream.
struct StreamMessage: Sendable {
    /// The delivery's id, as `webhook-id` over HTTP.
    let id: String
    let attempt: Int
    /// Its number among the deliveries of the session; nil if it has none.
    let sequence: Int64?
    /// The message in the standard format.
    let envelope: [UInt8]

    func write(epoch: Int64, to object: inout JSONObjectWriter) {
        object.field("id", id)
        object.field("attempt", attempt)
        if let sequence { object.field("sequence", sequence) }
        object.field("epoch", epoch)
        object.raw("envelope", envelope)
    }
}

/// One connection of a receiver: the messages that are not written yet, and one task that waits for them.
///
/// It holds as many messages as a lane may have under way, because only attempts under way are in it.
final class StreamConsumer: Sendable {
    enum Step: Sendable {
        case messages([StreamMessage])
        /// Deliveries moved to other sessions during the absence of the receiver.
        case moved([String])
        /// Answers to messages of the client, ready to be written, and the cost of those messages.
        case replies(ByteBuffer, cost: Int)
        /// The client has ended the connection, and its last reply is written. The last step.
        case hungUp
        case nudged
        /// The daemon ends the connection, and says why. The next step is `ended`.
        case closed(Closing)
        case ended
    }

    /// Why the daemon ends a connection.
    enum Closing: String, Sendable {
        /// Another connection has taken over.
        case superseded
        /// The session is gone, or has a URL.
        case ended
    }

    private struct State {
        var epoch: Int64 = 0
        var messages: [StreamMessage] = []
        var moved: [String] = []
        var replies = ByteBuffer()
        /// The cost of the messages that the replies answer.
        var cost = 0
        var isHungUp = false
        var isNudged = false
        var closing: Closing?
        var isEnded = false
        var waiter: CheckedContinuation<Void, Never>?
        /// Bytes of the messages that were taken last: they may not be written before the next ones are asked for.
        var bytesTaken = 0

        /// All bytes that the connection holds.
        var bytes: Int { messages.reduce(bytesTaken) { $0 + $1.envelope.count } }
    }

    let session: SessionKey
    /// Whether it answers one request with what there is; its messages are acknowledged after its end.
    let isPoll: Bool
    let loop: any EventLoop
    /// The token that it has come with; nil with a key.
    let token: SessionToken?
    private let memory: StreamMemory
    private let state = Mutex(State())

    init(session: SessionKey, isPoll: Bool, loop: any EventLoop, memory: StreamMemory, token: SessionToken? = nil) {
        self.token = token
        self.session = session
        self.isPoll = isPoll
        self.loop = loop
        self.memory = memory
    }

    deinit { giveBack(state.withLock(\.bytes)) }

    private func giveBack(_ bytes: Int) { if bytes > 0 { memory.giveBack(bytes, of: session.application) } }

    /// The number of the connection; 0 until it is attached.
    var epoch: Int64 { state.withLock { $0.epoch } }

    func begin(_ epoch: Int64) { state.withLock { $0.epoch = epoch } }

    /// The memory of the message has been taken.
    func push(_ message: StreamMessage) { change { $0.messages.append(message) } }

    /// Takes the message of an attempt back; false if it was written already.
    func withdraw(_ id: String, attempt: Int) -> Bool {
        let removed = state.withLock { state in
            let place = state.messages.firstIndex { $0.id == id && $0.attempt == attempt }
            return place.map { state.messages.remove(at: $0) }
        }
        if let removed { giveBack(removed.envelope.count) }
        return removed != nil
    }

    /// - Parameters:
    ///   - cost: The cost of the message that is answered.
    ///   - isLast: Whether the client has ended the connection.
    func reply(_ bytes: ByteBuffer, cost: Int, isLast: Bool = false) {
        change { state in
            state.replies.writeImmutableBuffer(bytes)
            state.cost += cost
            if isLast { state.isHungUp = true }
        }
    }

    func tell(ofMoved ids: [String]) { change { $0.moved = ids } }

    func nudge() { change { $0.isNudged = true } }

    /// Ends the connection, and returns the messages that were not written.
    func end(_ closing: Closing? = nil) -> [StreamMessage] {
        let unwritten = change { state in
            if let closing { state.closing = closing } else { state.isEnded = true }
            defer { state.messages = [] }
            return state.messages
        }
        giveBack(unwritten.reduce(0) { $0 + $1.envelope.count })
        return unwritten
    }

    private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, waiter) = state.withLock { state in
            let value = body(&state)
            defer { state.waiter = nil }
            return (value, state.waiter)
        }
        waiter?.resume()
        return value
    }

    /// The next step; one task at a time waits for it.
    func next() async -> Step {
        giveBack(
            state.withLock { state in
                defer { state.bytesTaken = 0 }
                return state.bytesTaken
            })
        while true {
            if let step = take() { return step }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if Self.hasStep(state) { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    private static func hasStep(_ state: State) -> Bool {
        !state.messages.isEmpty || !state.moved.isEmpty || state.replies.readableBytes > 0 || state.isHungUp
            || state.isNudged
            || state.closing != nil || state.isEnded
    }

    private func take() -> Step? {
        state.withLock { state in
            if state.replies.readableBytes > 0 {
                defer { (state.replies, state.cost) = (ByteBuffer(), 0) }
                return .replies(state.replies, cost: state.cost)
            }
            if state.isHungUp { return .hungUp }
            if state.isEnded { return .ended }
            if let closing = state.closing {
                state.isEnded = true
                return .closed(closing)
            }
            if !state.moved.isEmpty {
                defer { state.moved = [] }
                return .moved(state.moved)
            }
            if !state.messages.isEmpty {
                let messages = state.messages
                state.messages = []
                state.bytesTaken = messages.reduce(0) { $0 + $1.envelope.count }
                return .messages(messages)
            }
            guard state.isNudged else { return nil }
            state.isNudged = false
            return .nudged
        }
    }
}
