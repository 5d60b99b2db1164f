package import RouterPlugin

/// The readers of the feed and the place of each. The machine behind `EventFeed`, which has the lock and wakes readers.
package struct FeedState {
    /// The result of a read.
    package enum Step: Equatable, Sendable {
        /// Events, and the place behind the last of them; `missed` are the events missing before the first.
        case events([RouterEvent], missed: EventRing.Missed?, place: Int64)
        /// No events, but the reader was nudged.
        case nudged(place: Int64)
        /// The end: no more events follow.
        case ended
    }

    /// The reason why another reader is refused.
    package enum Refusal: Error, Equatable, Sendable {
        /// The feed has its maximum number of readers.
        case tooMany
        /// The caller has its maximum number of readers.
        case tooManyOfCaller
        /// The daemon is about to stop.
        case ended
    }

    private struct Reader {
        /// The number of the last event that was read, among those of all applications.
        var place: Int64
        /// The application whose events the reader gets and counts; nil for all.
        var application: ApplicationID?
        /// The number of the last event of the application that was read.
        var ownPlace: Int64 = 0
        /// Whether the reader asks for events of another run.
        var comesFromElsewhere = false
        var caller: [UInt8]?
        var isNudged = false
        var hasEnded = false
    }

    private let settings: FeedSettings
    private var ring: EventRing
    private var numbers = EventNumbers()
    private var readers: [Int: Reader] = [:]
    private var lastReader = 0
    private var isEnded = false
    private var isKept = false
    /// The time of the first publish without readers; nil since the last reader opened.
    private var unreadSince: Timestamp?
    /// Whether events are made at all.
    package private(set) var isRecording = false

    package init(_ settings: FeedSettings) {
        self.settings = settings
        ring = EventRing(capacity: settings.events)
    }

    /// The number of readers.
    package var count: Int { readers.count }

    /// The greatest number of readers of one caller. The last quarter of all readers is kept for callers that have few.
    private var share: Int {
        let isCrowded = readers.count >= settings.readers - settings.readers / 4
        return isCrowded ? max(1, settings.readersPerCaller / 4) : settings.readersPerCaller
    }

    /// The number of the last event.
    package var lastSequence: Int64 { ring.last }

    /// - Parameters:
    ///   - place: The place of the last event that the reader has seen; nil begins with the next event.
    ///   - application: The application whose events alone the reader gets. Its events are numbered without regard to
    ///     others, and places are such numbers; nil gets and counts the events of all.
    ///   - caller: The caller whose readers are counted together; nil does not count them.
    package mutating func open(
        after place: FeedPlace?, of application: ApplicationID? = nil, by caller: [UInt8]? = nil
    ) throws(Refusal) -> Int {
        guard !isEnded else { throw .ended }
        guard readers.count < settings.readers else { throw .tooMany }
        if let caller, readers.values.count(where: { $0.caller == caller }) >= share { throw .tooManyOfCaller }
        if !isRecording {
            pause()
            isRecording = true
        }
        unreadSince = nil
        lastReader += 1
        var reader = Reader(place: ring.last, application: application, caller: caller)
        if let application { reader.ownPlace = numbers.last(of: application) }
        let last = application.map(numbers.last) ?? ring.last
        switch place {
        case nil: break
        case .here(let sequence) where sequence <= last:
            if application == nil { reader.place = sequence } else { reader.ownPlace = sequence }
            // All events that are kept are looked through for those of the application.
            if application != nil, sequence < last { reader.place = ring.last - Int64(ring.count) }
        case .here, .elsewhere:
            reader.place = ring.last - Int64(ring.count)
            reader.comesFromElsewhere = true
        }
        readers[lastReader] = reader
        return lastReader
    }

    /// Records from now on, whether or not the feed has readers.
    package mutating func keepRecording() { (isKept, isRecording) = (true, true) }

    package mutating func close(_ id: Int) { readers[id] = nil }

    /// Records events, numbered from the ring's last on. After a time without readers, recording stops: no reader is
    /// expected to come back for the events.
    package mutating func publish(_ events: [RouterEvent], at now: Timestamp) {
        if readers.isEmpty, !isKept {
            let since = unreadSince ?? now
            unreadSince = since
            guard now.milliseconds - since.milliseconds < settings.memoryMilliseconds else {
                pause()
                isRecording = false
                return
            }
        }
        ring.append(events)
        for event in events { numbers.count(event.application) }
    }

    private mutating func pause() {
        ring.pause()
        numbers.pause()
    }

    /// Lets the reader return, even if no event has occurred.
    package mutating func nudge(_ id: Int) { readers[id]?.isNudged = true }

    /// Ends a reader.
    package mutating func end(_ id: Int) { readers[id]?.hasEnded = true }

    /// Ends all readers, and refuses new ones.
    package mutating func endAll() {
        isEnded = true
        for id in readers.keys { end(id) }
    }

    /// Whether `take` would return a step.
    package func hasSomething(for id: Int) -> Bool {
        guard let reader = readers[id], !reader.hasEnded else { return true }
        return reader.isNudged || reader.comesFromElsewhere || reader.place < ring.last
    }

    /// The next step of the reader; nil if it has to wait.
    package mutating func take(_ id: Int, limit: Int) -> Step? {
        guard var reader = readers[id], !reader.hasEnded else { return .ended }
        defer { readers[id] = reader }
        if let application = reader.application { return takeOwn(of: application, &reader, limit: limit) }
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

extension FeedState {
    /// The next step of a reader that gets the events of one application.
    ///
    /// Its events behind the reader's place are its last ones, so the number of each follows from the number of the last.
    /// Events of other applications leave no trace: neither in numbers nor in gaps.
    private func takeOwn(of application: ApplicationID, _ reader: inout Reader, limit: Int) -> Step? {
        let last = numbers.last(of: application)
        let found = ring.events(after: reader.place, limit: .max).events.filter { $0.application == application }
        reader.place = ring.last
        var first = last - Int64(found.count) + 1
        var missed: EventRing.Missed?
        if reader.comesFromElsewhere || reader.ownPlace < numbers.floor(of: application) {
            missed = .unknown
        } else {
            if first > reader.ownPlace + 1 { missed = .events(first - reader.ownPlace - 1) }
            first = max(first, reader.ownPlace + 1)
        }
        guard first <= last || missed != nil else {
            guard reader.isNudged else { return nil }
            reader.isNudged = false
            return .nudged(place: reader.ownPlace)
        }
        let next = found.suffix(Int(last - first + 1)).prefix(limit)
        let events = next.enumerated().map { offset, event in event.numbered(first + Int64(offset)) }
        reader.ownPlace = events.last?.sequence ?? last
        if reader.ownPlace < last, let end = next.last { reader.place = end.sequence }
        reader.comesFromElsewhere = false
        return .events(events, missed: missed, place: reader.ownPlace)
    }
}

extension RouterEvent {
    fileprivate func numbered(_ sequence: Int64) -> RouterEvent {
        RouterEvent(
            sequence: sequence, type: type, time: time, application: application, session: session, device: device,
            detail: detail)
    }
}

/// How many events each application has had in this run.
///
/// A pause counts as one event of each, so that no reader takes the events before and after it for neighbours.
private struct EventNumbers {
    private var pauses: Int64 = 0
    private var counts: [ApplicationID: Int64] = [:]
    /// The counts at the last pause.
    private var countsAtPause: [ApplicationID: Int64] = [:]

    mutating func count(_ application: ApplicationID) { counts[application, default: 0] += 1 }

    mutating func pause() {
        pauses += 1
        countsAtPause = counts
    }

    /// The number of the last event of the application.
    func last(of application: ApplicationID) -> Int64 { pauses + (counts[application] ?? 0) }

    /// The number that the last pause had.
    func floor(of application: ApplicationID) -> Int64 { pauses + (countsAtPause[application] ?? 0) }
}

/// The place of the last event that a reader has seen.
package enum FeedPlace: Equatable, Sendable {
    /// Behind that event of this run.
    case here(Int64)
    /// In another run.
    case elsewhere
}

/// The capacity of the feed and its limits on readers.
package struct FeedSettings: Sendable {
    /// How many of the last events are kept.
    package var events = DaemonLimits.feedEvents
    /// How long they are kept after the last reader closed.
    package var memoryMilliseconds = DaemonLimits.feedMemoryMilliseconds
    /// How many readers may be open at once, and how many with one key.
    package var readers = DaemonLimits.streams
    package var readersPerCaller = DaemonLimits.streamsPerCaller

    package init() {}
}
