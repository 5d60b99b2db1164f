import Dispatch
import Synchronization
import TestSupport
import Testing

/// A counter whose tests can wait for a number.
final class Tally: Sendable {
    private struct Waiter {
        let id: UInt64
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var count = 0
        var lastID: UInt64 = 0
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.count) }

    func add() {
        let due = state.withLock { state -> [Waiter] in
            state.count += 1
            let due = state.waiters.filter { $0.count <= state.count }
            state.waiters.removeAll { $0.count <= state.count }
            return due
        }
        for waiter in due { waiter.continuation.resume() }
    }

    /// Suspends until the count is at least that; a test that runs out of time is cancelled here.
    func reached(_ count: Int) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Checked under the lock: a later cancellation finds the waiter.
                    if state.count >= count || Task.isCancelled { return true }
                    state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let place = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiters.remove(at: place)
            }
            waiter?.continuation.resume()
        }
        try Task.checkCancellation()
    }

    /// Blocks the caller's own thread until the count is at least that.
    func wait(for count: Int) {
        let isReached = DispatchSemaphore(value: 0)
        Task {
            try? await reached(count)
            isReached.signal()
        }
        // A time limit, so that a failing test ends.
        guard isReached.wait(timeout: .now() + .seconds(60 * longestMinutes)) == .timedOut else { return }
        Issue.record("The count is not \(count) after \(longestMinutes) minutes.")
    }
}
