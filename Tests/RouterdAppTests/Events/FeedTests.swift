import NIOCore
import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

/// The feed as a value: places of readers, missing events, and when recording stops.
@Suite("Event feed")
struct FeedTests {
    private static let epoch = Timestamp(milliseconds: 0)

    private static func event(_ sequence: Int64) -> RouterEvent {
        RouterEvent(
            sequence: sequence, type: .sessionChanged, time: epoch,
            application: ApplicationID(unchecked: "com.example.A"))
    }

    private static func state(_ change: (inout FeedSettings) -> Void = { _ in }) -> FeedState {
        var settings = FeedSettings()
        settings.events = 4
        settings.memoryMilliseconds = 1000
        change(&settings)
        return FeedState(settings)
    }

    /// Publishes the next `count` events.
    private static func publish(_ count: Int, to feed: inout FeedState, at milliseconds: Int64 = 0) {
        let last = feed.lastSequence
        let events = (1...count).map { event(last + Int64($0)) }
        feed.publish(events, at: Timestamp(milliseconds: milliseconds))
    }

    private static func taken(_ step: FeedState.Step?) -> (missed: EventRing.Missed?, numbers: [Int64])? {
        guard case .events(let events, let missed, _) = step else { return nil }
        return (missed, events.map(\.sequence))
    }

    @Test("The ring keeps the last events, and knows how many are missing", arguments: 1...6 as ClosedRange<Int64>)
    func ring(count: Int64) {
        var ring = EventRing(capacity: 4)
        for number in 1...count { ring.append([Self.event(number)]) }
        for place in 0...count {
            let (missed, events) = ring.events(after: place, limit: 3)
            let kept = (1...count).filter { $0 > place }
            let there = kept.filter { $0 > count - 4 }
            #expect(events.map(\.sequence) == Array(there.prefix(3)))
            #expect(missed == (kept.count > there.count ? .events(Int64(kept.count - there.count)) : nil))
        }
    }

    @Test("Each reader has its own place, and receives only events after it")
    func readers() throws {
        var feed = Self.state()
        let first = try feed.open(after: nil)
        let start = feed.lastSequence
        Self.publish(2, to: &feed)
        let second = try feed.open(after: nil)
        #expect(feed.take(second, limit: 9) == nil)
        #expect(!feed.hasSomething(for: second))
        Self.publish(1, to: &feed)
        #expect(feed.hasSomething(for: second))
        #expect(Self.taken(feed.take(second, limit: 9))?.numbers == [start + 3])
        #expect(Self.taken(feed.take(first, limit: 2))?.numbers == [start + 1, start + 2])
        #expect(Self.taken(feed.take(first, limit: 2))?.numbers == [start + 3])
        #expect(feed.take(first, limit: 2) == nil)
        feed.nudge(first)
        #expect(feed.take(first, limit: 2) == .nudged(place: start + 3))
        #expect(feed.take(first, limit: 2) == nil)
        feed.end(first)
        #expect(feed.take(first, limit: 2) == .ended)
        #expect(feed.take(second, limit: 2) == nil)
        feed.endAll()
        #expect(feed.take(second, limit: 2) == .ended)
        #expect(throws: FeedState.Refusal.ended) { try feed.open(after: nil) }
    }

    @Test("A reader that is too slow misses the first events, is told how many, and goes on")
    func slowReader() throws {
        var feed = Self.state()
        let reader = try feed.open(after: nil)
        let start = feed.lastSequence
        Self.publish(10, to: &feed)
        let found = Self.taken(feed.take(reader, limit: 9))
        #expect(found?.missed == .events(6))
        #expect(found?.numbers == [7, 8, 9, 10].map { start + $0 })
    }

