package import RouterPlugin

/// Replays under way, and the last ones that have ended.
///
/// A request costs the same however many replays are kept: those of an application, their keys and their order are at hand.
package struct Replays: Sendable {
    /// The replays of one application, or those of all applications.
    private struct Book {
        var running: Set<ReplayID> = []
        var ended = EndedReplays()
        /// The replays that were requested under a key, by its bytes.
        var byKey: [[UInt8]: ReplayID] = [:]

        var count: Int { running.count + ended.count }
        var ids: [ReplayID] { running + ended.ids }
    }

    /// All of it is behind one reference, because copies of the engine are made more often than replays.
    private struct Library {
        var all: [ReplayID: Replay] = [:]
        var books: [ApplicationID?: Book] = [:]
        var ended = EndedReplays()
        var runningCount = 0

        mutating func put(_ replay: Replay) {
            remove(replay.id)
            all[replay.id] = replay
            var book = books.removeValue(forKey: replay.filter.application) ?? Book()
            if replay.state == .running {
                book.running.insert(replay.id)
                runningCount += 1
            } else {
                book.ended.insert(replay)
                ended.insert(replay)
            }
            if let key = replay.request?.key { book.byKey[Array(key.utf8)] = replay.id }
            books[replay.filter.application] = book
        }

        mutating func remove(_ id: ReplayID) {
            guard let replay = all.removeValue(forKey: id),
                var book = books.removeValue(forKey: replay.filter.application)
            else { return }
            if replay.state == .running {
                book.running.remove(id)
                runningCount -= 1
            } else {
                book.ended.remove(replay)
                ended.remove(replay)
            }
            if let key = replay.request?.key, book.byKey[Array(key.utf8)] == id { book.byKey[Array(key.utf8)] = nil }
            if book.count > 0 { books[replay.filter.application] = book }
        }
    }

    private var library = Indirect(Library())
    /// How long a replay that was requested under a key is kept for repetitions of the request, in milliseconds.
    let repeatMilliseconds: Int64

    init(repeatMilliseconds: Int64) { self.repeatMilliseconds = repeatMilliseconds }

    var all: [ReplayID: Replay] { library.value.all }

    /// The replays of an application, in order of their ids; nil for those that replay notifications of all applications.
    package func all(of application: ApplicationID?) -> [Replay] {
        let library = library.value
        return (library.books[application]?.ids ?? []).sorted().compactMap { library.all[$0] }
    }

    // MARK: Applying

    mutating func put(_ replay: Replay) { library.value.put(replay) }

    mutating func remove(_ id: ReplayID) { library.value.remove(id) }

    /// Takes out the replays of an application, in order of their ids.
    mutating func take(of application: ApplicationID) -> [Replay] {
        let taken = all(of: application)
        for replay in taken { remove(replay.id) }
        return taken
    }

    // MARK: Planning

    func begin(_ draft: ReplayDraft, in plan: inout PlanDraft) {
        plan.reads.append(.replays)
        if let earlier = replay(under: draft.request?.key, for: draft.filter.application) {
            plan.reply = earlier.request == draft.request ? .replay(earlier) : .refused(.idempotencyConflict)
            return
        }
        let book = library.value.books[draft.filter.application] ?? Book()
        guard book.running.count < share else {
            return plan.refuse(.tooManyReplays(limit: share > 0 ? share : RouterLimits.replaysRunning))
        }
        let isOver = plan.time.advanced(byMilliseconds: -repeatMilliseconds)
        // The new one is remembered with the others.
        let over = book.ended.beyond(RouterLimits.replaysRemembered - 1, keysUntil: isOver)
        guard book.count - over.count < RouterLimits.replaysRepeatable else {
            return plan.refuse(.tooManyReplays(limit: RouterLimits.replaysRepeatable))
        }
        // Replays of deleted applications are among these.
        let beyondAll = library.value.ended.beyond(RouterLimits.replaysRepeatable, keysUntil: isOver)
        let first = draft.tally.range?.lowerBound.value ?? 1
        var replay = Replay(
            id: plan.ids.replay(at: plan.time), filter: draft.filter, perSecond: draft.perSecond,
            matched: draft.tally.count, through: draft.tally.range?.upperBound ?? NotificationSequence(0),
            createdAt: draft.askedAt, request: draft.request, position: NotificationSequence(first - 1),
            resumesAt: plan.time)
        if draft.tally.range == nil { replay.end(as: .completed, at: plan.time) }
        plan.changes = [.putReplay(replay)]
        plan.reply = .replay(replay)
        plan.changes += Set(over + beyondAll).sorted().map { .forgetReplay($0) }
    }

    /// The number of replays that an application may have under way.
    private var share: Int {
        let free = RouterLimits.replaysRunning - library.value.runningCount
        guard free > 0 else { return 0 }
        return free <= RouterLimits.replaysRunning / 4 ? 1 : RouterLimits.replaysRunningPerApplication
    }

    /// The replay that a client has requested under a key; two applications may use the same key.
    private func replay(under key: String?, for application: ApplicationID?) -> Replay? {
        key.flatMap { library.value.books[application]?.byKey[Array($0.utf8)] }.flatMap { all[$0] }
    }

    func cancel(_ id: ReplayID, in plan: inout PlanDraft) {
        guard var replay = all[id] else { return plan.refuse(.unknownReplay(id)) }
        plan.reads.append(.replays)
        if replay.state == .running {
            replay.end(as: .cancelled, at: plan.time)
            plan.changes = [.putReplay(replay)]
        }
        plan.reply = .replay(replay)
    }

    /// Accepts the next page of a replay, as notifications of their own that are decided again, and commits its position with
    /// them.
    func step(
        _ id: ReplayID, through pipeline: Pipeline, tenant: (ApplicationID) -> Tenant?, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        guard var replay = all[id], replay.state == .running, replay.resumesAt <= plan.time else { return }
        let page = try plan.facts.replayable(
            replay, limit: replay.stepSize, examined: RouterLimits.replayRowsExamined)
        plan.reads.append(.replays)
        let before = replay.replayed
        replay.position = page.position
        for earlier in page.notifications {
            guard let tenant = tenant(earlier.application) else {
                replay.skipped += 1
                continue
            }
            var request = AcceptRequest(replaying: earlier)
            request.answers = pipeline.chooser.keptAnswers(
                of: earlier.decision, isHeld: false, for: request.onlyReceiver)
            if let amended = try pipeline.amended(request, &plan.work, at: plan.time) { request = amended }
            plan.reads += [.application(request.application), .newSession(request.application)]
            let routed = try pipeline.accept(
                request, plan.facts, in: tenant, naming: &plan.ids, &plan.work, at: plan.time)
            guard case .fresh(let decision, let placement, let newSession) = routed else { continue }
            plan.add(request, decision, placement, newSession)
            replay.replayed += 1
            if newSession != nil {
                // The next notification may be for the session that this one makes.
                replay.position = earlier.sequence
                break
            }
        }
        let pause = replay.pauseMilliseconds(after: replay.replayed - before)
        replay.resumesAt = plan.time.advanced(byMilliseconds: pause)
        if replay.position >= replay.through || replay.left <= 0 { replay.end(as: .completed, at: plan.time) }
        plan.changes.append(.putReplay(replay))
    }
}

