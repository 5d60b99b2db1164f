import RouterPlugin

/// Readers follow the feed while events are published, faster than they read, and while others open, nudge and close.
///
/// Law: a reader sees events in their order, and each event that it does not see is counted as missed.
struct FeedRace {
    private static let events = 2_000
    private static let readers = 3

    func run() async -> [String] {
        var settings = FeedSettings()
        settings.events = 64
        let feed = EventFeed(run: "race", settings: settings)
        feed.keepRecording()
        return await withTaskGroup(of: [String].self) { group in
            for _ in 0..<Self.readers {
                group.addTask {
                    guard let reader = try? feed.open(after: nil) else { return ["a reader was refused"] }
                    return await Self.follow(reader)
                }
            }
            group.addTask {
                for _ in 0..<100 {
                    let visitor = try? feed.open(after: .here(1))
                    visitor?.whenEnding {}
                    visitor?.nudge()
                    _ = await visitor?.next(limit: 1)
                    _ = (feed.isWanted, feed.lastSequence)
                    visitor?.end()
                }
                return []
            }
            group.addTask {
                for number in 1...Self.events {
                    feed.publish([Self.event(number)], at: Timestamp(milliseconds: Int64(number)))
                    if number % 16 == 0 { await Task.yield() }
                }
                feed.end()
                return []
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func follow(_ reader: FeedReader) async -> [String] {
        var place: Int64?
        while true {
            switch await reader.next(limit: 16) {
            case .ended: return []
            case .nudged: return ["a nudge came to a reader that was not nudged"]
            case .events(let events, let missed, let next):
                var count: Int64 = 0
                if case .events(let number) = missed { count = number }
                if let place, place + count + Int64(events.count) != next {
                    return ["after \(place): \(count) missed, \(events.count) events, then \(next)"]
                }
                place = next
            }
        }
    }

    static func event(_ number: Int) -> RouterEvent {
        RouterEvent(
            sequence: Int64(number), type: .notificationAccepted, time: Timestamp(milliseconds: 0),
            application: ApplicationID(unchecked: "com.example.gallery"))
    }
}
