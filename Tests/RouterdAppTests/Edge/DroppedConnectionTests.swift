import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import RouterdApp
import Testing

@testable import DaemonTesting

/// Connections that a server has accepted and never handles, because it stops in the meantime.
@Suite("Dropped connections")
struct DroppedConnectionTests {
    /// Sets up a connection, drops its handler, and keeps the connection until it is closed.
    private func drop(_ setUp: SetUp) throws {
        let channel = EmbeddedChannel()
        try setUp(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    private typealias SetUp = (EmbeddedChannel) throws -> Void

    @Test("An unhandled connection lives until it is closed, and ends nothing else")
    func plain() throws {
        let held = HeldHTTP1Channel(base: HTTP1Channel { _, _, _ in })
        try drop { _ = try held.setup(channel: $0, logger: .silent).wait() }
    }

    @Test("So does an unhandled connection behind the ingest edge")
    func edge() throws {
        let guarded = EdgeChannel(edge: Edge(EdgeSettings())) { _, _, _ in }
        try drop { _ = try guarded.setup(channel: $0, logger: .silent).wait() }
    }
}
