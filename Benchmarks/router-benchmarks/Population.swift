import PredicateEngine
import Router
import RouterPlugin

/// A realistic population of sessions, and contents to decide: half of them some session can have.
struct Population {
    private(set) var entries: [RegistryEntry] = []
    private(set) var registry = IndexedRegistry()
    private(set) var subjects: [String] = []

    /// The number of contents that are decided in a round.
    static let subjectCount = 1_000
    /// The number of sessions that share a device.
    private static let sessionsPerDevice = 4

    /// Sessions with a predicate of their own each, which three in ten also prefer.
    static func mixed(_ size: Size) throws -> Population {
        var random = Randomness(seed: 1)
        let conditions = (0..<size.rawValue).map { Condition.mixed($0, &random) }
        return try Population(conditions, &random) { condition, random in
            let can = try Predicate(format: condition.format)
            return ActivationConditions(canActivate: can, prefersToActivate: random.happens(30) ? can : .alwaysFalse)
        }
    }

    /// Sessions that can show everything and prefer one document each, as UIKit's defaults suggest.
    static func documents(_ size: Size) throws -> Population {
        var random = Randomness(seed: 2)
        let conditions = (0..<size.rawValue).map {
            Condition(format: "SELF == '\(Condition.document($0))'", subject: Condition.document($0))
        }
        return try Population(conditions, &random) { condition, _ in
            ActivationConditions(canActivate: .alwaysTrue, prefersToActivate: try Predicate(format: condition.format))
        }
    }

    /// Sessions that prefer contents that they cannot show: each document can be shown by its neighbour alone.
    static func wishful(_ size: Size) throws -> Population {
        var random = Randomness(seed: 3)
        let conditions = (0..<size.rawValue).map {
            Condition(format: "SELF == '\(Condition.document($0 ^ 1))'", subject: Condition.document($0))
        }
        return try Population(conditions, &random) { condition, _ in
            ActivationConditions(
                canActivate: try Predicate(format: condition.format),
                prefersToActivate: try Predicate(format: "SELF == '\(condition.subject)'"))
        }
    }

    /// Sessions that name their contents on the left, where most are asked: nothing can be found by such predicates.
    static func turned(_ size: Size) throws -> Population {
        var random = Randomness(seed: 5)
        let conditions = (0..<size.rawValue).map { number in
            let document = Condition.document(number)
            let relation = ["CONTAINS[cd]", "LIKE[c]", "BEGINSWITH", "ENDSWITH[c]"][number % 4]
            return Condition(format: "'\(document)' \(relation) SELF", subject: document)
        }
        return try Population(conditions, &random) { condition, _ in
            ActivationConditions(
                canActivate: try Predicate(format: condition.format), prefersToActivate: .alwaysFalse)
        }
    }

    /// Sessions whose contents come after a text, asked for contents that come before all of them: no index helps, so
    /// each is asked.
    static func orders(_ size: Size) throws -> Population {
        var random = Randomness(seed: 7)
        let conditions = (0..<size.rawValue).map {
            Condition(format: "SELF > '\(Condition.document($0))'", subject: "myapp://album")
        }
        return try Population(conditions, &random) { condition, _ in
            ActivationConditions(
                canActivate: try Predicate(format: condition.format), prefersToActivate: .alwaysFalse)
        }
    }

    /// Sessions with question marks behind a star, asked for a content that begins each pattern at every letter and
    /// ends none: trying every place is given up, and all are followed at once.
    static func patterns(_ size: Size) throws -> Population {
        var random = Randomness(seed: 8)
        let subject = "cb" + String(repeating: "a", count: 300)
        let conditions = (0..<size.rawValue).map { number in
            let holes = [number % 32, 32 + number / 32].map { String(repeating: "?", count: $0) }
            return Condition(format: "SELF LIKE '*a\(holes[1])b\(holes[0])c*'", subject: subject)
        }
        return try Population(conditions, &random) { condition, _ in
            ActivationConditions(
                canActivate: try Predicate(format: condition.format), prefersToActivate: .alwaysFalse)
        }
    }

    private init(
        _ conditions: [Condition], _ random: inout Randomness,
        _ activation: (Condition, inout Randomness) throws -> ActivationConditions
    ) throws {
        let states: [ActivationState] = [.foregroundActive, .foregroundInactive, .background, .unattached]
        for (number, condition) in conditions.enumerated() {
            entries.append(
                RegistryEntry(
                    session: SessionID(unchecked: "s\(number)"), device: Self.device(ofSession: number),
                    conditions: try activation(condition, &random), state: random.pick(states),
                    lastActivatedAt: Timestamp(milliseconds: 1_767_225_600_000 + Int64(random.draw(1_000_000))),
                    creationSequence: Int64(number)))
        }
        insertAll()
        subjects = (0..<Self.subjectCount).map { number in
            let subject = random.pick(conditions).subject
            return number % 2 == 0 ? subject : subject + "x"
        }
    }

    private mutating func insertAll() {
        registry = IndexedRegistry()
        registry.reserve(entries.count)
        for entry in entries { registry.insert(entry) }
    }

    /// The device of a session.
    static func device(ofSession number: Int) -> DeviceID {
        DeviceID(unchecked: "device-of-a-person-\(number / sessionsPerDevice)")
    }

    /// The same sessions under names of 36 bytes, as UIKit gives them. Swift keeps texts of up to 15 bytes where they
    /// are used, and longer ones in an object.
    func withLongNames() -> Population {
        var copy = self
        for index in copy.entries.indices {
            let digits = String(1_000_000_000_000 + index)
            copy.entries[index].session = SessionID(unchecked: "7C9E6679-7425-40DE-944B-\(digits.dropFirst())")
        }
        copy.insertAll()
        return copy
    }
}
