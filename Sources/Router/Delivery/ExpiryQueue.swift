import HeapModule
import RouterPlugin

/// Expiration times of waiting deliveries, the earliest first.
///
/// The entry of a delivery that leaves before its time is not searched for, but passed over when it comes to the front.
/// So an entry costs a few steps once, and asking for the front of a queue of any length costs next to nothing.
struct ExpiryQueue: Sendable {
    struct Entry: Comparable, Sendable {
        let time: Timestamp
        let sequence: NotificationSequence

        static func < (left: Self, right: Self) -> Bool {
            (left.time, left.sequence) < (right.time, right.sequence)
        }
    }

    private var heap = Heap<Entry>()

    /// The number of entries, including those that will be passed over.
    var count: Int { heap.count }

    mutating func add(_ sequence: NotificationSequence, at time: Timestamp) {
        heap.insert(Entry(time: time, sequence: sequence))
    }

    /// Replaces all entries.
    mutating func rebuild(_ entries: some Sequence<Entry>) {
        heap = Heap(entries)
    }

    /// The earliest of those that still wait.
    mutating func first(where isWaiting: (NotificationSequence) -> Bool) -> Entry? {
        while let entry = heap.min {
            if isWaiting(entry.sequence) { return entry }
            heap.removeMin()
        }
        return nil
    }
}