/// Ended replays in order of their creation; those that were requested under a key are kept apart.
private struct EndedReplays: Sendable {
    private struct Entry: Comparable, Sendable {
        let createdAt: Timestamp
        let id: ReplayID

        init(_ replay: Replay) { (createdAt, id) = (replay.createdAt, replay.id) }

        static func < (left: Entry, right: Entry) -> Bool {
            (left.createdAt, left.id) < (right.createdAt, right.id)
        }
    }

    private var plain: [Entry] = []
    private var keyed: [Entry] = []

    var count: Int { plain.count + keyed.count }
    var ids: [ReplayID] { (plain + keyed).map(\.id) }

    mutating func insert(_ replay: Replay) {
        if replay.request == nil {
            Self.insert(Entry(replay), in: &plain)
        } else {
            Self.insert(Entry(replay), in: &keyed)
        }
    }

    mutating func remove(_ replay: Replay) {
        if replay.request == nil {
            Self.remove(Entry(replay), from: &plain)
        } else {
            Self.remove(Entry(replay), from: &keyed)
        }
    }

    /// The oldest ones beyond a number. A replay that was requested under a key counts and goes only when the key may be
    /// forgotten: until then, a repetition of the request is answered with it, and begins no other one.
    ///
    /// - Parameter horizon: Keys of requests up to then may be forgotten.
    func beyond(_ number: Int, keysUntil horizon: Timestamp) -> [ReplayID] {
        var old = keyed[..<Self.place(in: keyed) { $0.createdAt <= horizon }]
        var excess = plain.count + old.count - number
        var (rest, found) = (plain[...], [ReplayID]())
        while excess > 0 {
            let isPlain = old.first.map { old in rest.first.map { $0 < old } ?? false } ?? true
            found.append(isPlain ? rest.removeFirst().id : old.removeFirst().id)
            excess -= 1
        }
        return found
    }

    private static func insert(_ entry: Entry, in entries: inout [Entry]) {
        entries.insert(entry, at: place(in: entries) { $0 < entry })
    }

    private static func remove(_ entry: Entry, from entries: inout [Entry]) {
        let place = place(in: entries) { $0 < entry }
        if place < entries.count, entries[place] == entry { entries.remove(at: place) }
    }

    /// The number of entries, from the first one on, that a property holds for.
    private static func place(in entries: [Entry], while holds: (Entry) -> Bool) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(entries[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Replay {
    /// The lookup of the next page; nil if there is none.
    var nextPage: Lookup? {
        guard state == .running else { return nil }
        return .replayable(self, limit: stepSize, examined: RouterLimits.replayRowsExamined)
    }
}

extension AcceptRequest {
    /// A settled notification again, without its expiration and its collapse id, whose time is over.
    package init(replaying earlier: StoredNotification, trace: TraceContext? = nil, dedupeKeys: [String] = []) {
        let again = IncomingNotification(
            kind: earlier.kind, contentID: earlier.contentID, payload: earlier.payload?.bytes ?? [],
            contentType: earlier.payload?.contentType ?? MessagePayload.jsonContentType, priority: earlier.priority,
            dedupeKeys: dedupeKeys)
        self.init(
            application: earlier.application, source: earlier.source, device: earlier.device, trace: trace,
            replayOf: earlier.id, notification: again)
        if let first = earlier.broadcast, let session = earlier.decision.receiverOfBroadcast {
            broadcast = .only(session, of: first)
        }
    }
}
