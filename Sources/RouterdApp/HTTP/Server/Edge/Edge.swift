import HTTPTypes
import NIOCore
import NIOHTTP1
import Router
import Synchronization

/// The state shared by all connections: the open connections, the bytes of bodies held, and the request rates.
///
/// Thread-safe. Values under the lock make every decision.
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

    /// The reason to refuse a request before its body has arrived; nil if it is accepted.
    func refusal(
        of head: HTTPRequestHead, from address: IPAddress?, _ standing: ConnectionBook.Standing, at now: NIODeadline
    ) -> Problem? {
        if let fault = head.fault { return fault }
        if head.isHealthCheck { return nil }
        guard var refusal = refusal(ofSound: head, from: address, standing, at: now) else { return nil }
        // Senders such as Alertmanager give up at 429 and retry after 503.
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
        // A body over the limit of its route is not refused here: the route's own answer names the limit.
        let length = min(head.declaredLength ?? 0, DaemonLimits.batchBytes)
        return held.load(ordering: .relaxed) + length > room(forBodyOf: length) ? .noMoreBodies : nil
    }

    /// Holds further bytes of bodies, if there is room for them.
    ///
    /// - Parameter size: The size of the body so far, these bytes included.
    func hold(_ bytes: Int, ofBodyOf size: Int) -> Bool {
        let sum = held.add(bytes, ordering: .relaxed).newValue
        if sum <= room(forBodyOf: size) { return true }
        held.subtract(bytes, ordering: .relaxed)
        return false
    }

    /// How many bytes of all bodies may be held for a body of that size to be accepted. Bodies longer than any single
    /// document leave a quarter to the others: a few batches whose clients read the answers slowly must not block all
    /// other requests.
    private func room(forBodyOf size: Int) -> Int {
        settings.bodyBytesHeld / 4 * (size > DaemonLimits.bodyBytes ? 3 : 4)
    }

    func release(_ bytes: Int) {
        held.subtract(bytes, ordering: .relaxed)
    }
}