    @Test("A reader that returns goes on at its place, as long as its events are kept")
    func resuming() throws {
        var feed = Self.state()
        let first = try feed.open(after: nil)
        let start = feed.lastSequence
        Self.publish(3, to: &feed)
        feed.close(first)
        Self.publish(1, to: &feed, at: 900)
        let second = try feed.open(after: .here(start + 2))
        let found = Self.taken(feed.take(second, limit: 9))
        #expect(found?.missed == nil)
        #expect(found?.numbers == [start + 3, start + 4])
        let third = try feed.open(after: .here(start + 4))
        #expect(feed.take(third, limit: 9) == nil)
        // A place that claims to be of this run, but has not been reached, is foreign.
        for place in [FeedPlace.elsewhere, .here(start + 5)] {
            let reader = try feed.open(after: place)
            let found = Self.taken(feed.take(reader, limit: 9))
            #expect(found?.missed == .unknown)
            #expect(found?.numbers == (1...4).map { start + $0 })
        }
        let empty = Self.state()
        var other = empty
        let reader = try other.open(after: .elsewhere)
        #expect(other.hasSomething(for: reader))
        #expect(Self.taken(other.take(reader, limit: 9))?.missed == .unknown)
        #expect(other.take(reader, limit: 9) == nil)
    }

    @Test("Events are recorded only while the feed has readers, or had some recently; a gap is reported")
    func recording() throws {
        var feed = Self.state()
        #expect(!feed.isRecording)
        let reader = try feed.open(after: nil)
        #expect(feed.isRecording)
        Self.publish(1, to: &feed)
        let place = feed.lastSequence
        feed.close(reader)
        Self.publish(1, to: &feed, at: 5000)
        #expect(feed.isRecording, "The time begins when the feed sees that it has no reader.")
        Self.publish(1, to: &feed, at: 5999)
        #expect(feed.isRecording)
        Self.publish(1, to: &feed, at: 6000)
        #expect(!feed.isRecording)
        let again = try feed.open(after: .here(place))
        #expect(Self.taken(feed.take(again, limit: 9))?.missed == .unknown)
        #expect(feed.take(again, limit: 9) == nil)
        Self.publish(1, to: &feed, at: 6001)
        #expect(Self.taken(feed.take(again, limit: 9))?.missed == nil)
    }

    @Test("The number of readers is limited, and so is that of one caller")
    func limits() throws {
        var feed = Self.state {
            $0.readers = 3
            $0.readersPerCaller = 2
        }
        let first = try feed.open(after: nil, by: [1])
        _ = try feed.open(after: nil, by: [1])
        #expect(throws: FeedState.Refusal.tooManyOfCaller) { try feed.open(after: nil, by: [1]) }
        _ = try feed.open(after: nil, by: [2])
        #expect(throws: FeedState.Refusal.tooMany) { try feed.open(after: nil, by: [3]) }
        feed.close(first)
        _ = try feed.open(after: nil, by: [1])
        #expect(feed.count == 3)
    }

    @Test("The last quarter of the readers is kept for callers that have few")
    func share() throws {
        var feed = Self.state {
            $0.readers = 16
            $0.readersPerCaller = 8
        }
        for _ in 0..<8 { _ = try feed.open(after: nil, by: [1]) }
        for _ in 0..<4 { _ = try feed.open(after: nil, by: [2]) }
        // Twelve of sixteen are taken.
        #expect(throws: FeedState.Refusal.tooManyOfCaller) { try feed.open(after: nil, by: [2]) }
        for _ in 0..<2 { _ = try feed.open(after: nil, by: [3]) }
        #expect(throws: FeedState.Refusal.tooManyOfCaller) { try feed.open(after: nil, by: [3]) }
        _ = try feed.open(after: nil, by: [4])
        #expect(feed.count == 15)
    }

