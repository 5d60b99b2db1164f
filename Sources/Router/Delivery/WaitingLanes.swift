import DequeModule
import RouterPlugin

/// Lanes that wait for the same thing, in order, those of each class of priority by themselves: so that a class for
/// which there is no slot does not stand in the way of another.
struct WaitingLanes: Sendable {
    private var queues: [Deque<SessionKey>] = Array(repeating: [], count: Priority.allCases.count)

    /// Names of lanes that have gone elsewhere meanwhile are among them.
    var isEmpty: Bool { queues.allSatisfy(\.isEmpty) }

    mutating func append(_ key: SessionKey, _ urgency: Priority) { queues[urgency.rank].append(key) }

    /// Back to where it came from: it was called up and could not go on.
    mutating func prepend(_ key: SessionKey, _ urgency: Priority) { queues[urgency.rank].prepend(key) }

    /// Takes the first one of a class.
    mutating func popFirst(_ urgency: Priority) -> SessionKey? { queues[urgency.rank].popFirst() }
}

extension Priority {
    /// 0 for the most urgent class.
    var rank: Int {
        switch self {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    /// The classes by their rank.
    static let ranked: [Priority] = [.high, .normal, .low]
}
