import PredicateEngine
package import Router
import RouterPlugin

/// The laws of session registries: a random history of calls, compared with a plain list.
///
///     let violations = SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: 1, steps: 200)
///
/// The list decides by comparing sessions in pairs and evaluating predicates one by one; it shares no code with any
/// registry, the linear one included.
package enum SessionRegistryLaws {
    /// Every difference found, each once; empty if there is none.
    package static func violations<Registry: SessionRegistry>(
        of type: Registry.Type, seed: UInt64, steps: Int
    ) -> [String] {
        var trial = RegistryTrial<Registry>(seed: seed)
        for _ in 0..<steps where trial.violations.list.isEmpty {
            trial.step()
            trial.compare()
        }
        return trial.violations.list.map { "seed \(seed): \($0)" }
    }

    /// The same with so many sessions that structures with levels have several: registry and list are compared now and
    /// then, while the number of sessions grows and while it shrinks again.
    package static func violations<Registry: SessionRegistry>(
        of type: Registry.Type, seed: UInt64, crowd: Int
    ) -> [String] {
        var trial = RegistryTrial<Registry>(seed: seed)
        for step in 1...4 * crowd where trial.violations.list.isEmpty {
            trial.step(amongNames: crowd, growing: step <= 2 * crowd)
            if step % (crowd / 2) == 0 { trial.compare() }
        }
        return trial.violations.list.map { "seed \(seed): \($0)" }
    }
}

private struct RegistryTrial<Registry: SessionRegistry> {
    private(set) var violations = Violations()
    private var registry = Registry()
    private var list: [RegistryEntry] = []
    /// A copy of the registry, with the list at that time. It has a history of its own from then on.
    private var other: (registry: Registry, list: [RegistryEntry])?
    private var created: Int64 = 0
    private var generator: SeededGenerator

