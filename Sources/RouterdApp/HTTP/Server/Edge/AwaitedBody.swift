import HTTPTypes
import Hummingbird
import NIOCore

/// A body whose client waits for `100 Continue`: the first read of the body sends `100 Continue`.
///
/// A request that is refused for its path, its key or its length is therefore answered before any of the body is sent.
struct AwaitedBody: AsyncSequence, Sendable {
    /// Tells the connection that the body is wanted.
    struct Wanted: Sendable {}

    let body: RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        var asked: (any Channel)?

        @concurrent mutating func next() async throws -> ByteBuffer? {
            asked?.triggerUserOutboundEvent(Wanted(), promise: nil)
            asked = nil
            return try await base.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: body.makeAsyncIterator(), asked: channel)
    }
}

extension Request {
    /// The request, with an `AwaitedBody` if the client waits for `100 Continue`.
    func askingForItsBody(on channel: any Channel) -> Request {
        guard headers[.expect] != nil else { return self }
        var request = self
        request.body = RequestBody(asyncSequence: AwaitedBody(body: body, channel: channel))
        return request
    }
}
