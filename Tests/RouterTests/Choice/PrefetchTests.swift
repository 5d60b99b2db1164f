import PredicateEngine
import Router
import RouterPlugin
import Testing

@Suite("Prefetch")
struct PrefetchTests {
    /// More than the threshold below which no memory is prefetched.
    private static let sessions = 17_000
    private static let contents = 600

    private static func entry(_ number: Int) throws -> RegistryEntry {
        let own = try Predicate(format: "SELF == 'doc/\(number % contents)'")
        return RegistryEntry(
            session: name(number),
            conditions: ActivationConditions(
                canActivate: number % 3 == 0 ? .alwaysFalse : .alwaysTrue,
                prefersToActivate: number < 2 * contents ? own : .alwaysFalse),
            state: ActivationState.allCases[number % 4], creationSequence: Int64(number))
    }

    private static func name(_ number: Int) -> SessionID {
        SessionID(unchecked: number % 5 == 0 ? "a-name-of-more-than-15-bytes-\(number)" : "s\(number)")
    }

    @Test("A batch has the result of the same changes one by one")
    func isSame() throws {
        var (batched, single) = (IndexedRegistry(), IndexedRegistry())
        for number in 0..<Self.sessions { single.insert(try Self.entry(number)) }
        batched.apply(try (0..<Self.sessions).map { .insert(try Self.entry($0)) })
        for round in 0..<20 {
            // One in nine ids belongs to no session.
            let numbers = (0..<40).map { ($0 * 7919 + round * 104_729) % (Self.sessions * 9 / 8) }
            let changes = try numbers.enumerated().map { place, number -> RegistryChange in
                let (name, state) = (Self.name(number), ActivationState.allCases[(number + round) % 4])
                switch place % 10 {
                case 0: return .remove(name)
                case 1: return .insert(try Self.entry(number))
                default:
                    let time = Timestamp(milliseconds: Int64(round * 40 + place))
                    return .setState(name, state, lastActivatedAt: time)
                }
            }
            batched.apply(changes)
            for change in changes {
                switch change {
                case .insert(let entry): single.insert(entry)
                case .remove(let session): single.remove(session)
                case .setState(let session, let state, let time): single.setState(session, state, lastActivatedAt: time)
                }
            }
            #expect(batched.version == single.version && batched.count == single.count)
            for number in 0..<Self.contents {
                let query = RegistryQuery(contentID: ContentID(unchecked: "doc/\(number)"))
                #expect(batched.best(for: query) == single.best(for: query))
            }
        }
    }

    @Test("A copy does not change with a batch on its original")
    func copy() throws {
        var registry = IndexedRegistry()
        registry.apply(try (0..<Self.sessions).map { .insert(try Self.entry($0)) })
        let copy = registry
        registry.apply([.remove(Self.name(1)), .remove(Self.name(2))])
        #expect(copy.contains(Self.name(1)) && !registry.contains(Self.name(1)))
        #expect(copy.count == registry.count + 2)
    }
}
