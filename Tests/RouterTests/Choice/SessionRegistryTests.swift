import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Session registries")
struct SessionRegistryTests {
    @Test("The linear registry is the plain list", arguments: 0..<8 as Range<UInt64>)
    func linear(share: UInt64) {
        for seed in share * 5..<(share + 1) * 5 {
            #expect(SessionRegistryLaws.violations(of: LinearRegistry.self, seed: seed, steps: 25) == [])
        }
    }

    @Test("The indexed registry is the plain list", arguments: 0..<8 as Range<UInt64>)
    func indexed(share: UInt64) {
        for seed in share * 5..<(share + 1) * 5 {
            #expect(SessionRegistryLaws.violations(of: IndexedRegistry.self, seed: seed, steps: 25) == [])
        }
    }

    @Test("The laws notice a registry that is wrong")
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

/// A registry like the linear one, wrong in one place.
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

/// Looks at devices in `visit` only.
private struct Forgetful: WrongRegistry {
    var base = LinearRegistry()
    func best(for query: RegistryQuery) -> RegistryMatch? {
        base.best(for: RegistryQuery(contentID: query.contentID, prefersRequiresCan: query.prefersRequiresCan))
    }
}

/// Keeps the old rank of a session whose state changes.
private struct Stale: WrongRegistry {
    var base = LinearRegistry()
    func setState(_ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?) -> Bool {
        base.contains(session)
    }
}
