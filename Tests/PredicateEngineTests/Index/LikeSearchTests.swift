import Testing

@testable import PredicateEngine

/// `LIKE` as decisions search for it, against the evaluator, which tries every place.
@Suite("Searching for a match of a pattern") struct LikeSearchTests {
    /// Words of a few letters that come back often, in which wildcards, quoting and letters of several bytes occur.
    private static func word(_ letters: [String], upTo length: Int, _ random: inout SplitMix64) -> String {
        (0..<random.below(length + 1)).map { _ in letters[random.below(letters.count)] }.joined()
    }

    private static let alphabets: [(pattern: [String], text: [String])] = [
        (["a", "b", "?", "*", "a?", "?b"], ["a", "b", "a"]),
        (["a", "?", "*", "\\*", "\\?", "\\\\", "\\"], ["a", "*", "?", "\\"]),
        (["a", "?", "*", "b"], ["a", "b", "a", "a", "\n", "\u{1}"]),
        (["a", "é", "e", "\u{301}", "?", "*", "\u{2028}"], ["a", "é", "e", "\u{301}", "\u{2028}", "𝒳"]),
        (["s", "ß", "S", "ﬁ", "i", "?", "*"], ["s", "ß", "S", "ﬁ", "f", "i"]),
    ]

    private static func matches(
        _ stretches: BitParallelLike<some IteratorProtocol<LikeElement>>, _ text: FoldedText
    ) -> (Bool, work: Int) {
        let margin = [UInt8](repeating: 0, count: 8)
        return (text.bytes + margin).withUnsafeBufferPointer { bytes in
            (text.seams + margin).withUnsafeBufferPointer { seams in
                let view = TextView(
                    bytes: bytes.baseAddress.unsafelyUnwrapped, count: text.bytes.count,
                    seams: text.seams.isEmpty ? nil : seams.baseAddress)
                var work = 0
                return (stretches.match(view, from: 0, isFixed: true, &work), work)
            }
        }
    }

    @Test("All places at once match the same as every place alone", arguments: 0..<8 as Range<UInt64>)
    func stretches(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<1500 {
            let letters = Self.alphabets[random.below(Self.alphabets.count)]
            let form = Form(rawValue: random.below(Form.count)) ?? .exact
            let isLong = random.below(20) == 0
            let pattern = Self.word(letters.pattern, upTo: isLong ? 300 : 9, &random)
            let text = Self.word(letters.text, upTo: isLong ? 400 : 14, &random)
            let (glob, folded) = (
                Glob(Array(pattern.utf8), form: form), Folding.fold(Array(text.utf8), into: form)
            )
            let (found, work) = Self.matches(BitParallelLike(elements: glob.elements.makeIterator()), folded)
            #expect(
                found == glob.matches(folded), "\(pattern.debugDescription) over \(text.debugDescription), \(form)")
            #expect(work <= 17 * folded.bytes.count + 21 * (pattern.utf8.count + 1))
        }
    }

    /// Long enough that trying every place is given up now and then, somewhere.
    @Test("A decision and the evaluator agree", arguments: 0..<8 as Range<UInt64>)
    func decisions(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<40 {
            let letters = Self.alphabets[random.below(Self.alphabets.count)]
            let text = Self.word(letters.text, upTo: 900, &random)
            let holes = String(repeating: "?", count: random.below(200))
            let parts = (0..<1 + random.below(3)).map { _ in Self.word(letters.pattern, upTo: 6, &random) }
            let pattern = "*" + parts.joined(separator: holes) + (random.chance(2) ? "*" : "")
            let options = ["", "[c]", "[cd]", "[d]"][random.below(4)]
            for (format, arguments) in [
                ("SELF LIKE\(options) %@", [PredicateArgument.string(pattern)]),
                ("%@ LIKE\(options) SELF", [.string(String(text.prefix(250)))]),
            ] {
                let predicate = try Predicate(format: format, arguments: arguments)
                var index = PredicateIndex(hash: KeyHash(seed: seed))
                let node = index.node(for: predicate, .byNode)
                guard node != PredicateIndex.none else { continue }
                let subject = format.hasPrefix("SELF") ? text : pattern
                let value = index.holds(node, for: subject)
                #expect(value == predicate.evaluate(with: subject), "\(format) \(arguments) for \(subject)")
            }
        }
    }
}
