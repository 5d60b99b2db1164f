import Router
import Synchronization

/// Counts completions, and lets a test wait for them.
final class Tally: Sendable {
    private struct State {
        var results: [TransferResult] = []
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    func note(_ result: TransferResult) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.results.append(result)
            guard let waiter = state.waiter, state.results.count >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    /// Suspends until this many have come.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.results.count < count { state.waiter = (count, continuation) }
                return state.results.count >= count
            }
            if isThere { continuation.resume() }
        }
    }

    var results: [TransferResult] { state.withLock { $0.results } }

    var count: Int { results.count }

    var statuses: [Int: Int] {
        results.compactMap(\.response?.status).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    var failures: [TransferFailure.Kind: Int] {
        results.compactMap(\.failure?.kind).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
}
