import Router
import RouterPlugin

extension ModelRows {
    /// The answer to a lookup.
    func answer(to lookup: Lookup) -> Facts.Answer {
        switch lookup {
        case .receipt(let key): .receipt(receipt(for: key))
        case .broadcast(let place): .broadcast(broadcast(at: place))
        case .keptAnswer(let key): .keptAnswer(answers[key]?.answer)
        case .payload(let sequence): .payload(notifications[sequence]?.stored.payload)
        case .notification(let id): .notification(sequences[id].flatMap { notifications[$0] }?.stored)
        case .retained(let limit): .retained(retained(limit: limit))
        case .replayable(let replay, let limit, let examined):
            .replayable(replayable(replay, limit: limit, examined: examined))
        case .belongings(let id, let limit): .belongings(min(belongings(of: id), limit))
        case .taken(let id, let content, let limit): .taken(taken(id, content, limit: limit))
        }
    }

    private func taken(_ id: ApplicationID, _ content: ContentID?, limit: Int) -> [RuleHistory.Taken] {
        let filter = NotificationFilter(application: id, contentID: content)
        let last = notifications.values.lazy.map(\.stored).filter(filter.matches)
        return last.sorted { $0.sequence > $1.sequence }.prefix(limit).compactMap(RuleHistory.Taken.init)
    }

    private func receipt(for key: DedupeKey) -> Receipt? {
        guard let entry = dedupeKeys[key].flatMap({ notifications[$0] }) else { return nil }
        return receipt(of: entry, payload: entry.stored.payload?.bytes ?? [])
    }

    private func broadcast(at place: BroadcastPlace) -> [Receipt] {
        let found = notifications.values.filter { place.has($0.stored) }
        return found.sorted { $0.stored.sequence < $1.stored.sequence }.map { receipt(of: $0, payload: []) }
    }

    private func receipt(of entry: Entry, payload: [UInt8]) -> Receipt {
        Receipt(
            sequence: entry.stored.sequence, id: entry.stored.id, device: entry.stored.device, payload: payload,
            decision: entry.first.decision, state: entry.first.state, broadcast: entry.stored.broadcast)
    }

    /// The size of a model is the size of its payloads.
    private func retained(limit: Int) -> Retained {
        let settled = notifications.keys.sorted().compactMap { sequence in
            notifications[sequence].flatMap { entry in
                entry.stored.settledAt.map { time in
                    Retained.Item(.notification(sequence), since: time, bytes: entry.stored.keptBytes)
                }
            }
        }
        let kept = answers.map { Retained.Item(.answer($0), since: $1.keptAt) }
        // Among equal times the first one accepted comes first, so that the order is always the same.
        let oldest = (settled + kept).enumerated().sorted {
            ($0.element.since, $0.offset) < ($1.element.since, $1.offset)
        }
        return Retained(
            bytes: notifications.values.reduce(0) { $0 + Int64($1.stored.keptBytes) },
            oldest: oldest.prefix(max(0, limit)).map(\.element))
    }

    private func replayable(_ replay: Replay, limit: Int, examined: Int) -> ReplayPage {
        var page = ReplayPage(notifications: [], position: replay.through)
        let next = notifications.values.lazy.map(\.stored).filter {
            $0.sequence > replay.position && $0.sequence <= replay.through
        }
        for (number, stored) in next.sorted(by: { $0.sequence < $1.sequence }).enumerated() {
            if stored.isReplayable(settledBy: replay.createdAt), replay.filter.matches(stored) {
                var stored = stored
                stored.attempts = []
                page.notifications.append(stored)
            }
            if page.notifications.count == limit || number + 1 == examined {
                page.position = stored.sequence
                break
            }
        }
        return page
    }
}
