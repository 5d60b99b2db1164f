package import HummingbirdCore
package import Logging
package import NIOCore

/// Hummingbird's connection of HTTP/1.1, which the server may drop at any time.
///
/// A stopping server drops connections that it has accepted but not yet begun to handle. Each has a `NIOAsyncWriter`,
/// which ends the process if it is dropped unfinished. A writer is finished when its channel closes, and is therefore
/// held until then.
package struct HeldHTTP1Channel: ServerChildChannel {
    let base: HTTP1Channel

    package init(base: HTTP1Channel) {
        self.base = base
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).map { value in
            channel.closeFuture.whenComplete { _ in withExtendedLifetime(value) {} }
            return value
        }
    }

    package func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

extension HTTPServerBuilder {
    /// A server of plain HTTP/1.1 that may be stopped while clients connect.
    package static var heldHTTP1: HTTPServerBuilder {
        HTTPServerBuilder { HeldHTTP1Channel(base: HTTP1Channel(responder: $0)) }
    }
}
