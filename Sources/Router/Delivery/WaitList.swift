import DequeModule
import RouterPlugin

/// Lanes blocked on one resource, by class of priority, so that a class without a free slot does not hold up another.
///
/// Within a class applications take turns, a lane at a time, and the lanes of each are in order of arrival: an
/// application with thousands of lanes at a receiver that hangs must not keep another one from trying it.
struct WaitList: Sendable {
    /// By rank; empty until the first lane arrives.
    private var queues: [Queue] = []

    /// Whether no lane is in the list. Names of lanes that are blocked no longer still count.
    var isEmpty: Bool { queues.allSatisfy { $0.turns.isEmpty } }

    /// Adds a lane at the end. A lane whose name is in the list already keeps its place.
    mutating func append(_ key: SessionKey, _ urgency: Priority) {
        makeQueues()
        queues[urgency.rank].append(key)
    }

    /// Puts a lane back in front: it was granted the resource and could not start.
    mutating func prepend(_ key: SessionKey, _ urgency: Priority) {
        makeQueues()
        queues[urgency.rank].prepend(key)
    }

    /// Takes the first lane of a class.
    mutating func popFirst(_ urgency: Priority) -> SessionKey? {
        queues.isEmpty ? nil : queues[urgency.rank].popFirst()
    }

    private mutating func makeQueues() {
        if queues.isEmpty { queues = Array(repeating: Queue(), count: Priority.allCases.count) }
    }

    /// The lanes of one class. An application has exactly one turn as long as it has a lane here.
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
