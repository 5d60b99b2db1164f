import DequeModule
package import RouterPlugin

/// The last events, with their numbers among all events.
///
///     … forgotten … │ first ─────────── kept ─────────── last │ … to come …
///                   ▲
///                 floor: nothing before it was numbered, or the feed had no readers then
///
/// Invariant: the kept events have all numbers from `last - count + 1` to `last`.
package struct EventRing {
    /// How many of the events that a reader asks for are missing.
    package enum Missed: Equatable, Sendable {
        case events(Int64)
        /// The number is unknown: the events occurred before this run, or while the feed had no readers.
        case unknown
    }

    private var events: Deque<RouterEvent> = []
    private let capacity: Int
    /// The number of the last event.
    package private(set) var last: Int64 = 0
    private var floor: Int64 = 0

    package init(capacity: Int) {
        self.capacity = capacity
    }

    package var count: Int { events.count }

    /// - Parameter new: Events numbered from `last` on.
    package mutating func append(_ new: [RouterEvent]) {
        for event in new {
            if events.count == capacity { events.removeFirst() }
            events.append(event)
        }
        last = new.last?.sequence ?? last
    }

    /// Forgets all events. The events until the next recorded one count as one number, so that no reader takes the
    /// events before and after the pause for neighbours.
    package mutating func pause() {
        events = []
        last += 1
        floor = last
    }

    /// The events after a place, up to `limit`, and how many are missing before them.
    package func events(after place: Int64, limit: Int) -> (missed: Missed?, events: [RouterEvent]) {
        let first = last - Int64(events.count) + 1
        guard place < last else { return (nil, []) }
        let start = max(first, place + 1)
        let found = Array(events[Int(start - first)...].prefix(limit))
        if place < floor { return (.unknown, found) }
        return (start > place + 1 ? .events(start - place - 1) : nil, found)
    }
}
