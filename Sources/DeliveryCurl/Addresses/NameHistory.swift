import DequeModule
import RouterPlugin

/// The names to look up, in queues before a fixed number of threads. A thread belongs to a name until the system's
/// resolver comes back, whether or not a request still waits for it. Decides only; the loop acts.
///
///     ask ──> waiting ──next()──> under way ──ended──> told to the slots that still ask
///      │         └─ giveUp by the last slot
///      └─ the name waits or is under way already: it is shared
///
///     threads   │ found names only │ found and unknown │ found, unknown and slow │ more: found, and half of it late │
///               └──── a quarter ───┴────── half ───────┴──────── a quarter ──────┘
///
/// Names without an answer, however many and new, leave threads to names that were found before. Applications take
/// turns; and each has no more threads than are left for others of its kind: half, a quarter, an eighth, until none is
/// left.
///
/// A look-up of a name that was not found before, and that takes long, is *late*: its thread is counted among the
/// further ones, as long as there is room, and leaves its place to another name.
///
/// Invariants: a name is looked up once at a time; of the look-ups under way and not late, at most three quarters of
/// the threads are of unknown or slow names, and at most a quarter of slow ones; all together are no more than there
/// are threads.
struct NameHistory {
    private enum Standing: Int, CaseIterable {
        /// Had addresses, in time, when it was looked up last.
        case found
        case unknown
        /// Took longer than a request's time when it was looked up last.
        case slow
    }

    /// The owner of a thread: the application whose turn it was, among those that ask for the name.
    private struct Owner: Hashable {
        let application: ApplicationID?
        let standing: Standing
    }

    private struct LookUp {
        let standing: Standing
        /// The applications in whose turns the name waits, each once.
        var applications: [ApplicationID?] = []
        var askers: [Int] = []
        /// Nil as long as it waits.
        var owner: Owner?
        var isLate = false
        /// Whether a request ran out of time over it while it was under way.
        var wasGivenUp = false
    }

    let threads: Int
    /// The number of further threads, for names that were found and for late look-ups.
    let more: Int
    /// By name.
    private var lookUps: [String: LookUp] = [:]
    /// By standing.
    private var lines = Array(repeating: WaitingNames(), count: Standing.allCases.count)
    private var underWayByStanding = Array(repeating: 0, count: Standing.allCases.count)
    private var underWayByOwner: [Owner: Int] = [:]
    /// Names under way that were not found before and are not late, and since when, the first begun first.
    private var prompt: Deque<(name: String, since: UInt64)> = []
    /// The number of late look-ups, and their owners.
    private(set) var late = 0
    private var lateByOwner: [Owner: Int] = [:]
    private var foundNames = RecentNames(capacity: CurlLimits.foundNames)
    private var slowNames = RecentNames(capacity: CurlLimits.slowNames)

    /// The number of slots that wait for a thread.
    private(set) var waiting = 0
    /// The number of names that had a thread and were not found before.
    private(set) var begun = 0

    init(threads: Int, more: Int = 0) {
        self.threads = threads
        self.more = more
    }

    /// Whether no name waits or is under way.
    var isEmpty: Bool { lookUps.isEmpty }

    /// The number of threads in use, without those of late look-ups.
    var underWay: Int { underWayByStanding.reduce(0, +) }

    /// Whether the name has a thread.
    func isUnderWay(_ name: String) -> Bool { lookUps[name]?.owner != nil }

    /// The slots that wait for the name's addresses.
    func askers(of name: String) -> [Int] { lookUps[name]?.askers ?? [] }

    /// Adds a slot that waits for the name's addresses.
    mutating func ask(_ name: String, for slot: Int, of application: ApplicationID?) {
        var lookUp = lookUps[name] ?? LookUp(standing: standing(of: name))
        if lookUp.owner == nil, !lookUp.applications.contains(application) {
            lookUp.applications.append(application)
            lines[lookUp.standing.rawValue].append(name, of: application)
        }
        lookUp.askers.append(slot)
        if lookUp.owner == nil { waiting += 1 }
        lookUps[name] = lookUp
    }

    /// The name that is to be looked up now, on a thread of its own. Times are in nanoseconds.
    mutating func next(at now: UInt64) -> String? {
        for standing in Standing.allCases {
            let free = free(for: standing)
            guard free > 0 else { return nil }
            let next = lines[standing.rawValue].next {
                underWayByOwner[Owner(application: $0, standing: standing), default: 0] < free
            }
            guard let (name, application) = next else { continue }
            let owner = Owner(application: application, standing: standing)
            leaveLines(name)
            waiting -= askers(of: name).count
            if standing != .found { begun += 1 }
            lookUps[name]?.owner = owner
            underWayByStanding[standing.rawValue] += 1
            underWayByOwner[owner, default: 0] += 1
            if standing != .found { prompt.append((name, now)) }
            return name
        }
        return nil
    }

    /// Whether a look-up that began then is late by now.
    private static func isLate(_ since: UInt64, at now: UInt64) -> Bool { since + CurlLimits.promptLookUp <= now }

    /// Whether a look-up has become late while a slot waits for a thread.
    func hasLate(at now: UInt64) -> Bool {
        guard waiting > 0, lateRoom > 0, let first = prompt.first else { return false }
        return Self.isLate(first.since, at: now)
    }

    /// The moment at which the next look-up will be late; nil if no slot waits for a thread. Late look-ups that have
    /// found no room do not count: they may find some when another one ends.
    func nextLate(after now: UInt64) -> UInt64? {
        guard waiting > 0, lateRoom > 0 else { return nil }
        return prompt.first { !Self.isLate($0.since, at: now) }.map { $0.since + CurlLimits.promptLookUp }
    }

