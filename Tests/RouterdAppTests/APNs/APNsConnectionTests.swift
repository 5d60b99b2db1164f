import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("APNs: a connection")
struct APNsConnectionTests {
    /// Records that the connection asks for GOAWAY.
    private final class Goodbyes: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var lastStreams: [HTTP2StreamID] = []
        var count: Int { lastStreams.count }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let goodbye = event as? APNsGoodbye { lastStreams.append(goodbye.lastStream) }
        }
    }

    private let desk = APNsBench.desk()
    private let channel = EmbeddedChannel()
    private let connection: APNsConnection
    private let goodbyes = Goodbyes()

    init() throws {
        connection = APNsConnection(desk: desk)
        try channel.pipeline.syncOperations.addHandlers([connection, goodbyes])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func passes(_ time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

    @Test("A connection without a preface is closed after seconds")
    func noPreface() {
        passes(desk.waits.preface - .nanoseconds(1))
        #expect(channel.isActive)
        passes(.nanoseconds(1))
        #expect(!channel.isActive && goodbyes.count == 0)
    }

    @Test("An idle connection makes room for another address, a busy one does not")
    func makesRoom() {
        let request = Edge.CloseRequest()
        connection.streamOpened(1)
        channel.pipeline.fireUserInboundEventTriggered(request)
        #expect(channel.isActive && goodbyes.count == 0)
        connection.streamClosed()
        channel.pipeline.fireUserInboundEventTriggered(request)
        #expect(goodbyes.lastStreams == [1])
        #expect(!request.claim(), "One connection closes for each request.")
    }

    @Test("A connection without a preface makes room at once")
    func silentMakesRoom() {
        channel.pipeline.fireUserInboundEventTriggered(Edge.CloseRequest())
        #expect(!channel.isActive)
    }

    @Test("A connection without a request is closed in time")
    func noRequest() throws {
        try channel.writeInbound(ByteBuffer(string: "PRI"))
        passes(desk.waits.firstRequest - .nanoseconds(1))
        #expect(channel.isActive)
        passes(.nanoseconds(1))
        #expect(!channel.isActive && goodbyes.count == 0)
    }

    @Test("An idle connection sends GOAWAY, and is closed if the client does not close it")
    func idle() {
        connection.streamOpened(1)
        passes(.hours(1))
        #expect(channel.isActive && goodbyes.count == 0, "A request under way is not idleness.")
        connection.streamClosed()
        passes(desk.waits.idle - .nanoseconds(1))
        #expect(goodbyes.count == 0)
        passes(.nanoseconds(1))
        #expect(channel.isActive && goodbyes.lastStreams == [1])
        passes(desk.waits.linger)
        #expect(!channel.isActive)
    }

    @Test("When the listener stops, a connection without a request is closed at once")
    func stopping() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!channel.isActive && goodbyes.count == 0)
    }

    @Test("When the listener stops, GOAWAY follows the answers, or the time limit", arguments: [true, false])
    func stoppingWithRequests(areAnswered: Bool) {
        connection.streamOpened(1)
        connection.streamOpened(3)
        connection.streamClosed()
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        connection.streamOpened(5)
        connection.streamClosed()
        passes(desk.waits.drain - .nanoseconds(1))
        #expect(channel.isActive && goodbyes.count == 0)
        if areAnswered { connection.streamClosed() } else { passes(.nanoseconds(1)) }
        #expect(channel.isActive && goodbyes.lastStreams == [5])
        passes(desk.waits.linger)
        #expect(!channel.isActive && goodbyes.count == 1)
    }

    @Test("A client that reads no answer is closed in time; a client that reads it is not")
    func stalled() {
        connection.streamOpened(1)
        for takesIt in [true, false] {
            channel.isWritable = false
            channel.pipeline.fireChannelWritabilityChanged()
            passes(desk.waits.stall - .nanoseconds(1))
            if takesIt {
                channel.isWritable = true
                channel.pipeline.fireChannelWritabilityChanged()
            }
            passes(.nanoseconds(1))
            #expect(channel.isActive == takesIt)
        }
    }
}
