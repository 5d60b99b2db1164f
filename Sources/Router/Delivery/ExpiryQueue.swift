import HeapModule
import RouterPlugin

/// Expiration times of waiting deliveries, the earliest first.
///
/// The entry of a delivery that leaves before its expiration is not searched for, but skipped when it reaches the
/// front. So an entry costs a few steps once, and reading the front of a queue of any length costs next to nothing.
struct ExpiryQueue: Sendable {
    struct Entry: Comparable, Sendable {
        let time: Timestamp
        let sequence: NotificationSequence

        static func < (left: Self, right: Self) -> Bool {
            (left.time, left.sequence) < (right.time, right.sequence)
        }
    }

    private var heap = Heap<Entry>()

    /// The number of entries, including entries that will be skipped.
    var count: Int { heap.count }

    mutating func add(_ sequence: NotificationSequence, at time: Timestamp) {
        heap.insert(Entry(time: time, sequence: sequence))
    }

    /// Replaces all entries.
    mutating func rebuild(_ entries: some Sequence<Entry>) {
        heap = Heap(entries)
    }

    /// The earliest entry whose delivery still waits.
    mutating func first(where isWaiting: (NotificationSequence) -> Bool) -> Entry? {
        while let entry = heap.min {
            if isWaiting(entry.sequence) { return entry }
            heap.removeMin()
        }
        return nil
    }
}
