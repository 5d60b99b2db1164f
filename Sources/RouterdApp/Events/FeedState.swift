package import RouterPlugin

/// Who reads the feed, and how far each has come. The machine behind `EventFeed`, which has the lock and wakes readers.
package struct FeedState {
    /// What a reader finds.
    package enum Step: Equatable, Sendable {
        /// Events, and the place behind the last of them; first of all, what is missing before them.
        case events([RouterEvent], missed: EventRing.Missed?, place: Int64)
        /// Nothing, but it was nudged.
        case nudged(place: Int64)
        /// Nothing any more.
        case ended
    }

    /// Why nobody else may read.
    package enum Refusal: Error, Equatable, Sendable {
        /// There are as many as there may be.
        case tooMany
        /// The caller has as many as one may have.
        case tooManyOfCaller
        /// The daemon is about to stop.
        case ended
    }

    private struct Reader {
        var place: Int64
        /// It asks for what was in another run.
        var comesFromElsewhere = false
        var caller: [UInt8]?
        var isNudged = false
        var hasEnded = false
    }

    private let settings: FeedSettings
    private var ring: EventRing
    private var readers: [Int: Reader] = [:]
    private var lastReader = 0
    private var isEnded = false
    private var isKept = false
    /// Since when nobody has been reading, as far as anybody has looked.
    private var unreadSince: Timestamp?
    /// Whether events are made at all.
    package private(set) var isRecording = false

    package init(_ settings: FeedSettings) {
        self.settings = settings
        ring = EventRing(capacity: settings.events)
    }

    /// How many read.
    package var count: Int { readers.count }

    /// The number of the last event.
    package var lastSequence: Int64 { ring.last }

    /// - Parameters:
    ///   - place: What the reader has seen last; nil begins with what happens from now on.
    ///   - caller: Whose reader it is, if that is counted.
    package mutating func open(after place: FeedPlace?, by caller: [UInt8]? = nil) throws(Refusal) -> Int {
        guard !isEnded else { throw .ended }
        guard readers.count < settings.readers else { throw .tooMany }
        if let caller, readers.values.count(where: { $0.caller == caller }) >= settings.readersPerKey {
            throw .tooManyOfCaller
        }
        if !isRecording {
            ring.pause()
            isRecording = true
        }
        unreadSince = nil
        lastReader += 1
        var reader = Reader(place: ring.last, caller: caller)
        switch place {
        case nil: break
        case .here(let sequence) where sequence <= ring.last: reader.place = sequence
        case .here, .elsewhere:
            reader.place = ring.last - Int64(ring.count)
            reader.comesFromElsewhere = true
        }
        readers[lastReader] = reader
        return lastReader
    }

    /// Records from now on, whether or not anybody reads.
    package mutating func keepRecording() { (isKept, isRecording) = (true, true) }

    package mutating func close(_ id: Int) { readers[id] = nil }

    /// Takes events, numbered from the ring's last on. When nobody has read for a while, nobody comes back for them.
    package mutating func publish(_ events: [RouterEvent], at now: Timestamp) {
        if readers.isEmpty, !isKept {
            let since = unreadSince ?? now
            unreadSince = since
            guard now.milliseconds - since.milliseconds < settings.memoryMilliseconds else {
                ring.pause()
                isRecording = false
                return
            }
        }
        ring.append(events)
    }

    /// The reader is to look up, though nothing may have happened.
    package mutating func nudge(_ id: Int) { readers[id]?.isNudged = true }

    /// The reader is to come to its end.
    package mutating func end(_ id: Int) { readers[id]?.hasEnded = true }

    /// All readers are to come to their end, and there will be no others.
    package mutating func endAll() {
        isEnded = true
        for id in readers.keys { end(id) }
    }

    /// Whether `take` would find something.
    package func hasSomething(for id: Int) -> Bool {
        guard let reader = readers[id], !reader.hasEnded else { return true }
        return reader.isNudged || reader.comesFromElsewhere || reader.place < ring.last
    }

    /// What the reader finds now; nil if it has to wait.
    package mutating func take(_ id: Int, limit: Int) -> Step? {
        guard var reader = readers[id], !reader.hasEnded else { return .ended }
        defer { readers[id] = reader }
        var (missed, events) = ring.events(after: reader.place, limit: limit)
        if reader.comesFromElsewhere { missed = .unknown }
        if !events.isEmpty || missed != nil {
            reader.place = events.last?.sequence ?? ring.last
            reader.comesFromElsewhere = false
            return .events(events, missed: missed, place: reader.place)
        }
        guard reader.isNudged else { return nil }
        reader.isNudged = false
        return .nudged(place: reader.place)
    }
}

/// Where a reader has been.
package enum FeedPlace: Equatable, Sendable {
    /// Behind that event of this run.
    case here(Int64)
    /// In another run.
    case elsewhere
}

/// What the feed keeps, and for whom.
package struct FeedSettings: Sendable {
    /// How many of the last events.
    package var events = DaemonLimits.feedEvents
    /// For how long they are kept when nobody reads any more.
    package var memoryMilliseconds = DaemonLimits.feedMemoryMilliseconds
    /// How many may read at once, and how many with one key.
    package var readers = DaemonLimits.streams
    package var readersPerKey = DaemonLimits.streamsPerKey

    package init() {}
}
