import NIOCore
import NIOPosix
import RouterPlugin
import TestSupport
import Testing

@testable import RouterdClient

/// Answers that come before the server has the whole request.
@Suite("Early answers", .longest)
struct EarlyAnswerTests {
    /// Answers the first bytes of a connection, reads no more, and ends its side.
    private final class Refusal: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var hasAnswered = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !hasAnswered else { return }
            hasAnswered = true
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
            let problem = #"{"code":"body-too-large","detail":"The body is too large."}"#
            let answer = "HTTP/1.1 413 Content Too Large\r\ncontent-length: \(problem.utf8.count)\r\n\r\n\(problem)"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(mode: .output, promise: nil)
        }
    }

    @Test func aRefusalOfABodyIsToldThoughItsRestCannotBeSent() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Refusal()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let client = try RouterdServer("http://127.0.0.1:\(port)")
        // More than the buffers of both sockets hold.
        let payload: JSONValue = ["text": .string(String(repeating: "a", count: 32 << 20))]
        let error = await #expect(throws: RouterdClientError.self) {
            try await client.post(payload, to: ApplicationID(unchecked: "com.example.gallery"))
        }
        #expect(error?.status == 413 && error?.code == "body-too-large")
        try await server.close()
    }
}
