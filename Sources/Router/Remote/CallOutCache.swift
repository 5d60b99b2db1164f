package import RouterPlugin

/// The answers of a call-out that are used again: those of one application, to questions whose declared members are the same.
///
/// Two generations bound it: when the young one is full it becomes the old one, and the old one is forgotten. An answer that is
/// used again becomes young.
package struct CallOutCache: Sendable {
    package struct Key: Hashable, Sendable {
        /// Sessions of two applications may have the same id.
        let application: ApplicationID
        let parts: [String]

        /// Nil if answers are not kept.
        package init?(_ notification: NotificationView, by parts: [CallOutSettings.CacheKeyPart]) {
            guard !parts.isEmpty else { return nil }
            application = notification.application
            self.parts = parts.map { part in
                switch part {
                case .application: notification.application.text
                case .device: notification.device?.text ?? ""
                // No content is not the content without a name.
                case .contentId: notification.contentID.map { "=\($0.text)" } ?? ""
                case .priority: "\(notification.priority.rawValue)"
                case .kind: notification.kind.rawValue
                }
            }
        }
    }

    private struct Entry {
        var verdicts: [SessionID: RoutingVerdict]
        var until: Timestamp
    }

    private let limit: Int
    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    /// Verdicts of the young answers.
    private var count = 0

    /// - Parameter limit: The most verdicts of a generation.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The verdicts on the candidates; nil if one of them has none, or the answer is too old.
    package mutating func answer(
        to key: Key, about candidates: [Candidate], at now: Timestamp
    ) -> [SessionID: RoutingVerdict]? {
        guard let entry = young[key] ?? old[key], now < entry.until else { return nil }
        var verdicts: [SessionID: RoutingVerdict] = [:]
        for candidate in candidates {
            guard let verdict = entry.verdicts[candidate.session] else { return nil }
            verdicts[candidate.session] = verdict
        }
        if young[key] == nil { insert(entry, key) }
        return verdicts
    }

    /// Keeps an answer. The pages of one notification are kept together, for as long as the first of them.
    package mutating func keep(
        _ verdicts: [SessionID: RoutingVerdict], for key: Key, until: Timestamp, at now: Timestamp
    ) {
        var entry = Entry(verdicts: verdicts, until: until)
        if let known = young[key] ?? old[key], now < known.until {
            entry.verdicts.merge(known.verdicts) { new, _ in new }
            entry.until = min(until, known.until)
        }
        if entry.verdicts.count > limit { entry = Entry(verdicts: verdicts, until: until) }
        insert(entry, key)
    }

    private mutating func insert(_ entry: Entry, _ key: Key) {
        count -= young[key]?.verdicts.count ?? 0
        young[key] = nil
        if count + max(1, entry.verdicts.count) > limit {
            old = young
            young = [:]
            count = 0
        }
        old[key] = nil
        young[key] = entry
        count += entry.verdicts.count
    }

    /// Verdicts that are kept.
    package var verdictCount: Int { (Array(young.values) + Array(old.values)).reduce(0) { $0 + $1.verdicts.count } }
}
