import PredicateEngine
package import Router
import RouterPlugin

/// What every session registry must do: a random history of calls is compared with a plain list.
///
///     let violations = SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: 1, steps: 200)
///
/// The list decides by comparing sessions two by two and asking predicates one by one; it shares nothing with any
/// registry, the linear one included.
package enum SessionRegistryLaws {
    /// Every difference found, each once; empty if there is none.
    package static func violations<Registry: SessionRegistry>(
        of type: Registry.Type, seed: UInt64, steps: Int
    ) -> [String] {
        var trial = RegistryTrial<Registry>(seed: seed)
        for _ in 0..<steps where trial.violations.list.isEmpty { trial.step() }
        return trial.violations.list.map { "seed \(seed): \($0)" }
    }
}

private struct RegistryTrial<Registry: SessionRegistry> {
    private(set) var violations = Violations()
    private var registry = Registry()
    private var list: [RegistryEntry] = []
    private var created: Int64 = 0
    private var generator: SeededGenerator

    /// Two names that only differ in their bytes are among them.
    private static var names: [String] { ["a", "b", "c", "d", "e", "f", "g", "h", "\u{E9}", "e\u{301}"] }
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

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func step() {
        let version = registry.version
        let isChanged: Bool =
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4: insert()
            case 4..<6: remove()
            default: setState()
            }
        violations.require(isChanged ? registry.version > version : registry.version == version, "the version is wrong")
        compare()
    }

    // MARK: - Changes

    private mutating func pick<Element>(_ elements: [Element], or other: Element) -> Element {
        elements.randomElement(using: &generator) ?? other
    }

    private mutating func drawTime() -> Timestamp? {
        Bool.random(using: &generator) ? Timestamp(milliseconds: Int64.random(in: 0...3, using: &generator)) : nil
    }

    private mutating func drawDevice() -> DeviceID? {
        pick([nil, nil, "d", "\u{E9}", "e\u{301}"], or: nil).map { DeviceID(unchecked: $0) }
    }

    private mutating func drawPredicate() -> Predicate {
        (try? Predicate(format: pick(Self.formats, or: ""))) ?? .alwaysTrue
    }

    private mutating func insert() -> Bool {
        let session = SessionID(unchecked: pick(Self.names, or: ""))
        let place = list.firstIndex { $0.session == session }
        // A session that is replaced keeps its place in the order of creation, or gets a new one if it was gone.
        if place == nil || Bool.random(using: &generator) { created += 1 }
        let entry = RegistryEntry(
            session: session, device: drawDevice(),
            conditions: ActivationConditions(
                canActivate: drawPredicate(), prefersToActivate: drawPredicate(),
                preferenceLevel: Int.random(in: -1...1, using: &generator)),
            state: pick(ActivationState.allCases, or: .background), lastActivatedAt: drawTime(),
            creationSequence: place.map { list[$0].creationSequence } ?? created)
        registry.insert(entry)
        if let place { list[place] = entry } else { list.append(entry) }
        return true
    }

    private mutating func remove() -> Bool {
        let session = SessionID(unchecked: pick(Self.names, or: ""))
        let place = list.firstIndex { $0.session == session }
        violations.require(registry.remove(session) == (place != nil), "remove of \(session) says the wrong thing")
        if let place { list.remove(at: place) }
        return place != nil
    }

    private mutating func setState() -> Bool {
        let session = SessionID(unchecked: pick(Self.names, or: ""))
        let (state, time) = (pick(ActivationState.allCases, or: .background), drawTime())
        let place = list.firstIndex { $0.session == session }
        let isDone = registry.setState(session, state, lastActivatedAt: time)
        violations.require(isDone == (place != nil), "setState of \(session) says the wrong thing")
        if let place { (list[place].state, list[place].lastActivatedAt) = (state, time) }
        return place != nil
    }

    // MARK: - Questions

    private mutating func compare() {
        violations.require(registry.count == list.count, "count is \(registry.count), not \(list.count)")
        for name in Self.names {
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
        let name = "content \(query.contentID?.text ?? "-"), device \(query.device?.text ?? "-")"
        let tiers = MatchTier.allCases.map { (tier: $0, ranked: ranked(in: $0, query)) }
        let first = tiers.first { !$0.ranked.isEmpty }
        let expected = first.map { RegistryMatch(tier: $0.tier, session: $0.ranked[0].session) }
        let best = registry.best(for: query)
        violations.require(best == expected, "\(name): best is \(best as Any), not \(expected as Any)")
        for (tier, ranked) in tiers {
            violations.require(
                visited(tier, query) == ranked.map(\.session), "\(name): \(tier) is shown in another order")
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
            guard let content = query.contentID?.text else { return tier == .can }
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