    /// Two of the names differ only in their bytes.
    private var names = ["a", "b", "c", "d", "e", "f", "g", "h", "\u{E9}", "e\u{301}"]
    private static var contents: [String?] {
        [nil, "", "x", "y", "doc/1", "doc/2", "doc/22", "\u{E9}", "e\u{301}", "DOC/1"]
    }
    private static var formats: [String] {
        [
            "TRUEPREDICATE", "TRUEPREDICATE", "FALSEPREDICATE", "FALSEPREDICATE", "SELF == 'x'", "SELF == 'y'",
            "SELF BEGINSWITH 'doc/'", "SELF BEGINSWITH[c] 'doc/'", "SELF ENDSWITH '2'", "SELF IN {'x', 'y', 'doc/1'}",
            "SELF LIKE 'doc/?'", "NOT SELF CONTAINS '2'", "SELF == 'x' OR SELF BEGINSWITH 'doc/2'",
            "SELF BEGINSWITH 'doc/' AND NOT SELF == 'doc/1'", "SELF == NULL", "SELF ==[n] '\u{E9}'", "SELF > 'm'",
        ]
    }

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        // Values near the limits of the packed representation, and beyond them.
        created = pick([0, 0, -3, Int64(UInt32.max) - 3, 1 << 40], or: 0)
    }

    mutating func step() { step(inserting: 4) }

    mutating func step(amongNames count: Int, growing isGrowing: Bool) {
        if names.count < count { names += (names.count..<count).map { "n\($0)" } }
        step(inserting: isGrowing ? 7 : 1)
    }

    /// Makes a change; `share` in ten are insertions.
    private mutating func step(inserting share: Int) {
        if Int.random(in: 0..<16, using: &generator) == 0 { turnToTheOther() }
        let version = registry.version
        let draw = Int.random(in: 0..<10, using: &generator)
        let isChanged = draw < share ? insert() : draw < share + (10 - share) / 3 ? remove() : setState()
        violations.require(isChanged ? registry.version > version : registry.version == version, "the version is wrong")
    }

    /// Takes a copy, or continues with the copy taken before.
    private mutating func turnToTheOther() {
        let this = (registry, list)
        if let other { (registry, list) = other }
        other = this
    }

    // MARK: - Changes

    private mutating func pick<Element>(_ elements: [Element], or other: Element) -> Element {
        elements.randomElement(using: &generator) ?? other
    }

    private mutating func drawTime() -> Timestamp? {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<8: nil
        case 8: Timestamp(milliseconds: pick([-7, -1, 1 << 43, 1 << 43 + 1, .max - 1, .max], or: 0))
        default: Timestamp(milliseconds: Int64.random(in: 0...3, using: &generator))
        }
    }

    private mutating func drawLevel() -> Int {
        Int.random(in: 0..<12, using: &generator) == 0
            ? pick([.min, -2049, -2048, 2047, 2048, .max], or: 0) : Int.random(in: -1...1, using: &generator)
    }

    private mutating func drawDevice() -> DeviceID? {
        pick([nil, nil, "d", "\u{E9}", "e\u{301}"], or: nil).map { DeviceID(unchecked: $0) }
    }

    private mutating func drawPredicate() -> Predicate {
        (try? Predicate(format: pick(Self.formats, or: ""))) ?? .alwaysTrue
    }

    private mutating func insert() -> Bool {
        let session = SessionID(unchecked: pick(names, or: ""))
        let place = list.firstIndex { $0.session == session }
        // A session that is replaced keeps its place in the order of creation, or gets a new one if it was gone.
        if place == nil || Bool.random(using: &generator) { created += 1 }
        let entry = RegistryEntry(
            session: session, device: drawDevice(),
            conditions: ActivationConditions(
                canActivate: drawPredicate(), prefersToActivate: drawPredicate(),
                preferenceLevel: drawLevel()),
            state: pick(ActivationState.allCases, or: .background), lastActivatedAt: drawTime(),
            creationSequence: place.map { list[$0].creationSequence } ?? created)
        registry.insert(entry)
        if let place { list[place] = entry } else { list.append(entry) }
        return true
    }

    private mutating func remove() -> Bool {
        let session = SessionID(unchecked: pick(names, or: ""))
        let place = list.firstIndex { $0.session == session }
        violations.require(registry.remove(session) == (place != nil), "remove of \(session) says the wrong thing")
        if let place { list.remove(at: place) }
        return place != nil
    }

    private mutating func setState() -> Bool {
        let session = SessionID(unchecked: pick(names, or: ""))
        let (state, time) = (pick(ActivationState.allCases, or: .background), drawTime())
        let place = list.firstIndex { $0.session == session }
        let isDone = registry.setState(session, state, lastActivatedAt: time)
        violations.require(isDone == (place != nil), "setState of \(session) says the wrong thing")
        if let place { (list[place].state, list[place].lastActivatedAt) = (state, time) }
        return place != nil
    }

    // MARK: - Questions

    mutating func compare() {
        violations.require(registry.count == list.count, "count is \(registry.count), not \(list.count)")
        for name in names {
            let session = SessionID(unchecked: name)
            let isExpected = list.contains { $0.session == session }
            violations.require(registry.contains(session) == isExpected, "contains of \(session) is wrong")
        }
        for content in Self.contents {
            let device = drawDevice()
            let query = RegistryQuery(
                device: device, contentID: content.map { ContentID(unchecked: $0) },
                prefersRequiresCan: Bool.random(using: &generator))
            compare(query)
        }
    }

    private mutating func compare(_ query: RegistryQuery) {
        let name = "content \(query.subject ?? "-"), device \(query.device?.text ?? "-")"
        let tiers = MatchTier.allCases.map { (tier: $0, ranked: ranked(in: $0, query)) }
        let first = tiers.first { !$0.ranked.isEmpty }
        let expected = first.map { RegistryMatch(tier: $0.tier, session: $0.ranked[0].session) }
        let best = registry.best(for: query)
        violations.require(best == expected, "\(name): best is \(best as Any), not \(expected as Any)")
        for (tier, ranked) in tiers {
            let (shownOrder, order) = (visited(tier, query), ranked.map(\.session))
            violations.require(
                shownOrder == order, "\(name): \(tier) shows \(shownOrder.prefix(9)), not \(order.prefix(9))")
            let stop = Int.random(in: 0...2, using: &generator)
            let shown = visited(tier, query, stopAfter: stop).count
            violations.require(shown == min(stop + 1, ranked.count), "\(name): \(tier) goes on when told to stop")
        }
        var all: [SessionID] = []
        registry.visitAll(device: query.device) { session in
            all.append(session)
            return true
        }
        let inScope = list.filter { query.device == nil || $0.device == query.device }
        violations.require(
            all.count == inScope.count && Set(all) == Set(inScope.map(\.session)),
            "\(name): visitAll shows \(all.count) others")
    }

    private func visited(_ tier: MatchTier, _ query: RegistryQuery, stopAfter stop: Int = .max) -> [SessionID] {
        var shown: [SessionID] = []
        registry.visit(tier, for: query) { session in
            shown.append(session)
            return shown.count <= stop
        }
        return shown
    }

    private func ranked(in tier: MatchTier, _ query: RegistryQuery) -> [RegistryEntry] {
        let candidates = list.filter { entry in
            guard query.device == nil || entry.device == query.device else { return false }
            guard let content = query.subject else { return tier == .can }
            let can = entry.conditions.canActivate.evaluate(with: content)
            let prefers = entry.conditions.prefersToActivate.evaluate(with: content)
            return tier == .can ? can : prefers && (can || !query.prefersRequiresCan)
        }
        return candidates.sorted { left, right in
            if tier == .prefers, left.conditions.preferenceLevel != right.conditions.preferenceLevel {
                return left.conditions.preferenceLevel > right.conditions.preferenceLevel
            }
            if left.state != right.state { return left.state.rawValue > right.state.rawValue }
            let (leftTime, rightTime) = (left.lastActivatedAt, right.lastActivatedAt)
            if leftTime != rightTime {
                guard let leftTime else { return false }
                return rightTime.map { leftTime > $0 } ?? true
            }
            return left.creationSequence < right.creationSequence
        }
    }
}
