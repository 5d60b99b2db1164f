import DequeModule
import Synchronization

/// The messages of a WebSocket's client, from the event loop to the task that handles them.
///
///     frames ──put──▶ queue ──next──▶ handled ──▶ its reply is written ──answered──▶ room for another frame
///
/// A message is held until its reply is written. While too much is held the socket is not read and no message is handed out, so a
/// client that asks and does not read has to wait.
final class WebSocketInbox: Sendable {
    typealias Message = WebSocketAssembly.Event

    private struct State {
        var queue: Deque<Message> = []
        /// The cost of the messages in the queue.
        var queued = 0
        /// The cost of the messages handed out whose reply is not written.
        var underWay = 0
        var isEnded = false
        /// Pings since the last frame of the client.
        var silence = 0
        var waiter: CheckedContinuation<Void, Never>?
        var readOn: (@Sendable () -> Void)?

        var hasRoom: Bool { queued + underWay < DaemonLimits.webSocketHeldBytes }
        /// Whether `next` has something to return.
        var isReady: Bool { isEnded || !queue.isEmpty && underWay < DaemonLimits.webSocketHeldBytes }
    }

    private let state = Mutex(State())

    /// The part of a message in the bytes that are held: its text, and its task and reply.
    static func cost(of message: Message) -> Int {
        switch message {
        case .text(let bytes), .ping(let bytes): bytes.count + DaemonLimits.webSocketMessageBytes
        case .end: 0
        }
    }

    /// Whether another frame may be read.
    var hasRoom: Bool { state.withLock(\.hasRoom) }

    /// - Parameter readOn: Called on any thread when there is room again.
    func begin(readOn: @escaping @Sendable () -> Void) { state.withLock { $0.readOn = readOn } }

    func put(_ message: Message) {
        change { state in
            guard !state.isEnded else { return }
            state.queue.append(message)
            state.queued += Self.cost(of: message)
        }
    }

    /// A frame of any kind has come: the client is there.
    func heard() { state.withLock { $0.silence = 0 } }

    /// Counts a ping, and returns the number of pings since the last frame of the client.
    func pinged() -> Int {
        state.withLock { state in
            state.silence += 1
            return state.silence
        }
    }

    /// The replies to messages of this cost are written.
    func answered(_ cost: Int) {
        let readOn: (@Sendable () -> Void)? = change { state in
            let hadRoom = state.hasRoom
            state.underWay -= cost
            return !hadRoom && state.hasRoom ? state.readOn : nil
        }
        readOn?()
    }

    /// Drops the messages that were not handed out, and takes no other one.
    func end() {
        change { state in
            state.isEnded = true
            state.queue = []
            state.readOn = nil
        }
    }

    @discardableResult
    private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, waiter) = state.withLock { state in
            let value = body(&state)
            guard state.isReady else { return (value, CheckedContinuation<Void, Never>?.none) }
            defer { state.waiter = nil }
            return (value, state.waiter)
        }
        waiter?.resume()
        return value
    }

    /// The next message; nil after the end. One task at a time waits for it.
    func next() async -> Message? {
        while true {
            let (message, isEnded): (Message?, Bool) = state.withLock { state in
                guard !state.isEnded, state.isReady else { return (nil, state.isEnded) }
                let message = state.queue.removeFirst()
                state.queued -= Self.cost(of: message)
                state.underWay += Self.cost(of: message)
                return (message, false)
            }
            if isEnded || message != nil { return message }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isReady { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }
}
