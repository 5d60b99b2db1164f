import HTTPTypes
import NIOCore
import NIOHTTP1
import Router
package import RouterPlugin
import Synchronization

/// The state that all connections share: open connections, bytes of bodies that are held, rates of requests.
///
/// Thread-safe. Values under the lock make every decision.
package final class Edge: Sendable {
    private struct State {
        var book: ConnectionBook
        var rates = RequestRates<IPAddress?>()
        /// The connections that are served, by address.
        var channels: [IPAddress?: [ObjectIdentifier: any Channel]] = [:]
    }

    let settings: EdgeSettings
    private let state: Mutex<State>
    private let bodies: Mutex<BodyShares>
    private let tenant: @Sendable (String) -> ApplicationID??

    /// - Parameter tenant: The application of the API key in a header `Authorization`; nil if there is no such key.
    package init(_ settings: EdgeSettings, tenant: @escaping @Sendable (String) -> ApplicationID?? = { _ in nil }) {
        self.settings = settings
        self.tenant = tenant
        bodies = Mutex(BodyShares(limit: settings.bodyBytesHeld))
        state = Mutex(
            State(
                book: ConnectionBook(
                    connections: settings.connections, perAddress: settings.connectionsPerAddress,
                    tooMany: settings.connectionsTurnedAway)))
    }

    /// Decides the admission of a new connection. If it takes the place of another address's, some connections of that one are
    /// asked to close, and the first that is idle does.
    func open(_ channel: any Channel, from address: IPAddress?) -> ConnectionBook.Admission {
        let (admission, asked) = state.withLock { state in
            var relieved: IPAddress??
            let admission = state.book.open(from: address, relieving: &relieved)
            guard admission == .served else { return (admission, [any Channel]()) }
            var asked: [any Channel] = []
            if let relieved, let channels = state.channels[relieved] {
                // Others than the last time: those may be busy for long.
                asked = Array(channels.values.shuffled().prefix(DaemonLimits.connectionsAskedToClose))
            }
            state.channels[address, default: [:]][ObjectIdentifier(channel)] = channel
            return (admission, asked)
        }
        let request = CloseRequest()
        for channel in asked { channel.pipeline.fireUserInboundEventTriggered(request) }
        return admission
    }

    func close(_ channel: any Channel, from address: IPAddress?, _ admission: ConnectionBook.Admission) {
        state.withLock { state in
            state.book.close(from: address, admission)
            state.channels[address]?[ObjectIdentifier(channel)] = nil
            if state.channels[address]?.isEmpty == true { state.channels[address] = nil }
        }
    }

    /// Asks several connections to close, of which one does.
    final class CloseRequest: Sendable {
        private let isOpen = Atomic(true)

        /// Whether the caller is the one that closes.
        func claim() -> Bool { isOpen.exchange(false, ordering: .relaxed) }
    }

    /// The reason to refuse a request before its body has arrived; nil if it is accepted.
    func refusal(
        of head: HTTPRequestHead, from address: IPAddress?, _ admission: ConnectionBook.Admission, at now: NIODeadline
    ) -> Problem? {
        if let fault = head.fault { return fault }
        if head.isHealthCheck { return nil }
        guard var refusal = refusal(from: address, admission, at: now) else { return nil }
        // Senders such as Alertmanager give up at 429 and retry after 503.
        if refusal.status == .tooManyRequests, head.uri.hasPrefix("/v1/sources/") {
            refusal.status = .serviceUnavailable
        }
        return refusal
    }

    private func refusal(
        from address: IPAddress?, _ admission: ConnectionBook.Admission, at now: NIODeadline
    ) -> Problem? {
        switch admission {
        case .served: break
        case .tooManyOfAddress: return .tooManyConnections
        case .tooMany, .turnedAway: return .noMoreConnections
        }
        if let perSecond = settings.requestsPerSecondPerAddress,
            case .refused(let seconds) = state.withLock({ $0.rates.take(address, perSecond: perSecond, at: now) })
        {
            return .tooManyRequests(retryAfter: seconds)
        }
        return nil
    }

    /// The reason to refuse a request for the size of its body; nil if there is room for it.
    func refusal(ofBodyOf head: HTTPRequestHead, from sender: BodyShares.Sender) -> Problem? {
        // A body over the limit of its route is not refused here: the route's own answer names the limit.
        let length = min(head.declaredLength ?? 0, DaemonLimits.batchBytes)
        return bodies.withLock { $0.hasRoom(for: length, of: sender, bodyOf: length) } ? nil : .noMoreBodies
    }

    /// The holder of the bytes of a request's body.
    func sender(of head: HTTPRequestHead, from address: IPAddress?) -> BodyShares.Sender {
        head.headers.first(name: "authorization").flatMap(tenant).map { .tenant($0) } ?? .address(address)
    }

    /// Holds more bytes of a body, if there is room for them; says whether it does.
    ///
    /// - Parameter size: The size of the whole body, as far as it is known.
    func hold(_ bytes: Int, of sender: BodyShares.Sender, bodyOf size: Int) -> Bool {
        bodies.withLock { $0.hold(bytes, of: sender, bodyOf: size) }
    }

    func release(_ bytes: Int, of sender: BodyShares.Sender) {
        bodies.withLock { $0.release(bytes, of: sender) }
    }
}
