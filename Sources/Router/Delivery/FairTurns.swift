import DequeModule
import RouterPlugin

/// Deficit round-robin over classes of priority, then applications, then lanes.
///
///     high    ─▶ app 1 (credit 1) ─▶ lane, lane, lane          8 attempts of high, then
///                app 2 (credit 0) ─▶ lane
///     normal  ─▶ app 1            ─▶ lane                      4 of normal, then
///     low     ─▶                                               1 of low, as long as all of them have something
///
/// Each attempt costs its application one credit. An application has as much credit a turn as its weight, and goes to
/// the back when it is used up; an application with a thousand lanes gets no more than an application with a single
/// lane. Each step is a few operations, however many lanes there are.
struct FairTurns: Sendable {
    /// The number of attempts that a class may start before the next one has its turn.
    static let attemptsPerTurn = [8, 4, 1]

    private struct Line: Sendable {
        var lanes: Deque<SessionKey> = []
        var credit = 0
    }

    private struct Class: Sendable {
        var applications: Deque<ApplicationID> = []
        var lines: [ApplicationID: Line] = [:]
        var credit = 0
    }

    private struct Place: Hashable {
        let key: SessionKey
        let rank: Int
    }

    private var classes = Array(repeating: Class(), count: Priority.ranked.count)
    /// The lines of each lane, at most once in each. A lane that became more urgent may be in two.
    private var standing: Set<Place> = []

    var isEmpty: Bool { standing.isEmpty }

    /// Adds a lane at the end of its line, unless it is in the line.
    mutating func append(_ key: SessionKey, _ urgency: Priority) {
        let rank = urgency.rank
        guard standing.insert(Place(key: key, rank: rank)).inserted else { return }
        if classes[rank].lines[key.application] == nil {
            classes[rank].lines[key.application] = Line()
            classes[rank].applications.append(key.application)
        }
        classes[rank].lines[key.application]?.lanes.append(key)
    }

    /// Takes the lane whose turn it is; `finish` has to follow.
    mutating func next(
        where isAllowed: (Priority) -> Bool, weight: (ApplicationID) -> Int
    ) -> (key: SessionKey, urgency: Priority)? {
        guard let rank = nextClass(where: isAllowed), let application = classes[rank].applications.first else {
            return nil
        }
        if classes[rank].lines[application]?.credit == 0 {
            classes[rank].lines[application]?.credit = max(1, weight(application))
        }
        guard let key = classes[rank].lines[application]?.lanes.popFirst() else { return nil }
        standing.remove(Place(key: key, rank: rank))
        return (key, Priority.ranked[rank])
    }

    /// Ends the turn, and charges it if an attempt was started.
    mutating func finish(_ key: SessionKey, _ urgency: Priority, hasStarted: Bool) {
        let rank = urgency.rank
        if hasStarted {
            classes[rank].credit -= 1
            classes[rank].lines[key.application]?.credit -= 1
        }
        guard let line = classes[rank].lines[key.application] else { return }
        if line.lanes.isEmpty {
            classes[rank].lines[key.application] = nil
            classes[rank].applications.removeFirst()
        } else if line.credit == 0 {
            classes[rank].applications.append(classes[rank].applications.removeFirst())
        }
    }

    private mutating func nextClass(where isAllowed: (Priority) -> Bool) -> Int? {
        var first: Int?
        for rank in classes.indices where !classes[rank].applications.isEmpty && isAllowed(Priority.ranked[rank]) {
            if classes[rank].credit > 0 { return rank }
            first = first ?? rank
        }
        guard first != nil else { return nil }
        for rank in classes.indices { classes[rank].credit = Self.attemptsPerTurn[rank] }
        return first
    }
}
