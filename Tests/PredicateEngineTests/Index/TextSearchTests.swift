import Testing

@testable import PredicateEngine

/// Searching for a literal, against trying every offset.
@Suite("Searching for a text within another") struct TextSearchTests {
    private static func find(
        _ literal: [UInt8], in text: [UInt8], seams: [UInt8]?, from offset: Int, inTwoWays: Bool
    ) -> (place: Int?, work: Int) {
        let margin = [UInt8](repeating: 0x61, count: 8)
        return (text + margin).withUnsafeBufferPointer { text in
            ((seams ?? []) + margin).withUnsafeBufferPointer { seamBytes in
                (literal + margin).withUnsafeBufferPointer { literal in
                    let view = TextView(
                        bytes: text.baseAddress.unsafelyUnwrapped, count: text.count - 8,
                        seams: seams == nil ? nil : seamBytes.baseAddress)
                    let (place, length) = (literal.baseAddress.unsafelyUnwrapped, literal.count - 8)
                    var work = 0
                    let found =
                        inTwoWays
                        ? view.findInTwoWays(place, length, from: offset, &work)
                        : view.find(place, length, from: offset, &work)
                    return (found, work)
                }
            }
        }
    }

    private static func expected(_ literal: [UInt8], in text: [UInt8], seams: [UInt8]?, from offset: Int) -> Int? {
        func canCut(_ place: Int) -> Bool { place == 0 || place == text.count || (seams?[place] ?? 0) == 0 }
        return (offset..<max(offset, text.count + 1)).first { place in
            text[place...].starts(with: literal) && canCut(place) && canCut(place + literal.count)
        }
    }

    /// Words over two letters that repeat themselves in many ways.
    private static func word(_ length: Int, _ random: inout SplitMix64) -> [UInt8] {
        switch random.below(4) {
        case 0: return (0..<length).map { _ in UInt8(97 + random.below(2)) }
        case 1:
            let period = 1 + random.below(7)
            let base = (0..<period).map { _ in UInt8(97 + random.below(2)) }
            return (0..<length).map { base[$0 % period] }
        case 2:
            var (word, next): ([UInt8], [UInt8]) = ([97], [97, 98])
            while word.count < length { (word, next) = (next, next + word) }
            return Array(word.prefix(length))
        default:
            var word = [UInt8](repeating: 97, count: length)
            if length > 0 { word[random.below(length)] = 98 }
            return word
        }
    }

    @Test("Finds the same as trying every offset", arguments: 0..<8 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<2000 {
            let text = Self.word(random.below(60), &random) + Self.word(random.below(60), &random)
            let start = random.below(text.count + 1)
            let part = Array(text[start...].prefix(1 + random.below(40)))
            let literal = part.isEmpty || random.chance(2) ? Self.word(1 + random.below(40), &random) : part
            let seams = random.chance(2) ? nil : text.map { _ in UInt8(random.below(3) / 2) }
            let offset = random.below(text.count + 1)
            let wanted = Self.expected(literal, in: text, seams: seams, from: offset)
            for inTwoWays in [false, true] {
                let found = Self.find(literal, in: text, seams: seams, from: offset, inTwoWays: inTwoWays)
                #expect(found.place == wanted, "\(literal) in \(text), \(seams ?? []), from \(offset)")
            }
        }
    }

    @Test("Takes at most sixteen steps a byte, and finds the same in long texts", arguments: 0..<8 as Range<UInt64>)
    func steps(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<100 {
            let text = Self.word(3000 + random.below(1000), &random)
            var literal = Self.word(1 + random.below(1000), &random)
            if random.chance(2) { literal = Array(text.suffix(1 + random.below(1000))) }
            if random.chance(2) { literal[random.below(literal.count)] ^= 3 }
            let seams = random.chance(2) ? nil : text.map { _ in UInt8(random.below(8) / 7) }
            let found = Self.find(literal, in: text, seams: seams, from: 0, inTwoWays: false)
            #expect(found.place == Self.expected(literal, in: text, seams: seams, from: 0))
            #expect(found.work <= 16 * text.count + 256, "\(literal.count) bytes")
        }
    }
}
