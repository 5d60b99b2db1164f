import Testing

@testable import PredicateEngine

/// Literals found through the order of a text's suffixes, against reading the text byte by byte.
@Suite("Searching by the order of suffixes") struct OccurrencesTests {
    /// Lends a text with its order.
    private static func with<Result>(
        _ text: [UInt8], seams: [UInt8]?, _ body: (TextView, Occurrences, _ price: Int) -> Result
    ) -> Result {
        let margin = [UInt8](repeating: 0x61, count: 8)
        return (text + margin).withUnsafeBufferPointer { bytes in
            ((seams ?? []) + margin).withUnsafeBufferPointer { seamBytes in
                let view = TextView(
                    bytes: bytes.baseAddress.unsafelyUnwrapped, count: text.count,
                    seams: seams == nil ? nil : seamBytes.baseAddress)
                var work = 0
                let order = Occurrences(of: view, &work)
                defer { order.free() }
                return body(view, order, work)
            }
        }
    }

    private static func next(
        _ literal: [UInt8], from offset: Int, _ order: Occurrences
    ) -> (place: Int?, work: Int) {
        (literal + [0, 0, 0, 0, 0, 0, 0, 0]).withUnsafeBufferPointer { bytes in
            var work = 0
            let place = order.next(bytes.baseAddress.unsafelyUnwrapped, literal.count, from: offset, &work)
            return (place, work)
        }
    }

    private static func found(_ literal: [UInt8], from offset: Int, in view: TextView) -> Int? {
        (literal + [0, 0, 0, 0, 0, 0, 0, 0]).withUnsafeBufferPointer { bytes in
            var work = 0
            return view.find(bytes.baseAddress.unsafelyUnwrapped, literal.count, from: offset, &work)
        }
    }

    /// Texts that repeat themselves, and a part of one or something like it.
    private static func word(_ length: Int, _ letters: Int, _ random: inout SplitMix64) -> [UInt8] {
        guard random.chance(3), length > 0 else {
            return (0..<length).map { _ in UInt8(97 + random.below(letters)) }
        }
        let base = (0..<1 + random.below(9)).map { _ in UInt8(97 + random.below(letters)) }
        var word = (0..<length).map { base[$0 % base.count] }
        if random.chance(2) { word[random.below(length)] = 98 }
        return word
    }

    private static func literal(of text: [UInt8], _ letters: Int, _ random: inout SplitMix64) -> [UInt8] {
        let part = Array(
            text.dropFirst(random.below(text.count + 1)).prefix(1 + random.below(random.chance(4) ? 60 : 5)))
        return part.isEmpty || random.chance(4) ? word(1 + random.below(6), letters, &random) : part
    }

    @Test("Finds the same as reading the text", arguments: 0..<8 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for round in 0..<120 {
            let letters = 1 + random.below(round % 2 == 0 ? 3 : 26)
            let text = Self.word(random.below(round % 10 == 0 ? 1200 : 90), letters, &random)
            let seams = random.chance(2) ? nil : text.map { _ in UInt8(random.below(1 + random.below(8)) == 1 ? 1 : 0) }
            Self.with(text, seams: seams) { view, order, _ in
                for _ in 0..<60 {
                    let literal = Self.literal(of: text, letters, &random)
                    let offset = random.below(text.count + 1)
                    let wanted = Self.found(literal, from: offset, in: view)
                    #expect(
                        Self.next(literal, from: offset, order).place == wanted,
                        "\(literal) in \(text), \(seams ?? []), from \(offset)")
                }
            }
        }
    }

    @Test("Takes steps for the literal and a logarithm of the text", arguments: 0..<4 as Range<UInt64>)
    func steps(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for letters in [1, 2, 26] {
            let text = Self.word(4096, letters, &random)
            Self.with(text, seams: nil) { _, order, price in
                #expect(price <= Occurrences.price(text.count))
                for _ in 0..<200 {
                    let literal = Self.literal(of: text, letters, &random)
                    let work = Self.next(literal, from: random.below(4097), order).work
                    #expect(work <= 26 * (literal.count + 4) + 60, "\(literal.count) bytes, \(work) steps")
                }
            }
        }
    }

    @Test("Tells where lines end")
    func lineEnds() {
        let text = Array("ab\ncd\u{2028}e\rf".utf8)
        Self.with(text, seams: nil) { view, order, _ in
            for start in 0...text.count {
                for end in start...text.count {
                    let expected = (start..<end).contains(where: view.isLineTerminator)
                    #expect(order.hasLineEnd(in: start..<end) == expected)
                }
            }
        }
        Self.with(Array("none".utf8), seams: nil) { _, order, _ in #expect(!order.hasLineEnd(in: 0..<4)) }
    }

    private static let alphabets = [
        ["a", "b", "c"], ["a", "B", "A", "b"], ["a", "b", "\n", "a", "b", "c"],
        ["a", "é", "e", "\u{301}", "\u{2028}", "𝒳"], ["s", "ß", "S", "ﬁ", "i", "f"],
    ]

    /// A first predicate takes as many steps as the order is worth, so that all others are answered with it.
    @Test("Predicates that are answered with it hold for the same subjects", arguments: 0..<8 as Range<UInt64>)
    func predicates(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let costly = try Predicate(
            format: (0..<400).map { "NOT SELF CONTAINS 'z\($0)z'" }.joined(separator: " AND "))
        func word(_ letters: [String], _ length: Int) -> String {
            (0..<length).map { _ in letters[random.below(letters.count)] }.joined()
        }
        for _ in 0..<25 {
            let letters = Self.alphabets[random.below(Self.alphabets.count)]
            // No order is made for a short text.
            let filler = String(repeating: "z", count: Occurrences.shortText)
            let subject = word(letters, 20 + random.below(30)) + filler + word(letters, 20 + random.below(30))
            var index = PredicateIndex(hash: KeyHash(seed: seed))
            let first = index.node(for: costly, .byNode)
            var asked: [(PredicateIndex.Node, Predicate)] = []
            for _ in 0..<40 {
                let options = ["", "[c]", "[cd]", "[d]"][random.below(4)]
                let ends = ["*", ""]
                let parts = (0..<1 + random.below(4)).map { _ in word(letters, 1 + random.below(3)) }
                let pattern =
                    ends[random.below(2)] + parts.joined(separator: random.chance(5) ? "?" : "*")
                    + ends[random.below(2)]
                let predicate =
                    random.chance(4)
                    ? try Predicate(format: "SELF CONTAINS\(options) %@", arguments: [.string(parts[0])])
                    : try Predicate(format: "SELF LIKE\(options) %@", arguments: [.string(pattern)])
                asked.append((index.node(for: predicate, .byNode), predicate))
            }
            index.answers(about: subject) { answers in
                #expect(answers.holds(first))
                #expect(answers.effort.compared >= Occurrences.price(subject.utf8.count))
                for (node, predicate) in asked where node != PredicateIndex.none {
                    #expect(answers.holds(node) == predicate.evaluate(with: subject), "\(predicate) for \(subject)")
                }
            }
        }
    }
}
