import DequeModule

/// Notifications held by a gate, in the order of acceptance. Most are added at the end and removed from the front.
struct HeldNotifications: Sendable {
    private var sequences: Deque<NotificationSequence> = []

    var isEmpty: Bool { sequences.isEmpty }
    var count: Int { sequences.count }

    /// At most `count` notifications from the front, in order.
    func first(_ count: Int) -> [NotificationSequence] { Array(sequences.prefix(count)) }

    mutating func insert(_ sequence: NotificationSequence) {
        let place = place(of: sequence)
        if place == sequences.endIndex || sequences[place] != sequence { sequences.insert(sequence, at: place) }
    }

    mutating func remove(_ sequence: NotificationSequence) {
        let place = place(of: sequence)
        if place < sequences.endIndex, sequences[place] == sequence { sequences.remove(at: place) }
    }

    /// The index of a notification, or the index at which to insert it.
    private func place(of sequence: NotificationSequence) -> Int {
        var (low, high) = (sequences.startIndex, sequences.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if sequences[middle] < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
