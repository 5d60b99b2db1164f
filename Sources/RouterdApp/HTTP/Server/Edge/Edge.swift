import HTTPTypes
import NIOCore
import NIOHTTP1
import Router
import Synchronization

/// What all connections share: who is connected, how much is held of their bodies, and who sends how fast.
///
/// Thread-safe. Every decision is that of a value under the lock.
package final class Edge: Sendable {
    private struct State {
        var book: ConnectionBook
        var rates = RequestRates<IPAddress?>()
    }

    let settings: EdgeSettings
    private let state: Mutex<State>
    private let held = Atomic<Int>(0)

    package init(_ settings: EdgeSettings) {
        self.settings = settings
        state = Mutex(
            State(
                book: ConnectionBook(
                    connections: settings.connections, perAddress: settings.connectionsPerAddress,
                    tooMany: settings.connectionsTurnedAway)))
    }

    func open(from address: IPAddress?) -> ConnectionBook.Standing {
        state.withLock { $0.book.open(from: address) }
    }

    func close(from address: IPAddress?, _ standing: ConnectionBook.Standing) {
        state.withLock { $0.book.close(from: address, standing) }
    }

    /// Why a request is refused before its body has come; nil if it is taken.
    func refusal(
        of head: HTTPRequestHead, from address: IPAddress?, _ standing: ConnectionBook.Standing, at now: NIODeadline
    ) -> Problem? {
        if let fault = head.fault { return fault }
        if head.isHealthCheck { return nil }
        guard var refusal = refusal(ofSound: head, from: address, standing, at: now) else { return nil }
        // Senders such as Alertmanager give up at 429 and come again after 503.
        if refusal.status == .tooManyRequests, head.uri.hasPrefix("/v1/sources/") {
            refusal.status = .serviceUnavailable
        }
        return refusal
    }

    private func refusal(
        ofSound head: HTTPRequestHead, from address: IPAddress?, _ standing: ConnectionBook.Standing,
        at now: NIODeadline
    ) -> Problem? {
        switch standing {
        case .served: break
        case .tooManyOfAddress: return .tooManyConnections
        case .tooMany, .turnedAway: return .noMoreConnections
        }
        if let perSecond = settings.requestsPerSecondPerAddress,
            case .refused(let seconds) = state.withLock({ $0.rates.take(address, perSecond: perSecond, at: now) })
        {
            return .tooManyRequests(retryAfter: seconds)
        }
        // A body that would be too much for its route is none of ours: that one says how much it takes.
        let length = min(head.declaredLength ?? 0, DaemonLimits.batchBytes)
        return held.load(ordering: .relaxed) + length > room(forBodyOf: length) ? .noMoreBodies : nil
    }

    /// Holds so much more of bodies, if there is room for it.
    ///
    /// - Parameter size: How much there is of the body, that included.
    func hold(_ bytes: Int, ofBodyOf size: Int) -> Bool {
        let sum = held.add(bytes, ordering: .relaxed).newValue
        if sum <= room(forBodyOf: size) { return true }
        held.subtract(bytes, ordering: .relaxed)
        return false
    }

    /// How much may be held of all bodies, for one of that size to be taken. Those that are longer than any single document
    /// leave a quarter to the others: a few batches, whose clients are slow to take the answers, must not keep everybody out.
    private func room(forBodyOf size: Int) -> Int {
        settings.bodyBytesHeld / 4 * (size > DaemonLimits.bodyBytes ? 3 : 4)
    }

    func release(_ bytes: Int) {
        held.subtract(bytes, ordering: .relaxed)
    }
}
