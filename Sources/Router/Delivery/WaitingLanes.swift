import DequeModule
import RouterPlugin

/// Lanes that wait for the same thing, those of each class of priority by themselves: so that a class for which there is no
/// slot does not stand in the way of another.
///
/// Within a class applications take turns, a lane at a time, and the lanes of each are in the order in which they came: one
/// with thousands of lanes at a receiver that hangs must not keep another from trying it.
struct WaitingLanes: Sendable {
    /// By rank; none as long as nobody has waited.
    private var queues: [Queue] = []

    /// Names of lanes that have gone elsewhere meanwhile are among them.
    var isEmpty: Bool { queues.allSatisfy { $0.turns.isEmpty } }

    /// A lane that stands here already, perhaps since it went elsewhere and came back, keeps its place.
    mutating func append(_ key: SessionKey, _ urgency: Priority) {
        makeQueues()
        queues[urgency.rank].append(key)
    }

    /// Back to where it came from: it was called up and could not go on.
    mutating func prepend(_ key: SessionKey, _ urgency: Priority) {
        makeQueues()
        queues[urgency.rank].prepend(key)
    }

    /// Takes the first one of a class.
    mutating func popFirst(_ urgency: Priority) -> SessionKey? {
        queues.isEmpty ? nil : queues[urgency.rank].popFirst()
    }

    private mutating func makeQueues() {
        if queues.isEmpty { queues = Array(repeating: Queue(), count: Priority.allCases.count) }
    }

    /// The lanes of one class. An application has a turn as long as it has a lane here, and one turn only.
    private struct Queue: Sendable {
        var turns: Deque<ApplicationID> = []
        private var lanes: [ApplicationID: Deque<SessionKey>] = [:]
        private var known: Set<SessionKey> = []

        mutating func append(_ key: SessionKey) {
            guard known.insert(key).inserted else { return }
            if lanes[key.application] == nil { turns.append(key.application) }
            lanes[key.application, default: []].append(key)
        }

        mutating func prepend(_ key: SessionKey) {
            guard known.insert(key).inserted else { return }
            if lanes[key.application] != nil { turns.removeAll { $0 == key.application } }
            turns.prepend(key.application)
            lanes[key.application, default: []].prepend(key)
        }

        mutating func popFirst() -> SessionKey? {
            guard let application = turns.popFirst(), var waiting = lanes.removeValue(forKey: application),
                let key = waiting.popFirst()
            else { return nil }
            known.remove(key)
            if !waiting.isEmpty {
                lanes[application] = waiting
                turns.append(application)
            }
            return key
        }
    }
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
