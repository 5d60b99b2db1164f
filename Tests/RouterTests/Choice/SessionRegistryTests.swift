import Glibc
import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Session registries")
struct SessionRegistryTests {
    @Test("The linear registry agrees with the plain list", arguments: 0..<8 as Range<UInt64>)
    func linear(share: UInt64) {
        for seed in share * 5..<(share + 1) * 5 {
            #expect(SessionRegistryLaws.violations(of: LinearRegistry.self, seed: seed, steps: 25) == [])
        }
    }

    @Test("The indexed registry agrees with the plain list", arguments: 0..<8 as Range<UInt64>)
    func indexed(share: UInt64) {
        for seed in share * 5..<(share + 1) * 5 {
            #expect(SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: seed, steps: 25) == [])
        }
    }

    @Test("Hundreds of sessions are inserted and removed", arguments: 0..<3 as Range<UInt64>)
    func crowd(seed: UInt64) {
        #expect(SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: seed, crowd: 600) == [])
    }

    /// `make verify-index` sets the number.
    @Test("Many long histories", .enabled(if: longSeeds > 0), arguments: 0..<64 as Range<UInt64>)
    func long(share: UInt64) {
        for seed in stride(from: 1000 + share, to: 1000 + Self.longSeeds, by: 64) {
            #expect(SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: seed, steps: 40) == [])
        }
    }

    private static let longSeeds = getenv("ROUTERD_INDEX_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 0

    @Test("A reservation for sessions includes as many predicates as they have")
    func expected() throws {
        /// The memory that decisions read, without the records of the sessions.
        func bytes(predicates: Int, isExpected: Bool) throws -> Int {
            let sessions = 24_000
            var registry = IndexedRegistry()
            if isExpected { registry.reserve(sessions) }
            for number in 0..<sessions {
                let predicate = try Predicate(format: "SELF == 'doc/\(number % predicates)'")
                registry.insert(
                    RegistryEntry(
                        session: SessionID(unchecked: "s\(number)"),
                        conditions: ActivationConditions(canActivate: .alwaysTrue, prefersToActivate: predicate),
                        state: .background, creationSequence: Int64(number)))
            }
            return registry.decisionBytes - 32 * (isExpected ? sessions : 1 << 15)
        }
        let (own, ownExpected) = try (
            bytes(predicates: 24_000, isExpected: false), bytes(predicates: 24_000, isExpected: true)
        )
        // A table made for 24,480 keys has 39,168 places of 8 bytes; a table that doubles has 65,536.
        #expect(ownExpected <= own - 8 * (65_536 - 39_200))
        let (shared, sharedExpected) = try (
            bytes(predicates: 10, isExpected: false), bytes(predicates: 10, isExpected: true)
        )
        #expect(sharedExpected <= shared + 4096)
    }

    @Test("The estimate uses all sessions, not only the first ones", arguments: [true, false])
    func expectedAndUnlike(areFirstLarge: Bool) throws {
        func bytes(isExpected: Bool) throws -> Int {
            let sessions = 17_000
            var registry = IndexedRegistry()
            if isExpected { registry.reserve(sessions) }
            for number in 0..<sessions {
                let place = areFirstLarge ? number : sessions - 1 - number
                let texts = (0..<(place < sessions / 16 ? 60 : 1)).map { "'doc/\(number)/\($0)'" }
                let predicate = try Predicate(format: "SELF IN {\(texts.joined(separator: ","))}")
                registry.insert(
                    RegistryEntry(
                        session: SessionID(unchecked: "s\(number)"),
                        conditions: ActivationConditions(canActivate: .alwaysTrue, prefersToActivate: predicate),
                        state: .background, creationSequence: Int64(number)))
            }
            return registry.decisionBytes - 32 * (isExpected ? sessions : 1 << 15)
        }
        let (grown, expected) = try (bytes(isExpected: false), bytes(isExpected: true))
        // The reservation is a fiftieth larger than needed.
        #expect(expected <= grown + grown / 50, "\(expected) and not \(grown)")
    }

    @Test("A copy answers as when it was made, while its original changes and other threads read it")
    func concurrentReaders() async {
        var registry = IndexedRegistry()
        func entry(_ number: Int, _ level: Int = 0) -> RegistryEntry {
            let predicate = (try? Predicate(format: "SELF == 'doc/\(number % 40)'")) ?? .alwaysFalse
            return RegistryEntry(
                session: SessionID(unchecked: "s\(number)"),
                conditions: ActivationConditions(
                    canActivate: .alwaysTrue, prefersToActivate: predicate, preferenceLevel: level),
                state: ActivationState.allCases[number % 4], creationSequence: Int64(number))
        }
        for number in 0..<400 { registry.insert(entry(number)) }
        for round in 0..<8 {
            let snapshot = registry
            let expected = (0..<40).map { number in
                snapshot.best(for: RegistryQuery(contentID: ContentID(unchecked: "doc/\(number)")))
            }
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        (0..<2000).allSatisfy { turn in
                            let query = RegistryQuery(contentID: ContentID(unchecked: "doc/\(turn % 40)"))
                            return snapshot.best(for: query) == expected[turn % 40]
                        }
                    }
                }
                for number in 0..<400 {
                    registry.remove(SessionID(unchecked: "s\(number)"))
                    registry.insert(entry(number, (number + round) % 5))
                    registry.setState(
                        SessionID(unchecked: "s\((number * 7) % 400)"), .foregroundActive,
                        lastActivatedAt: Timestamp(milliseconds: Int64(round * 400 + number)))
                }
                for await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("The laws detect a defective registry")
    func wrong() {
        func isFound<Registry: SessionRegistry>(_ type: Registry.Type) -> Bool {
            (0..<20 as Range<UInt64>).contains {
                !SessionRegistryLaws.violations(of: type, seed: $0, steps: 25).isEmpty
            }
        }
        #expect(isFound(Forgetful.self))
        #expect(isFound(Stale.self))
    }
}

/// A registry like the linear one with one defect.
private protocol WrongRegistry: SessionRegistry {
    var base: LinearRegistry { get set }
}

extension WrongRegistry {
    var count: Int { base.count }
    var version: UInt64 { base.version }
    mutating func insert(_ entry: RegistryEntry) { base.insert(entry) }
    mutating func remove(_ session: SessionID) -> Bool { base.remove(session) }
    mutating func setState(_ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?) -> Bool {
        base.setState(session, state, lastActivatedAt: lastActivatedAt)
    }
    func contains(_ session: SessionID) -> Bool { base.contains(session) }
    func best(for query: RegistryQuery) -> RegistryMatch? { base.best(for: query) }
    func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool) {
        base.visit(tier, for: query, visit)
    }
    func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool) { base.visitAll(device: device, visit) }
}

/// Respects devices in `visit` only.
private struct Forgetful: WrongRegistry {
    var base = LinearRegistry()
    func best(for query: RegistryQuery) -> RegistryMatch? {
        base.best(
            for: RegistryQuery(
                contentID: query.subject.map { ContentID(unchecked: $0) },
                prefersRequiresCan: query.prefersRequiresCan))
    }
}

/// Keeps the old rank of a session whose state changes.
private struct Stale: WrongRegistry {
    var base = LinearRegistry()
    func setState(_ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?) -> Bool {
        base.contains(session)
    }
}
