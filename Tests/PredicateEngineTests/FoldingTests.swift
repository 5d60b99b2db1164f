import Foundation
import Testing

@testable import PredicateEngine

/// The engine's own tables against Foundation's.
@Suite struct FoldingTests {
    private func folded(_ text: String, _ form: Form) -> [Unicode.Scalar] {
        Array(String(decoding: Folding.fold(Array(text.utf8), into: form).bytes, as: UTF8.self).unicodeScalars)
    }

    private func foundationNFD(_ text: String) -> [Unicode.Scalar] {
        Array(text.decomposedStringWithCanonicalMapping.unicodeScalars)
    }

    /// Scalars that the table's version of Unicode knew; later ones are not in it.
    private var assigned: [Unicode.Scalar] {
        (0...0x10FFFF).compactMap(Unicode.Scalar.init).filter {
            guard let age = $0.properties.age else { return false }
            return age.major <= 14 && $0.properties.generalCategory != .privateUse
        }
    }

    @Test func decomposesEveryScalarAsFoundationDoes() {
        for scalar in assigned where scalar.value >= 0x80 {
            let text = String(scalar)
            // A condition first: the macro is too slow to be asked for each of a hundred thousand scalars.
            if folded(text, .canonical) != foundationNFD(text) { Issue.record("U+\(String(scalar.value, radix: 16))") }
        }
    }

    @Test func ordersMarksAsFoundationDoes() {
        var random = SplitMix64(seed: 11)
        let marks = assigned.filter { $0.properties.canonicalCombiningClass != .notReordered }
        for _ in 0..<3000 {
            let base = random.pick(["a", "é", "ǖ", "가", "\u{1E69}", "क", ""])
            let some = (0..<random.below(6)).map { _ in String(random.pick(marks)) }.joined()
            let text = base + some + random.pick(["", "b"])
            #expect(folded(text, .canonical) == foundationNFD(text), "\(text.unicodeScalars.map(\.value))")
        }
    }

    @Test func combiningClassesAreThoseOfTheStandardLibrary() {
        for scalar in assigned where scalar.value >= 0x80 && folded(String(scalar), .canonical) == [scalar] {
            // It is put before a dot below if and only if its class is a mark's and the smaller one.
            let order = scalar.properties.canonicalCombiningClass.rawValue
            let isFirst = folded("a\u{323}\(scalar)", .canonical).dropFirst().first == scalar
            let shouldBe = order > 0 && order < 220 || scalar == "\u{323}"
            if isFirst != shouldBe { Issue.record("U+\(String(scalar.value, radix: 16))") }
        }
    }

    /// Comparison of every letter with its other cases. Full case folding knows three groups that Foundation does
    /// not: letters beyond U+FFFF, the iota subscript, and the rounded Cyrillic letters of U+1C80…U+1C88.
    @Test func foldsCaseAsFoundationDoes() {
        for scalar in assigned {
            let text = String(scalar)
            let hasIota = foundationNFD(text).contains("\u{345}") || text.uppercased().hasSuffix("\u{399}")
            let isKnown = scalar.value <= 0xFFFF && !hasIota && !(0x1C80...0x1C88).contains(scalar.value)
            let properties = scalar.properties
            let cases = [properties.uppercaseMapping, properties.lowercaseMapping, properties.titlecaseMapping]
            for other in cases where Array(other.utf8) != Array(text.utf8) {
                let ours = folded(text, .caseFolded) == folded(other, .caseFolded)
                let theirs = text.compare(other, options: .caseInsensitive) == .orderedSame
                #expect(isKnown ? ours == theirs : ours, "\(text) \(other)")
            }
        }
    }

    @Test(arguments: [
        ("café", "cafe", true), ("ÅÄÖ", "AAO", true), ("ø", "o", false), ("Ł", "L", false), ("й", "и", true),
        ("ά", "α", true), ("ṩ", "s", true), ("が", "か", false), ("각", "가", false), ("≠", "=", true), ("क़", "क", true),
        ("ا\u{64B}", "ا", true), ("ש\u{5C1}", "ש", true), ("ย\u{E38}", "ย", true), ("कि", "क", false), ("ñ", "n", true),
    ])
    func stripsDiacriticsAsFoundationDoes(text: String, other: String, expected: Bool) {
        #expect((folded(text, .stripped) == folded(other, .stripped)) == expected)
        #expect((text.compare(other, options: .diacriticInsensitive) == .orderedSame) == expected)
    }

    @Test(arguments: [
        ("straße", "STRASSE", true), ("ς", "Σ", true), ("İ", "i", false), ("Ａ", "A", false), ("ﬃ", "FFI", true),
        ("K", "k", true), ("ı", "I", false), ("CAFÉ", "cafe\u{301}", true), ("ꭰ", "Ꭰ", true), ("ΐ", "ΐ", true),
    ])
    func foldsCase(text: String, other: String, expected: Bool) {
        #expect((folded(text, .caseFolded) == folded(other, .caseFolded)) == expected)
    }

    /// Substring search against Foundation's. Left out is what Foundation 6.3 gets wrong: it finds `ß` at the `s` of
    /// `sΣ`, and misses `é` after an `e`.
    @Test func findsSubstringsAsFoundationDoes() throws {
        var random = SplitMix64(seed: 5)
        let pieces = ["a", "A", "é", "É", "e\u{301}", "ö", "ü", "ss", "s", "/", "σ", "Σ", "ς", "ø", "1", "😀", "가"]
        let options: [(String, String.CompareOptions)] = [
            ("", []), ("[c]", .caseInsensitive), ("[d]", .diacriticInsensitive),
            ("[cd]", [.caseInsensitive, .diacriticInsensitive]),
        ]
        for _ in 0..<4000 {
            let text = (0..<random.below(7)).map { _ in random.pick(pieces) }.joined()
            let needle = (0..<random.below(3)).map { _ in random.pick(pieces) }.joined()
            for (letters, option) in options {
                let ours = try PredicateEngine.Predicate(
                    format: "SELF CONTAINS\(letters) %@", arguments: [.string(needle)]
                ).evaluate(with: text)
                #expect(ours == (text.range(of: needle, options: option) != nil), "\(letters) \(needle) in \(text)")
            }
        }
    }

    @Test func asciiNeverChangesButInCase() {
        let ascii = String(decoding: (UInt8(0)..<0x80).map { $0 }, as: UTF8.self)
        for form in [Form.exact, .canonical, .stripped] { #expect(folded(ascii, form) == Array(ascii.unicodeScalars)) }
        #expect(folded(ascii, .caseFolded) == Array(ascii.lowercased().unicodeScalars))
        #expect(folded(ascii, .strippedAndCaseFolded) == Array(ascii.lowercased().unicodeScalars))
    }
}
