import PredicateEngine
import Router
import RouterPlugin
import Testing

@Suite("Foresight")
struct ForesightTests {
    /// More than a registry takes for few.
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

    @Test("A registry that is told of changes is the same afterwards as one that is not")
    func isSame() throws {
        var (told, untold) = (IndexedRegistry(), IndexedRegistry())
        for number in 0..<Self.sessions {
            let entry = try Self.entry(number)
            told.insert(entry)
            untold.insert(entry)
        }
        for round in 0..<20 {
            // One in nine names nobody, and one in seven changes is about something else.
            let numbers = (0..<40).map { ($0 * 7919 + round * 104_729) % (Self.sessions * 9 / 8) }
            let version = told.version
            told.foresee(numbers.indices) { $0 % 7 == 0 ? nil : Self.name(numbers[$0]) }
            #expect(told.version == version && told.count == untold.count)
            for (place, number) in numbers.enumerated() {
                let (name, state) = (Self.name(number), ActivationState.allCases[(number + round) % 4])
                let time = Timestamp(milliseconds: Int64(round * 40 + place))
                if place % 10 == 0 {
                    #expect(told.remove(name) == untold.remove(name))
                } else {
                    let isKnown = told.setState(name, state, lastActivatedAt: time)
                    #expect(isKnown == untold.setState(name, state, lastActivatedAt: time))
                }
            }
            for number in 0..<Self.contents {
                let query = RegistryQuery(contentID: ContentID(unchecked: "doc/\(number)"))
                #expect(told.best(for: query) == untold.best(for: query))
            }
        }
    }

    @Test("A copy does not change because its original is told of changes")
    func copy() throws {
        var registry = IndexedRegistry()
        for number in 0..<Self.sessions { registry.insert(try Self.entry(number)) }
        let copy = registry
        registry.foresee(0..<2) { Self.name($0) }
        registry.remove(Self.name(1))
        registry.foresee(0..<2) { Self.name($0) }
        #expect(copy.contains(Self.name(1)) && !registry.contains(Self.name(1)))
        #expect(copy.count == registry.count + 1)
    }
}
