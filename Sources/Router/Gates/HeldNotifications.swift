import DequeModule

/// Notifications that wait behind a gate, in the order of acceptance. Most is added at the end and taken from the front.
struct HeldNotifications: Sendable {
    private var sequences: Deque<NotificationSequence> = []

    var isEmpty: Bool { sequences.isEmpty }
    var count: Int { sequences.count }

    /// Up to that many, first ones first.
    func first(_ count: Int) -> [NotificationSequence] { Array(sequences.prefix(count)) }

    mutating func insert(_ sequence: NotificationSequence) {
        let place = place(of: sequence)
        if place == sequences.endIndex || sequences[place] != sequence { sequences.insert(sequence, at: place) }
    }

    mutating func remove(_ sequence: NotificationSequence) {
        let place = place(of: sequence)
        if place < sequences.endIndex, sequences[place] == sequence { sequences.remove(at: place) }
    }

    /// Where it stands, or would.
    private func place(of sequence: NotificationSequence) -> Int {
        var (low, high) = (sequences.startIndex, sequences.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if sequences[middle] < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
