import Synchronization

/// A value that is there at some later time, and the tasks that wait for it.
///
/// Thread-safe.
final class Recovered<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiting: [AsyncStream<Value>.Continuation] = []
    }

    private let state = Mutex(State())

    /// The value; nil before it is there.
    var value: Value? { state.withLock { $0.value } }

    /// Sets the value, once, and resumes the tasks that wait for it.
    func set(_ value: Value) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.value = value
            return state.waiting
        }
        for continuation in waiting {
            continuation.yield(value)
            continuation.finish()
        }
    }

    /// Waits for the value; nil if the task is cancelled before.
    func wait() async -> Value? {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        let value = state.withLock { state in
            if state.value == nil { state.waiting.append(continuation) }
            return state.value
        }
        if let value { return value }
        return await stream.first { _ in true }
    }
}
