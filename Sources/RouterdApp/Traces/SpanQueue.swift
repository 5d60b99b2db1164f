package import RouterPlugin
import Synchronization

/// The queue between the parts that finish spans and the exporter. Neither waits for the other.
package final class SpanQueue: Sendable {
    private let line: Mutex<SpanLine>

    package init(_ line: SpanLine = SpanLine()) { self.line = Mutex(line) }

    package var counts: SpanCounts { line.withLock { $0.counts } }

    package func add(_ span: SpanRecord) { line.withLock { $0.add(span) } }

    package func next(at now: Timestamp) -> [SpanRecord]? { line.withLock { $0.next(at: now) } }

    func ended(_ outcome: SpanLine.Outcome, at now: Timestamp) { line.withLock { $0.ended(outcome, at: now) } }
}