    @Test("Events are written in the format, and ids are read back")
    func format() {
        let format = ServerSentEvents(run: "01J0000000000000000000000A")
        var buffer = ByteBuffer()
        format.append(Self.event(7), to: &buffer)
        format.appendGap(.events(3), before: 6, to: &buffer)
        format.appendGap(.unknown, before: 6, to: &buffer)
        format.appendHeartbeat(at: 9, to: &buffer)
        let id = "01J0000000000000000000000A"
        let time = "1970-01-01T00:00:00.000Z"
        #expect(
            String(buffer: buffer) == """
                id: \(id)-7
                event: session.changed
                data: {"id":"\(id)-7","type":"session.changed","time":"\(time)","application":"com.example.A"}

                id: \(id)-6
                event: gap
                data: {"id":"\(id)-6","type":"gap","missed":3}

                id: \(id)-6
                event: gap
                data: {"id":"\(id)-6","type":"gap","missed":null}

                :
                id: \(id)-9


                """)
        #expect(format.place(of: "\(id)-7") == .here(7))
        #expect(format.place(of: "01J0000000000000000000000B-7") == .elsewhere)
        for text in ["", "7", "\(id)", "\(id)-", "\(id)-x", "\(id)--7", "01J-7", "\(id)-99999999999999999999"] {
            #expect(format.place(of: text) == nil, "\(text)")
        }
    }

    // MARK: - Readers of one application

    private static let (own, other) = (ApplicationID(unchecked: "com.example.own"), ApplicationID(unchecked: "other"))

    /// Publishes events of applications: `o` of the reader's own, `x` of another.
    private static func publish(_ letters: String, to feed: inout FeedState) {
        let last = feed.lastSequence
        let events = letters.enumerated().map { offset, letter in
            RouterEvent(
                sequence: last + Int64(offset) + 1, type: .sessionChanged, time: epoch,
                application: letter == "o" ? own : other)
        }
        feed.publish(events, at: epoch)
    }

    @Test("numbers of one application's stream do not depend on the events of others", arguments: ["", "x", "xxx"])
    func ownNumbers(noise: String) throws {
        var feed = Self.state { $0.events = 100 }
        let reader = try feed.open(after: nil, of: Self.own)
        let start: Int64 = 1
        feed.nudge(reader)
        #expect(feed.take(reader, limit: 9) == .nudged(place: start))
        Self.publish(noise + "o" + noise, to: &feed)
        Self.publish(noise + "oo", to: &feed)
        #expect(Self.taken(feed.take(reader, limit: 2))?.numbers == [start + 1, start + 2])
        #expect(Self.taken(feed.take(reader, limit: 2))?.numbers == [start + 3])
        #expect(feed.take(reader, limit: 2) == nil)
        if !noise.isEmpty { Self.publish(noise, to: &feed) }
        #expect(feed.take(reader, limit: 2) == nil)
        feed.nudge(reader)
        #expect(feed.take(reader, limit: 9) == .nudged(place: start + 3))
        // Back at any place of its own.
        for seen in 0...3 as ClosedRange<Int64> {
            let back = try feed.open(after: .here(start + seen), of: Self.own)
            let found = Self.taken(feed.take(back, limit: 9))
            #expect(found?.numbers ?? [] == Array(start + seen + 1..<start + 4))
            #expect(found?.missed == nil)
        }
        let ahead = try feed.open(after: .here(start + 4), of: Self.own)
        let found = Self.taken(feed.take(ahead, limit: 9))
        #expect(found?.missed == .unknown && found?.numbers == [start + 1, start + 2, start + 3])
    }

    @Test("events of others that push own events out of the ring are not counted as missed")
    func ownGaps() throws {
        var feed = Self.state()
        let reader = try feed.open(after: nil, of: Self.own)
        Self.publish("oooxxx", to: &feed)
        let found = Self.taken(feed.take(reader, limit: 9))
        #expect(found?.missed == .events(2) && found?.numbers == [4])
        Self.publish("xxxxxxxxx", to: &feed)
        #expect(feed.take(reader, limit: 9) == nil)
        Self.publish("oxxxx", to: &feed)
        let late = Self.taken(feed.take(reader, limit: 9))
        #expect(late?.missed == .events(1) && late?.numbers == [])
        Self.publish("o", to: &feed)
        #expect(Self.taken(feed.take(reader, limit: 9))?.numbers == [6])
    }

    @Test("a pause is a gap of unknown length in one application's stream too")
    func ownPause() throws {
        var feed = Self.state()
        let first = try feed.open(after: nil, of: Self.own)
        Self.publish("oo", to: &feed)
        feed.close(first)
        feed.publish([Self.event(feed.lastSequence + 1)], at: Timestamp(milliseconds: 0))
        feed.publish([Self.event(feed.lastSequence + 1)], at: Timestamp(milliseconds: 5000))
        #expect(!feed.isRecording)
        let back = try feed.open(after: .here(3), of: Self.own)
        let found = Self.taken(feed.take(back, limit: 9))
        #expect(found?.missed == .unknown && found?.numbers == [])
        Self.publish("o", to: &feed)
        #expect(Self.taken(feed.take(back, limit: 9))?.missed == nil)
    }
}
