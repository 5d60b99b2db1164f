package import Router
import Synchronization

/// The source of the ids of traces and spans.
package final class SpanIDs: Sendable {
    private let generator: Mutex<any RandomNumberGenerator & Sendable>

    package init(using generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.generator = Mutex(generator)
    }

    package func nextSpan() -> SpanID { generator.withLock { Self.span(using: &$0) } }

    package func nextTrace() -> TraceID { generator.withLock { Self.trace(using: &$0) } }

    private static func span(using generator: inout any RandomNumberGenerator & Sendable) -> SpanID {
        SpanID(using: &generator)
    }

    private static func trace(using generator: inout any RandomNumberGenerator & Sendable) -> TraceID {
        TraceID(using: &generator)
    }
}
