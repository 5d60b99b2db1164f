import RouterPlugin

extension Engine {
    mutating func planReplay(_ draft: ReplayDraft, at now: Timestamp) -> Plan {
        if let application = draft.filter.application, tenants[application] == nil {
            return .refused(.unknownApplication(application))
        }
        var plan = Plan(reads: [.replays], writes: [.replays])
        if let earlier = replay(under: draft.request?.key, for: draft.filter.application) {
            plan.reply = earlier.request == draft.request ? .replay(earlier) : .refused(.idempotencyConflict)
            return plan
        }
        guard replays.values.count(where: { $0.state == .running }) < RouterLimits.replaysRunning else {
            return .refused(.tooManyReplays(limit: RouterLimits.replaysRunning))
        }
        let over = forgettable(at: now)
        guard replays.count - over.count < RouterLimits.replaysRepeatable else {
            return .refused(.tooManyReplays(limit: RouterLimits.replaysRepeatable))
        }
        let first = draft.tally.range?.lowerBound.value ?? 1
        var replay = Replay(
            id: ids.replay(at: now), filter: draft.filter, perSecond: draft.perSecond,
            matched: draft.tally.count, through: draft.tally.range?.upperBound ?? NotificationSequence(0),
            createdAt: draft.askedAt, request: draft.request, position: NotificationSequence(first - 1), resumesAt: now)
        if draft.tally.range == nil { replay.end(as: .completed, at: now) }
        plan.changes = [.putReplay(replay)]
        plan.reply = .replay(replay)
        plan.changes += over.map { .forgetReplay($0) }
        return plan
    }

    /// Those that have ended and are many, oldest first. One that was asked for under a key stays until the key may be
    /// forgotten: who repeats the request then is told of it, and does not get another one.
    private func forgettable(at now: Timestamp) -> [ReplayID] {
        let ended = replays.values.filter { $0.state != .running }.sorted {
            ($0.createdAt, $0.id) < ($1.createdAt, $1.id)
        }
        return ended.dropLast(RouterLimits.replaysRemembered - 1).filter { replay in
            replay.request == nil || replay.createdAt.advanced(byMilliseconds: retention.repeatMilliseconds) <= now
        }.map(\.id)
    }

    /// What a client has asked for under a key; two applications may use the same key.
    private func replay(under key: String?, for application: ApplicationID?) -> Replay? {
        guard let key else { return nil }
        return replays.values.first {
            $0.filter.application == application && $0.request?.key.isSame(as: key) == true
        }
    }

    func planCancelReplay(_ id: ReplayID, at now: Timestamp) -> Plan {
        guard var replay = replays[id] else { return .refused(.unknownReplay(id)) }
        var plan = Plan(reads: [.replays], writes: [.replays])
        if replay.state == .running {
            replay.end(as: .cancelled, at: now)
            plan.changes = [.putReplay(replay)]
        }
        plan.reply = .replay(replay)
        return plan
    }

    /// The next of a replay, as notifications of their own that are decided anew, and how far it has come with them.
    mutating func planStep(
        of id: ReplayID, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard var replay = replays[id], replay.state == .running, replay.resumesAt <= now else { return Plan() }
        let page = try facts.replayable(
            replay, limit: replay.stepSize, examined: RouterLimits.replayRowsExamined)
        var plan = Plan(reads: [.replays], writes: [.replays])
        let before = replay.replayed
        replay.position = page.position
        for earlier in page.notifications {
            guard let tenant = tenants[earlier.application] else {
                replay.skipped += 1
                continue
            }
            let request = AcceptRequest(replaying: earlier)
            plan.reads += [.application(request.application), .newSession(request.application)]
            guard
                case .fresh(let decision, let placement, let newSession) = try pipeline.accept(
                    request, facts, in: tenant, naming: &ids, at: now)
            else { continue }
            add(request, decision, placement, newSession, at: now, to: &plan)
            replay.replayed += 1
            if newSession != nil {
                // The next one may be for the session that this one makes.
                replay.position = earlier.sequence
                break
            }
        }
        replay.resumesAt = now.advanced(byMilliseconds: replay.pauseMilliseconds(after: replay.replayed - before))
        if replay.position >= replay.through || replay.left <= 0 { replay.end(as: .completed, at: now) }
        plan.changes.append(.putReplay(replay))
        return plan
    }

    /// A replay that goes on is looked at when its time has come, at once if it has found nothing.
    mutating func put(_ replay: Replay, at now: Timestamp) -> [FollowUp] {
        replays[replay.id] = replay
        guard replay.state == .running else { return [] }
        if replay.resumesAt <= now { return [.replay(replay.id)] }
        timers.set(.replay(replay.id), at: replay.resumesAt)
        return []
    }
}

extension AcceptRequest {
    /// What is settled, once more. When it was to expire, and what it was to replace, is over.
    package init(replaying earlier: StoredNotification, traceparent: TraceParent? = nil, dedupeKeys: [String] = []) {
        let again = IncomingNotification(
            kind: earlier.kind, contentID: earlier.contentID, payload: earlier.payload?.bytes ?? [],
            contentType: earlier.payload?.contentType ?? MessagePayload.jsonContentType, priority: earlier.priority,
            dedupeKeys: dedupeKeys)
        self.init(
            application: earlier.application, source: earlier.source, device: earlier.device, traceparent: traceparent,
            replayOf: earlier.id, notification: again)
    }
}
