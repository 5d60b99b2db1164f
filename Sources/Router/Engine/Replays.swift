import RouterPlugin

/// Replays under way, and the last ones that have ended.
struct Replays: Sendable {
    private(set) var all: [ReplayID: Replay] = [:]
    /// How long a replay that was requested under a key is kept for repetitions of the request, in milliseconds.
    let repeatMilliseconds: Int64

    init(repeatMilliseconds: Int64) { self.repeatMilliseconds = repeatMilliseconds }

    // MARK: Applying

    mutating func put(_ replay: Replay) { all[replay.id] = replay }

    mutating func remove(_ id: ReplayID) { all[id] = nil }

    /// Takes out the replays of an application, in order of their ids.
    mutating func take(of application: ApplicationID) -> [Replay] {
        let taken = all.values.filter { $0.filter.application == application }.sorted { $0.id < $1.id }
        for replay in taken { all[replay.id] = nil }
        return taken
    }

    // MARK: Planning

    func begin(_ draft: ReplayDraft, in plan: inout PlanDraft) {
        plan.reads.append(.replays)
        if let earlier = replay(under: draft.request?.key, for: draft.filter.application) {
            plan.reply = earlier.request == draft.request ? .replay(earlier) : .refused(.idempotencyConflict)
            return
        }
        let others = all.values.filter { $0.filter.application == draft.filter.application }
        let running = others.count { $0.state == .running }
        guard running < share else {
            return plan.refuse(.tooManyReplays(limit: share > 0 ? share : RouterLimits.replaysRunning))
        }
        let over = forgettable(others, at: plan.time)
        guard others.count - over.count < RouterLimits.replaysRepeatable else {
            return plan.refuse(.tooManyReplays(limit: RouterLimits.replaysRepeatable))
        }
        let first = draft.tally.range?.lowerBound.value ?? 1
        var replay = Replay(
            id: plan.ids.replay(at: plan.time), filter: draft.filter, perSecond: draft.perSecond,
            matched: draft.tally.count, through: draft.tally.range?.upperBound ?? NotificationSequence(0),
            createdAt: draft.askedAt, request: draft.request, position: NotificationSequence(first - 1),
            resumesAt: plan.time)
        if draft.tally.range == nil { replay.end(as: .completed, at: plan.time) }
        plan.changes = [.putReplay(replay)]
        plan.reply = .replay(replay)
        plan.changes += Set(over + beyondAll(at: plan.time)).sorted().map { .forgetReplay($0) }
    }

    /// The number of replays that an application may have under way.
    private var share: Int {
        let free = RouterLimits.replaysRunning - all.values.count { $0.state == .running }
        guard free > 0 else { return 0 }
        return free <= RouterLimits.replaysRunning / 4 ? 1 : RouterLimits.replaysRunningPerApplication
    }

    /// The oldest ended replays beyond the number that is remembered of all applications, those of deleted ones among them.
    private func beyondAll(at now: Timestamp) -> [ReplayID] {
        let excess = all.count - RouterLimits.replaysRepeatable
        guard excess > 0 else { return [] }
        let ended = all.values.filter { $0.state != .running && !isRepeatable($0, at: now) }
        return ended.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }.prefix(excess).map(\.id)
    }

    /// Whether a repetition of the replay's request may still come.
    private func isRepeatable(_ replay: Replay, at now: Timestamp) -> Bool {
        replay.request != nil && now < replay.createdAt.advanced(byMilliseconds: repeatMilliseconds)
    }

    /// An application's ended replays beyond the number that is remembered, oldest first. A replay that was requested under a
    /// key stays until the key may be forgotten: a repetition of the request is answered with it, and begins no other one.
    private func forgettable(_ replays: [Replay], at now: Timestamp) -> [ReplayID] {
        let ended = replays.filter { $0.state != .running }.sorted {
            ($0.createdAt, $0.id) < ($1.createdAt, $1.id)
        }
        return ended.dropLast(RouterLimits.replaysRemembered - 1).filter { !isRepeatable($0, at: now) }.map(\.id)
    }

    /// The replay that a client has requested under a key; two applications may use the same key.
    private func replay(under key: String?, for application: ApplicationID?) -> Replay? {
        guard let key else { return nil }
        return all.values.first {
            $0.filter.application == application && $0.request?.key.isSame(as: key) == true
        }
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
            request.answers = pipeline.chooser.keptAnswers(of: earlier.decision, isHeld: false)
            if let amended = pipeline.amended(request, at: plan.time) { request = amended }
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
    }
}
