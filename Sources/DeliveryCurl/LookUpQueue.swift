import DequeModule

/// Which name is looked up next: a queue before a fixed number of threads. A thread belongs to a name until the system's
/// resolver comes back, whether or not anybody still waits for it. Decides only; the loop acts.
///
///     ask ──> waiting ──next()──> under way ──ended──> told to those who still ask
///      │         └─ giveUp: nobody asks any more
///      └─ the name waits or is under way already: it is shared
///
/// Invariants: a name is looked up once at a time; at most `threads` are under way, and at most `slowThreads` of them for
/// names that were given up before, so that names nobody answers for leave threads to the others.
struct LookUpQueue {
    private struct Run {
        let isSlow: Bool
        /// Whether somebody ran out of time over it.
        var wasGivenUp = false
    }

    private let threads: Int
    private let slowThreads: Int
    private var waiting: Deque<String> = []
    private var slowWaiting: Deque<String> = []
    /// By name, the slots that ask for it.
    private var askers: [String: [Int]] = [:]
    private var runs: [String: Run] = [:]
    private var slowUnderWay = 0
    /// Names that took longer than somebody's time, the oldest first, each of them once.
    private var slowNames: Deque<String> = []

    init(threads: Int) {
        self.threads = threads
        slowThreads = max(1, threads / 4)
    }

    /// How many threads are in use.
    var underWay: Int { runs.count }

    /// The slot wants to know the name's addresses.
    mutating func ask(_ name: String, for slot: Int) {
        if askers[name] == nil, runs[name] == nil {
            if slowNames.contains(name) { slowWaiting.append(name) } else { waiting.append(name) }
        }
        askers[name, default: []].append(slot)
    }

    /// The name that is to be looked up now, on a thread of its own.
    mutating func next() -> String? {
        guard runs.count < threads else { return nil }
        if let name = waiting.popFirst() {
            runs[name] = Run(isSlow: false)
            return name
        }
        guard slowUnderWay < slowThreads, let name = slowWaiting.popFirst() else { return nil }
        slowUnderWay += 1
        runs[name] = Run(isSlow: true)
        return name
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
            waiting.removeAll { $0 == name }
            slowWaiting.removeAll { $0 == name }
        }
    }

    /// The name's thread has come back. Returns the slots to tell.
    mutating func ended(_ name: String) -> [Int] {
        guard let run = runs.removeValue(forKey: name) else { return [] }
        if run.isSlow { slowUnderWay -= 1 }
        slowNames.removeAll { $0 == name }
        if run.wasGivenUp {
            if slowNames.count == CurlLimits.slowNames { slowNames.removeFirst() }
            slowNames.append(name)
        }
        return askers.removeValue(forKey: name) ?? []
    }
}
