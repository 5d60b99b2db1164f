@testable import PredicateEngine

extension RandomPredicates {
    /// Names of members: words, reserved words, names that need quotes, names that differ in normalization only.
    static let names = ["a", "b", "c", "d_1", "size", "NULL", "é", "e\u{301}", "odd name", "a.b", "it's", "", "@count"]

    /// A key path whose names often occur in the payloads.
    mutating func path() -> PayloadPath {
        var path = PayloadPath()
        for _ in 0..<random.below(5) {
            switch random.below(10) {
            case 0: path.steps.append(.element(random.below(4)))
            case 1: path.steps.append(random.pick([.first, .last]))
            default: path.steps.append(.member(Predicate.Text(utf8: Array(name().utf8))))
            }
        }
        if random.chance(8) { path.steps.append(.count) }
        return path
    }

    private mutating func name() -> String {
        random.chance(4) ? random.pick(Self.names) : random.pick(["a", "b", "c"])
    }

    /// A payload in which strings are often near the tree's literals.
    mutating func payload(near tree: Predicate.Tree, depth: Int = 5) -> PayloadValue {
        switch depth == 0 ? random.below(6) : random.below(24) {
        case 0: return .null
        case 1: return .boolean(random.chance(2))
        case 2: return .number(.integer(random.pick([.min, .max, -1, 0, 1, 2, 1 << 53, 1 << 53 + 1])))
        case 3: return .number(.double(random.pick([0.1, -2.5, 1e300, 9007199254740992, -1, 1, 2])))
        case 4, 5: return subject(near: tree).map(PayloadValue.string) ?? .null
        case 6...9: return .array((0..<random.below(5)).map { _ in payload(near: tree, depth: depth - 1) })
        default:
            return .object(
                PayloadObject((0..<1 + random.below(5)).map { _ in (name(), payload(near: tree, depth: depth - 1)) }))
        }
    }
}
