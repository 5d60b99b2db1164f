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
    private let book: Mutex<ConnectionBook>
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
        book = Mutex(ConnectionBook(connections: connections, perAddress: connections, tooMany: 0))
    }

    /// Whether the connection is served; a served connection has to be closed in the end.
    func open(from address: IPAddress?) -> Bool {
        book.withLock { book in
            var relieved: IPAddress??
            return book.open(from: address, relieving: &relieved) == .served
        }
    }

    func close(from address: IPAddress?) {
        book.withLock { $0.close(from: address, .served) }
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
