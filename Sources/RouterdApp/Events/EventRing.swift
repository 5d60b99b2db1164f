import DequeModule
package import RouterPlugin

/// The last events, and where each stands among all of them.
///
///     … forgotten … │ first ─────────── kept ─────────── last │ … to come …
///                   ▲
///                 floor: nothing before it was numbered, or nobody listened then
///
/// Invariant: the events that are kept have all numbers from `last - count + 1` to `last`.
package struct EventRing {
    /// How much of what a reader wants is not there.
    package enum Missed: Equatable, Sendable {
        case events(Int64)
        /// Nobody has counted them: they were before this run, or while nobody listened.
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

    /// - Parameter new: Numbered from `last` on.
    package mutating func append(_ new: [RouterEvent]) {
        for event in new {
            if events.count == capacity { events.removeFirst() }
            events.append(event)
        }
        last = new.last?.sequence ?? last
    }

    /// Forgets all of it. What happens until the next event counts as one number, so that nobody takes what came before
    /// and what comes after for neighbours.
    package mutating func pause() {
        events = []
        last += 1
        floor = last
    }

    /// What there is after a place, and what is missing there; up to so many events.
    package func events(after place: Int64, limit: Int) -> (missed: Missed?, events: [RouterEvent]) {
        let first = last - Int64(events.count) + 1
        guard place < last else { return (nil, []) }
        let start = max(first, place + 1)
        let found = Array(events[Int(start - first)...].prefix(limit))
        if place < floor { return (.unknown, found) }
        return (start > place + 1 ? .events(start - place - 1) : nil, found)
    }
}
