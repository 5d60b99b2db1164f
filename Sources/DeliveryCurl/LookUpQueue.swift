import DequeModule

/// Which name is looked up next: a queue before a fixed number of threads. A thread belongs to a name until the system's
/// resolver comes back, whether or not anybody still waits for it. Decides only; the loop acts.
///
///     ask ──> waiting ──next()──> under way ──ended──> told to those who still ask
///      │         └─ giveUp: nobody asks any more
///      └─ the name waits or is under way already: it is shared
///
/// Invariants: a name is looked up once at a time; at most `threads` are under way. Of these, at most `unknownThreads` are for
/// names that had no addresses yet, and at most `slowThreads` of those for names that were given up before. So names nobody
/// answers for, be they ever so many, leave threads to those that were found before.
struct LookUpQueue {
    private enum Standing {
        /// Had addresses, in time, when it was looked up last.
        case found
        case unknown
        /// Took longer than somebody's time when it was looked up last.
        case slow
    }

    private struct Run {
        let standing: Standing
        /// Whether somebody ran out of time over it.
        var wasGivenUp = false
    }

    private let threads: Int
    private let unknownThreads: Int
    private let slowThreads: Int
    private var foundWaiting: Deque<String> = []
    private var unknownWaiting: Deque<String> = []
    private var slowWaiting: Deque<String> = []
    /// By name, the slots that ask for it.
    private var askers: [String: [Int]] = [:]
    private var runs: [String: Run] = [:]
    /// How many are under way for names that are not `found`, and for slow ones among them.
    private var unknownUnderWay = 0
    private var slowUnderWay = 0
    private var foundNames = RecentNames(capacity: CurlLimits.foundNames)
    private var slowNames = RecentNames(capacity: CurlLimits.slowNames)

    init(threads: Int) {
        self.threads = threads
        unknownThreads = threads - threads / 4
        slowThreads = max(1, threads / 4)
    }

    /// How many threads are in use.
    var underWay: Int { runs.count }

    /// The slot wants to know the name's addresses.
    mutating func ask(_ name: String, for slot: Int) {
        if askers[name] == nil, runs[name] == nil {
            switch standing(of: name) {
            case .found: foundWaiting.append(name)
            case .unknown: unknownWaiting.append(name)
            case .slow: slowWaiting.append(name)
            }
        }
        askers[name, default: []].append(slot)
    }

    /// The name that is to be looked up now, on a thread of its own.
    mutating func next() -> String? {
        guard runs.count < threads else { return nil }
        if let name = foundWaiting.popFirst() { return begin(name, .found) }
        guard unknownUnderWay < unknownThreads else { return nil }
        if let name = unknownWaiting.popFirst() { return begin(name, .unknown) }
        guard slowUnderWay < slowThreads, let name = slowWaiting.popFirst() else { return nil }
        return begin(name, .slow)
    }

    /// The slot does not ask any more.
    ///
    /// - Parameter isLate: Whether that is because of its time, and not because the request was called off.
    mutating func giveUp(_ name: String, for slot: Int, isLate: Bool) {
        guard var slots = askers[name], let index = slots.firstIndex(of: slot) else { return }
        slots.remove(at: index)
        askers[name] = slots.isEmpty ? nil : slots
        if runs[name] != nil {
            if isLate { runs[name]?.wasGivenUp = true }
        } else if slots.isEmpty {
            foundWaiting.removeAll { $0 == name }
            unknownWaiting.removeAll { $0 == name }
            slowWaiting.removeAll { $0 == name }
        }
    }

    /// The name's thread has come back, with addresses or without. Returns the slots to tell.
    mutating func ended(_ name: String, isFound: Bool) -> [Int] {
        guard let run = runs.removeValue(forKey: name) else { return [] }
        if run.standing != .found { unknownUnderWay -= 1 }
        if run.standing == .slow { slowUnderWay -= 1 }
        slowNames.set(name, run.wasGivenUp)
        foundNames.set(name, isFound && !run.wasGivenUp)
        return askers.removeValue(forKey: name) ?? []
    }

    private func standing(of name: String) -> Standing {
        if slowNames.contains(name) { return .slow }
        return foundNames.contains(name) ? .found : .unknown
    }

    private mutating func begin(_ name: String, _ standing: Standing) -> String {
        if standing != .found { unknownUnderWay += 1 }
        if standing == .slow { slowUnderWay += 1 }
        runs[name] = Run(standing: standing)
        return name
    }
}

/// So many names, of which the oldest make room.
private struct RecentNames {
    let capacity: Int
    private var names: Set<String> = []
    /// Each name once, the oldest first.
    private var order: Deque<String> = []

    init(capacity: Int) { self.capacity = capacity }

    func contains(_ name: String) -> Bool { names.contains(name) }

    /// Has the name among them, or not.
    mutating func set(_ name: String, _ isMember: Bool) {
        guard isMember else {
            if names.remove(name) != nil { order.removeAll { $0 == name } }
            return
        }
        guard names.insert(name).inserted else { return }
        order.append(name)
        if order.count > capacity, let oldest = order.popFirst() { names.remove(oldest) }
    }
}