    /// Counts look-ups that have become late among the late ones, as far as there is room. Here too an application has
    /// no more threads than are left for others.
    mutating func setLate(at now: UInt64) {
        guard let first = prompt.first, Self.isLate(first.since, at: now) else { return }
        var rest: Deque<(name: String, since: UInt64)> = []
        for (name, since) in prompt {
            guard Self.isLate(since, at: now), let owner = lookUps[name]?.owner,
                lateByOwner[owner, default: 0] < lateRoom
            else {
                rest.append((name, since))
                continue
            }
            giveBack(owner)
            lookUps[name]?.isLate = true
            lateByOwner[owner, default: 0] += 1
            late += 1
        }
        prompt = rest
    }

    /// How many more may be late.
    private var lateRoom: Int { more / 2 - late }

    /// Frees the place of a look-up for another one.
    private mutating func giveBack(_ owner: Owner) {
        underWayByStanding[owner.standing.rawValue] -= 1
        let others = underWayByOwner[owner, default: 1] - 1
        underWayByOwner[owner] = others > 0 ? others : nil
    }

    /// Removes a slot that waits no longer. Returns whether the name has had a thread.
    ///
    /// - Parameter isLate: Whether that is because of its time, and not because the request was called off.
    @discardableResult
    mutating func giveUp(_ name: String, for slot: Int, isLate: Bool) -> Bool {
        guard var lookUp = lookUps[name], let index = lookUp.askers.firstIndex(of: slot) else { return false }
        lookUp.askers.remove(at: index)
        if lookUp.owner != nil {
            lookUp.wasGivenUp = lookUp.wasGivenUp || isLate
        } else {
            waiting -= 1
            if lookUp.askers.isEmpty {
                leaveLines(name)
                lookUps[name] = nil
                return false
            }
        }
        lookUps[name] = lookUp
        return lookUp.owner != nil
    }

    /// The slots to turn away, so that at most this many wait for a thread: those of the names that came last, of the
    /// application that has most of them. Names that were found before are not among them.
    func excess(over most: Int) -> [Int] {
        var (rest, slots, names) = (lines, [Int](), Set<String>())
        for standing in [Standing.slow, .unknown] {
            while waiting - slots.count > most, let name = rest[standing.rawValue].removeLastOfLongest() {
                if names.insert(name).inserted { slots += askers(of: name) }
            }
        }
        return slots
    }

    /// The name's thread has come back. Returns the slots to tell.
    ///
    /// - Parameter isFound: Whether it has brought addresses; nil if that says nothing of the name.
    mutating func ended(_ name: String, isFound: Bool?) -> [Int] {
        guard let lookUp = lookUps[name], let owner = lookUp.owner else { return [] }
        lookUps[name] = nil
        if lookUp.isLate {
            late -= 1
            let others = lateByOwner[owner, default: 1] - 1
            lateByOwner[owner] = others > 0 ? others : nil
        } else {
            giveBack(owner)
            prompt.removeAll { $0.name == name }
        }
        if let isFound {
            slowNames.set(name, lookUp.wasGivenUp)
            foundNames.set(name, isFound && !lookUp.wasGivenUp)
        }
        return lookUp.askers
    }

    /// Removes the name from the turns of all applications.
    private mutating func leaveLines(_ name: String) {
        guard let lookUp = lookUps[name] else { return }
        for application in lookUp.applications {
            lines[lookUp.standing.rawValue].remove(name, of: application)
        }
    }

    private func standing(of name: String) -> Standing {
        if slowNames.contains(name) { return .slow }
        return foundNames.contains(name) ? .found : .unknown
    }

    /// How many threads are left for names that stand so, or worse.
    private func free(for standing: Standing) -> Int {
        let (slow, unknown) = (
            underWayByStanding[Standing.slow.rawValue], underWayByStanding[Standing.unknown.rawValue]
        )
        let all = threads + more - underWay - late
        switch standing {
        case .found: return all
        case .unknown: return min(all, threads - threads / 4 - unknown - slow)
        case .slow: return min(all, threads - threads / 4 - unknown - slow, max(1, threads / 4) - slow)
        }
    }
}

/// Names that wait, in turns of the applications that ask for them.
private struct WaitingNames {
    private var turns: Deque<ApplicationID?> = []
    private var names: [ApplicationID?: Deque<String>] = [:]

    mutating func append(_ name: String, of application: ApplicationID?) {
        if names[application] == nil { turns.append(application) }
        names[application, default: []].append(name)
    }

    /// Takes a name of the next application that may have one looked up.
    mutating func next(where isAllowed: (ApplicationID?) -> Bool) -> (name: String, ApplicationID?)? {
        guard let turn = turns.firstIndex(where: isAllowed) else { return nil }
        let application = turns.remove(at: turn)
        let name = names[application]?.popFirst()
        if names[application]?.isEmpty == false { turns.append(application) } else { names[application] = nil }
        return name.map { ($0, application) }
    }

    mutating func removeLastOfLongest() -> String? {
        guard let longest = names.max(by: { $0.value.count < $1.value.count }) else { return nil }
        let last = names[longest.key]?.popLast()
        if names[longest.key]?.isEmpty == true { names[longest.key] = nil }
        return last
    }

    mutating func remove(_ name: String, of application: ApplicationID?) {
        names[application]?.removeAll { $0 == name }
        guard names[application]?.isEmpty == true else { return }
        names[application] = nil
        turns.removeAll { $0 == application }
    }
}

/// A bounded number of names; the oldest make room.
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
