import NIOCore
package import Plugins
import Router
package import RouterPlugin
import Synchronization

/// The part of the APNs listeners that their connections share: the checks, the bounds, and the path of a push into the
/// router.
///
///     TLS ─▶ APNsConnection ─▶ HTTP/2 ─▶ APNsStream, one a request ─▶ APNsDesk ─▶ engine
///
/// Thread-safe.
package final class APNsDesk: Sendable {
    /// Submits a push; calls `answer` once, on any thread.
    package typealias Take = @Sendable (_ push: APNsPush, _ answer: @escaping @Sendable (APNsVerdict) -> Void) -> Void
    /// Records a request that was refused.
    package typealias NoteRefusal = @Sendable (_ request: APNsRequest, _ refusal: APNsRefusal) -> Void

    /// Asks whether an application exists; calls `answer` once, on any thread.
    package typealias Knows = @Sendable (_ id: ApplicationID, _ answer: @escaping @Sendable (Bool) -> Void) -> Void

    let checks: APNsChecks
    /// Time limits of connections and requests.
    package let waits: APNsTimes
    let streams: Int
    let now: @Sendable () -> Timestamp
    let take: Take
    let knows: Knows
    let noteRefusal: NoteRefusal
    private struct Connections {
        var book: ConnectionBook
        /// The served connections, by address.
        var channels: [IPAddress?: [ObjectIdentifier: any Channel]] = [:]
    }

    private let connections: Mutex<Connections>
    private let bodyBytesHeld: Int
    private let held = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    /// - Parameters:
    ///   - streams: How many requests a connection may have under way.
    ///   - connections: How many connections are served at once; further connections are closed.
    ///   - bodyBytesHeld: How many bytes of incomplete bodies are held, over all connections.
    ///   - now: The wall clock.
    package init(
        checks: APNsChecks, times: APNsTimes = APNsTimes(), streams: Int = DaemonLimits.apnsStreams,
        connections: Int = DaemonLimits.apnsConnections,
        bodyBytesHeld: Int = DaemonLimits.apnsBodyBytesHeld, now: @escaping @Sendable () -> Timestamp,
        noteRefusal: @escaping NoteRefusal = { _, _ in }, knows: @escaping Knows = { _, answer in answer(true) },
        take: @escaping Take
    ) {
        self.checks = checks
        waits = times
        self.streams = streams
        self.bodyBytesHeld = bodyBytesHeld
        self.now = now
        self.noteRefusal = noteRefusal
        self.take = take
        self.knows = knows
        // A connection of another address takes the place of an idle one of the address with the most.
        self.connections = Mutex(
            Connections(
                book: ConnectionBook(
                    connections: connections, perAddress: connections,
                    tooMany: 2 * DaemonLimits.apnsConnectionsDisplacing)))
    }

    /// Whether the connection is served; a served connection has to be closed in the end.
    ///
    /// If it takes the place of another address's, idle connections of that address are asked to close.
    func open(_ channel: any Channel, from address: IPAddress?) -> Bool {
        let asked: [any Channel]? = connections.withLock { state in
            var relieved: IPAddress??
            let admission = state.book.open(from: address, relieving: &relieved)
            guard admission == .served else {
                state.book.close(from: address, admission)
                return nil
            }
            state.channels[address, default: [:]][ObjectIdentifier(channel)] = channel
            guard let relieved, let channels = state.channels[relieved] else { return [] }
            return Array(channels.values.shuffled().prefix(DaemonLimits.connectionsAskedToClose))
        }
        guard let asked else { return false }
        let request = Edge.CloseRequest()
        for other in asked { other.pipeline.fireUserInboundEventTriggered(request) }
        return true
    }

    func close(_ channel: any Channel, from address: IPAddress?) {
        connections.withLock { state in
            state.book.close(from: address, .served)
            state.channels[address]?[ObjectIdentifier(channel)] = nil
            if state.channels[address]?.isEmpty == true { state.channels[address] = nil }
        }
    }

    /// Holds bytes of incomplete bodies, if there is room for them.
    func hold(_ bytes: Int) -> Bool {
        if held.add(bytes, ordering: .relaxed).newValue <= bodyBytesHeld { return true }
        release(bytes)
        return false
    }

    func release(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    /// Whether the listeners are stopping: requests that arrive now are refused.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    package func startDraining() { draining.store(true, ordering: .relaxed) }
}
