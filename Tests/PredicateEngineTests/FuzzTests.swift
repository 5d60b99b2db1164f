import PredicateEngine
import Testing

/// Text from strangers: whatever it is, it is a predicate or an error with a place, and never a trap.
@Suite struct FuzzTests {
    private static let words = [
        "SELF", "AND", "OR", "NOT", "ANY", "ALL", "NONE", "IN", "LIKE", "BETWEEN", "CONTAINS", "BEGINSWITH",
        "MATCHES", "NULL",
        "TRUE", "TRUEPREDICATE", "UTI-EQUALS", "UTI-", "SUBQUERY", "FIRST", "(", ")", "{", "}", "[", "]", "[cd]", ",",
        ".", ":",
        ":=", "==", "=", "!=", "<>", "<", "=<", ">", "&&", "||", "!", "+", "-", "*", "**", "/", "&", "|", "^", "<<",
        "'a'",
        "\"b*\"", "'", "\"", "\\", "\\u00", "0", "1.5", "1e3", "0x", "0b1", "99999999999999999999", "%@", "%K", "%",
        "$x", "$", "action", ".@count", "[0]", "[FIRST]", "['n']", ".in",
        "@count", "#in", "#", "name", "f(", "é", "\u{301}", "\u{0}", "\n", "😀", "-9223372036854775808", "9e307", " ",
    ]

    private func check(_ text: String, _ seed: UInt64) {
        let arguments: [PredicateArgument] = text.utf8.count.isMultiple(of: 3) ? [.string("a")] : []
        if let fault = ParserProbe.fault(in: text, arguments) { Issue.record("seed \(seed): \(fault)") }
        if let fault = PayloadProbe.fault(in: text, arguments, seed: seed) { Issue.record("seed \(seed): \(fault)") }
    }

    @Test func randomTokens() {
        for seed in UInt64(1)...FuzzRounds.of(20_000) {
            var random = SplitMix64(seed: seed)
            let separator = random.pick(["", " "])
            let text = (0..<random.below(14)).map { _ in random.pick(Self.words) }.joined(separator: separator)
            check(text, seed)
        }
    }

    @Test func randomBytes() {
        for seed in UInt64(1)...FuzzRounds.of(5000) {
            var random = SplitMix64(seed: seed)
            let bytes = (0..<random.below(40)).map { _ in UInt8.random(in: 0...255, using: &random) }
            check(String(decoding: bytes, as: UTF8.self), seed)
        }
    }

    /// Vectors with a few bytes changed, dropped, doubled or swapped with those of another.
    @Test func mutatedVectors() throws {
        let vectors = try Fixture.vectors().map { Array($0.predicate.utf8) }.filter { $0.count < 400 }
        for seed in UInt64(1)...FuzzRounds.of(15_000) {
            var random = SplitMix64(seed: seed)
            var bytes = random.pick(vectors)
            for _ in 0...random.below(3) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8.random(in: 0...127, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[place], at: place)
                default: bytes = Array(bytes[..<place] + random.pick(vectors).suffix(20))
                }
            }
            check(String(decoding: bytes, as: UTF8.self), seed)
        }
    }

    /// Every prefix of every vector: input that is still being typed.
    @Test func prefixes() throws {
        for vector in try Fixture.vectors() where vector.predicate.utf8.count < 200 {
            for length in 0..<vector.predicate.utf8.count {
                check(String(decoding: vector.predicate.utf8.prefix(length), as: UTF8.self), UInt64(length))
            }
        }
    }
}
