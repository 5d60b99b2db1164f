import HTTPTypes
import NIOCore
import NIOHTTP1

extension ConnectionGuard {
    /// Answers with a problem and ends the connection.
    ///
    /// Later bytes from the client are discarded but read for a while: if the connection were closed with bytes unread,
    /// the answer would be lost.
    func refuse(_ problem: Problem, _ context: ChannelHandlerContext) {
        guard ending == .notYet else { return }
        guard exchange?.answer ?? .notYet == .notYet else {
            // An answer was already sent, and there is no room for another.
            abandon(context)
            return context.close(promise: nil)
        }
        ending = .answering
        release()
        let written = context.eventLoop.makePromise(of: Void.self)
        // The handler that lets one request through at a time expects answers to requests; this answer may be to an
        // incomplete one.
        let writer =
            (try? context.pipeline.syncOperations.context(handlerType: HTTPServerPipelineHandler.self)) ?? context
        let body = problem.body
        var headers = HTTPHeaders(problem.headers.map { ($0.name.rawName, $0.value) })
        headers.add(name: "content-length", value: String(body.count))
        headers.add(name: "connection", value: "close")
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: problem.status.code), headers: headers)
        writer.write(wrapOutboundOut(.head(head)), promise: nil)
        if exchange?.isHead != true {
            writer.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        writer.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        lingerAfter(written.futureResult, context)
        abandon(context)
    }
}
