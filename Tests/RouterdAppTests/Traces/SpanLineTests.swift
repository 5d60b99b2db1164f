import Router
import RouterPlugin
import RouterdApp
import Testing
import Tracing

@Suite("Spans that wait for the collector")
struct SpanLineTests {
    private static func span(_ number: UInt64) -> SpanRecord {
        SpanRecord(
            "\(number)", TraceContext(TraceID(high: 0, low: 1), SpanID(number), isSampled: true), parent: nil,
            .internal, from: number)
    }

    private static func line(_ spans: ClosedRange<UInt64>, limit: Int = 10, batchSize: Int = 2) -> SpanLine {
        var line = SpanLine(limit: limit, batchSize: batchSize)
        for number in spans { line.add(span(number)) }
        return line
    }

    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1000 * seconds) }

    @Test("Batches go in order, each once")
    func order() {
        var line = Self.line(1...5)
        var names: [[String]] = []
        while let batch = line.next(at: Self.time(0)) {
            names.append(batch.map(\.name))
            line.ended(.taken(rejecting: 0), at: Self.time(0))
        }
        #expect(names == [["1", "2"], ["3", "4"], ["5"]])
        #expect(line.counts.exported == 5 && line.counts.droppedFull == 0 && line.counts.droppedRefused == 0)
    }

    @Test("Spans beyond the limit are dropped and counted, also while a batch is under way")
    func bound() {
        var line = Self.line(1...12)
        #expect(line.counts.droppedFull == 2)
        _ = line.next(at: Self.time(0))
        line.add(Self.span(13))
        #expect(line.counts.droppedFull == 3)
        line.ended(.taken(rejecting: 0), at: Self.time(0))
        line.add(Self.span(14))
        #expect(line.counts.droppedFull == 3 && line.counts.exported == 2)
    }

    @Test("A batch that failed goes again after waits that double up to a minute")
    func waits() {
        var line = Self.line(1...3)
        var now: Int64 = 0
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            #expect(line.next(at: Self.time(now))?.map(\.name) == ["1", "2"])
            line.ended(.failed(retryAfterSeconds: nil), at: Self.time(now))
            #expect(line.next(at: Timestamp(milliseconds: 1000 * (now + wait) - 1)) == nil)
            now += wait
        }
        #expect(line.next(at: Self.time(now))?.count == 2)
        line.ended(.taken(rejecting: 0), at: Self.time(now))
        #expect(line.next(at: Self.time(now))?.map(\.name) == ["3"])
        line.ended(.failed(retryAfterSeconds: nil), at: Self.time(now))
        #expect(line.next(at: Self.time(now + 1)) != nil, "a success begins the waits again")
    }

    @Test("The collector may ask for a longer wait, up to five minutes")
    func askedWaits() {
        for (asked, wait) in [(30, 30), (0, 1), (4000, 300)] as [(Int, Int64)] {
            var line = Self.line(1...1)
            _ = line.next(at: Self.time(0))
            line.ended(.failed(retryAfterSeconds: asked), at: Self.time(0))
            #expect(line.next(at: Timestamp(milliseconds: 1000 * wait - 1)) == nil)
            #expect(line.next(at: Self.time(wait)) != nil)
        }
    }

    @Test("Refused batches and rejected spans are counted, and not sent again")
    func refusals() {
        var line = Self.line(1...4)
        _ = line.next(at: Self.time(0))
        line.ended(.refused, at: Self.time(0))
        #expect(line.next(at: Self.time(0))?.map(\.name) == ["3", "4"])
        line.ended(.taken(rejecting: 1), at: Self.time(0))
        #expect(line.counts.droppedRefused == 3 && line.counts.exported == 1)
        #expect(line.next(at: Self.time(0)) == nil)
    }
}
