import Router
import RouterPlugin
import RouterTesting
import Testing

/// A registry whose questions are answered in turns of one evaluation each. Of some contents, turns were taken before the
/// last changes.
private struct RegistryInTurns: SessionRegistry {
    private static let contents: [ContentID] = ["", "x", "y", "doc/1", "doc/2", "doc/22", "DOC/1"]

    private var registry = IndexedRegistry()
    private var begun: [ContentID: DecisionWork] = [:]

    var count: Int { registry.count }
    var version: UInt64 { registry.version }

    /// Takes a turn of a decision about each content, which is not finished before the next change.
    private mutating func takeTurns() {
        for content in Self.contents {
            var work = begun[content] ?? DecisionWork(limit: 1)
            if begun[content] != nil { work.resume(1) }
            _ = registry.best(for: RegistryQuery(contentID: content), &work)
            begun[content] = work
        }
    }

    private func inTurns<Answer>(_ query: RegistryQuery, _ ask: (inout DecisionWork) -> Answer) -> Answer {
        var work = DecisionWork(limit: 1)
        if let content = query.subject.map({ ContentID(unchecked: $0) }), let earlier = begun[content] {
            work = earlier
            work.resume(1)
        }
        var answer = ask(&work)
        while work.isUnfinished {
            work.resume(1)
            answer = ask(&work)
        }
        return answer
    }

    mutating func insert(_ entry: RegistryEntry) {
        takeTurns()
        registry.insert(entry)
    }

    mutating func remove(_ session: SessionID) -> Bool {
        takeTurns()
        return registry.remove(session)
    }

    mutating func setState(_ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?) -> Bool {
        takeTurns()
        return registry.setState(session, state, lastActivatedAt: lastActivatedAt)
    }

    func contains(_ session: SessionID) -> Bool { registry.contains(session) }

    func best(for query: RegistryQuery) -> RegistryMatch? { inTurns(query) { registry.best(for: query, &$0) } }

    func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool) {
        let shown = inTurns(query) { work in
            var shown: [SessionID] = []
            registry.visit(tier, for: query, &work) { session in
                shown.append(session)
                return true
            }
            return shown
        }
        _ = shown.allSatisfy(visit)
    }

    func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool) { registry.visitAll(device: device, visit) }
}

@Suite("A registry in turns")
struct RegistryInTurnsTests {
    @Test("Answers in turns equal those of a list, after any change between the turns")
    func laws() {
        for seed in 0..<300 as Range<UInt64> {
            #expect(SessionRegistryLaws.violations(of: RegistryInTurns.self, seed: seed, steps: 25) == [])
        }
    }

    @Test("Answers in turns among many sessions are those of a list")
    func crowd() {
        for seed in 0..<2 as Range<UInt64> {
            #expect(SessionRegistryLaws.violations(of: RegistryInTurns.self, seed: seed, crowd: 200) == [])
        }
    }

    @Test("A predicate under many keys of the subject takes steps for each of them")
    func manyKeys() {
        let words = (1000..<1080).map { "w\($0)" }
        let predicate = words.map { "SELF CONTAINS '\($0)'" }.joined(separator: " OR ")
        var registry = IndexedRegistry()
        for number in 0..<20 {
            let conditions = ActivationConditions(
                canActivate: .format("SELF CONTAINS 'other\(number)' OR \(predicate)"))
            registry.insert(
                RegistryEntry(
                    session: SessionID(unchecked: "s\(number)"), conditions: conditions,
                    creationSequence: Int64(number)))
        }
        func steps(_ content: String) -> Int {
            var work = DecisionWork(limit: .max)
            registry.visit(.can, for: RegistryQuery(contentID: ContentID(unchecked: content)), &work) { _ in true }
            return work.steps
        }
        #expect(steps(words.joined(separator: "-")) - steps(words[0]) > 20 * 70 * 256)
    }
}
