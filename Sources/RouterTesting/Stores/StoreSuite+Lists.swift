import Router
import RouterPlugin

extension StoreSuite {
    /// Every filter shows its notifications, newest first, page by page without a gap or a repeat.
    static func lists(_ trial: StoreTrial<some Store>) throws {
        let changes = listed()
        try trial.store.commit(changes)
        var all: [StoredNotification] = []
        for case .insert(let new) in changes {
            guard let stored = try trial.store.notification(new.id) else { return trial.fail("\(new.id) is missing") }
            all.insert(stored.withoutDetails, at: 0)
        }
        for filter in filters() {
            let expected = all.filter { isShown($0, by: filter) }
            for size in [7, 1000] {
                var pages: [StoredNotification] = []
                var next = filter
                while true {
                    let page = try trial.store.notifications(matching: next, limit: size)
                    trial.expect(page.count <= size, "a page of \(page.count), not \(size)")
                    pages += page
                    guard let last = page.last, pages.count <= all.count else { break }
                    next.before = last.sequence
                }
                let found = pages.map(\.sequence.value)
                trial.expect(found == expected.map(\.sequence.value), "pages of \(size) by \(filter): \(found)")
                trial.expect(pages == expected, "pages of \(size) by \(filter) differ in their contents")
            }
        }
        let none = try trial.store.notifications(matching: NotificationFilter(), limit: 0)
        trial.expect(none.isEmpty, "a page of none has \(none.count)")
    }

    /// Implemented independently of the model: otherwise the model would be compared with itself.
    static func isShown(_ notification: StoredNotification, by filter: NotificationFilter) -> Bool {
        if let application = filter.application, notification.application != application { return false }
        if let state = filter.state, notification.state != state { return false }
        if let session = filter.session, notification.decision.session != session { return false }
        if let contentID = filter.contentID, notification.contentID != contentID { return false }
        switch filter.type {
        case .notification(let kind) where notification.event != nil || notification.kind != kind: return false
        case .event(let kind) where notification.event?.kind != kind: return false
        default: break
        }
        if let since = filter.since, notification.receivedAt < since { return false }
        if let until = filter.until, notification.receivedAt >= until { return false }
        if let before = filter.before, notification.sequence >= before { return false }
        return true
    }

    /// Sixty notifications in all states, with a clock that goes back now and then, and gaps in the sequence.
    static func listed() -> [StoreChange] {
        let sessions = ["s1", "caf\u{E9}", "cafe\u{301}"]
        let contents = ["c", "\u{E9}", "e\u{301}", nil]
        var changes: [StoreChange] = []
        for number in 0..<Int64(60) {
            let application = number % 3 == 0 ? StoreSamples.clinic : StoreSamples.gallery
            var new = StoreSamples.notification(3 * number + 1, in: application)
            let index = Int(number)
            new.contentID = contents[index % 4].map(ContentID.init(unchecked:))
            new.decision.session = index % 7 == 6 ? nil : SessionID(unchecked: sessions[index % 3])
            new.receivedAt = Timestamp(milliseconds: number % 10 == 9 ? number * 10 - 45 : number * 10)
            let kinds = SceneEventKind.allCases
            if index % 6 == 1 { new.kind = NotificationKind.allCases[index % 4] }
            if index % 5 == 2 {
                let kind = kinds[index % kinds.count]
                new.event = SceneEvent(kind)
                new.payload = .facts(StoreSamples.facts(of: kind, "s1"))
            }
            if index % 8 == 1 { new.placement = .held(until: Timestamp(milliseconds: 9)) }
            changes.append(.insert(new))
            let settlement: Settlement? =
                switch index % 8 {
                case 2, 3: .delivered
                case 4: .expired
                case 5: .deadLettered(.retriesExhausted)
                case 6: .superseded
                case 7: .cancelled
                default: nil
                }
            if let settlement { changes.append(.settle(new.sequence, settlement, at: new.receivedAt)) }
        }
        return changes
    }

    /// Every filter alone, and each with each.
    static func filters() -> [NotificationFilter] {
        let one: [(inout NotificationFilter) -> Void] =
            [
                { $0.application = StoreSamples.gallery },
                { $0.application = ApplicationID(unchecked: "nobody") },
                { $0.session = SessionID(unchecked: "caf\u{E9}") },
                { $0.session = SessionID(unchecked: "cafe\u{301}") },
                { $0.type = .notification(.notification) },
                { $0.type = .notification(.url) },
                { $0.type = .event(.didDisconnect) },
                { $0.contentID = ContentID(unchecked: "\u{E9}") },
                { $0.contentID = ContentID(unchecked: "e\u{301}") },
                { $0.since = Timestamp(milliseconds: 200) },
                { $0.until = Timestamp(milliseconds: 400) },
                { $0.before = NotificationSequence(100) },
            ] + NotificationState.allCases.map { state in { filter in filter.state = state } }
        var filters = [NotificationFilter()]
        for first in one {
            for second in one {
                var filter = NotificationFilter()
                first(&filter)
                second(&filter)
                filters.append(filter)
            }
        }
        return filters
    }
}
