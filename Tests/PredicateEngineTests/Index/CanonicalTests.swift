import Testing

@testable import PredicateEngine

@Suite("Canonical codes") struct CanonicalTests {
    private static func code(_ format: String) throws -> [UInt8] {
        Canonicalizer.code(of: try Predicate(format: format))
    }

    /// Different words, one predicate.
    static let laws: [(String, String)] = [
        ("'a' == SELF", "SELF == 'a'"),
        ("'a' < SELF", "SELF > 'a'"),
        ("'a' >= SELF", "SELF <= 'a'"),
        ("SELF != 'a'", "NOT SELF == 'a'"),
        ("NOT NOT SELF == 'a'", "SELF == 'a'"),
        ("SELF IN {'a'}", "SELF == 'a'"),
        ("SELF IN {}", "FALSEPREDICATE"),
        ("SELF IN {'b', 'a', 'b'}", "SELF == 'a' OR SELF == 'b'"),
        ("SELF IN {'b', 'a'}", "ANY {'a', 'b'} == SELF"),
        ("NONE {'a', 'b'} == SELF", "NOT SELF IN {'b', 'a'}"),
        ("ALL {'a', 'b'} == SELF", "SELF == 'b' AND SELF == 'a'"),
        ("SELF BETWEEN {'a', 'c'}", "SELF <= 'c' AND SELF >= 'a'"),
        ("SELF LIKE 'abc'", "SELF == 'abc'"),
        ("SELF LIKE[c] 'ABC'", "SELF ==[c] 'abc'"),
        ("SELF LIKE 'a**b'", "SELF LIKE 'a*b'"),
        ("SELF CONTAINS ''", "FALSEPREDICATE"),
        ("SELF BEGINSWITH[c] 'DOC'", "SELF BEGINSWITH[c] 'doc'"),
        ("SELF BEGINSWITH[l] 'doc'", "SELF BEGINSWITH 'doc'"),
        ("'abc' BEGINSWITH 'a'", "TRUEPREDICATE"),
        ("'ABC' CONTAINS[c] SELF", "SELF IN[c] 'abc'"),
        ("'\u{C9}a' LIKE[cd] SELF", "'e\u{301}A' LIKE[cd] SELF"),
        // Tests of literals by one another, each the last one's right side in another meaning.
        ("ANY {'x', 'ab'} LIKE 'a*' AND NOT ANY {'x', 'ab'} BEGINSWITH 'a*'", "TRUEPREDICATE"),
        ("ANY {'x', 'AB'} LIKE[c] 'a*' AND NOT ANY {'x', 'AB'} LIKE 'a*'", "TRUEPREDICATE"),
        ("ALL {'ab', 'ac'} LIKE 'a*' AND NOT ANY {'ab', 'ac'} LIKE 'b*'", "TRUEPREDICATE"),
        ("SELF == SELF", "TRUEPREDICATE"),
        ("SELF < SELF", "FALSEPREDICATE"),
        ("SELF <= SELF", "SELF != NULL"),
        ("SELF == 'b' AND SELF != 'c' AND SELF == 'b'", "NOT SELF == 'c' AND SELF == 'b'"),
        ("NOT (SELF == 'a' AND SELF == 'b')", "SELF != 'b' OR SELF != 'a'"),
        ("NOT (SELF == 'a' OR NOT SELF == 'b')", "SELF == 'b' AND SELF != 'a'"),
        ("SELF == 'a' AND TRUEPREDICATE", "SELF == 'a'"),
        ("SELF == 'a' OR TRUEPREDICATE", "TRUEPREDICATE"),
        ("SELF == 'a' AND FALSEPREDICATE", "FALSEPREDICATE"),
        ("(SELF == 'a' OR SELF == 'b') AND TRUEPREDICATE OR SELF == 'c'", "SELF IN {'c', 'b', 'a'}"),
    ]

    @Test("Words that mean one predicate have one code", arguments: laws)
    func law(left: String, right: String) throws {
        let (leftCode, rightCode) = (try Self.code(left), try Self.code(right))
        #expect(leftCode == rightCode)
        // One code could be wrong for both, so both predicates are evaluated, and the code too.
        let (leftPredicate, rightPredicate) = (try Predicate(format: left), try Predicate(format: right))
        #expect(leftPredicate.evaluate(with: nil) == rightPredicate.evaluate(with: nil))
        let literals =
            RandomPredicates.literals(of: leftPredicate.root) + RandomPredicates.literals(of: rightPredicate.root)
        var random = RandomPredicates(seed: 7)
        let near = (0..<60).compactMap { _ in random.subject(near: leftPredicate.root) }
        let longer = literals.map { $0 + "d" }
        for subject in ["", "a", "A", "b", "c", "ab", "abc", "ABC", "bcd"] + literals + longer + near {
            let expected = leftPredicate.evaluate(with: subject)
            #expect(rightPredicate.evaluate(with: subject) == expected, "\(subject.debugDescription)")
            #expect(Self.holds(leftCode, subject) == expected, "\(subject.debugDescription)")
        }
    }

    @Test("Elements that are the same are written once, however many they are")
    func repeatedElements() throws {
        let subjects = Array(repeating: "SELF", count: 1024).joined(separator: ",")
        let literal = String(repeating: "é", count: 400)
        var canonicalizer = Canonicalizer()
        for (format, same) in [
            ("ANY {\(subjects)} LIKE[cd] '\(literal)*'", "SELF LIKE[cd] '\(literal)*'"),
            ("'\(literal)' IN {\(subjects)}", "SELF == '\(literal)'"),
            ("ANY {\(subjects)} IN {'\(literal)1', '\(literal)2'}", "SELF IN {'\(literal)1', '\(literal)2'}"),
        ] {
            canonicalizer.write(try Predicate(format: format))
            #expect(canonicalizer.code == (try Self.code(same)))
            #expect(canonicalizer.code.capacity < 16 * 1024)
        }
    }

    /// Alike, and yet there is a subject that tells them apart.
    static let differences: [(String, String, String?)] = [
        ("SELF LIKE 'a*'", "SELF BEGINSWITH 'a'", "a\n"),
        ("NOT SELF < 'a'", "SELF >= 'a'", nil),
        ("SELF LIKE 'K'", "SELF == 'K'", "\u{212A}"),
        ("SELF BEGINSWITH 'e'", "SELF BEGINSWITH[n] 'e'", "e\u{301}"),
        ("'\u{DF}' CONTAINS[c] SELF", "'ss' CONTAINS[c] SELF", "s"),
    ]

    @Test("Words that do not mean the same have different codes", arguments: differences)
    func difference(left: String, right: String, subject: String?) throws {
        let (leftCode, rightCode) = (try Self.code(left), try Self.code(right))
        #expect(leftCode != rightCode)
        let (leftPredicate, rightPredicate) = (try Predicate(format: left), try Predicate(format: right))
        #expect(leftPredicate.evaluate(with: subject) != rightPredicate.evaluate(with: subject))
    }

    @Test("Only three scalars decompose into ASCII, and their letters are the exceptions")
    func onlyThemselves() {
        var found: Set<UInt8> = []
        // Beyond the second plane only ideographs decompose, into ideographs.
        for value in UInt32(0x80)..<0x2_0000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let bytes = Folding.fold(Array(String(scalar).utf8), into: .canonical).bytes
            if bytes.count == 1 { found.formUnion(bytes) }
        }
        #expect(found == Set((0..<0x80 as Range<UInt8>).filter { !Canonicalizer.isOnlyItself($0) }))
    }

    @Test("A code holds where its predicate holds", arguments: 0..<8 as Range<UInt64>)
    func evaluation(share: UInt64) {
        for seed in share * 1000..<(share + 1) * 1000 {
            var random = RandomPredicates(seed: seed)
            let tree = random.tree()
            guard let predicate = try? Predicate(root: tree, span: SourceSpan(offset: 0, length: 0)) else { continue }
            let (code, program) = (Canonicalizer.code(of: predicate), Program(predicate))
            for _ in 0..<6 {
                guard let text = random.subject(near: tree) else { continue }
                var subject = Subject(text)
                if Self.holds(code, text) != program.evaluate(&subject) {
                    Issue.record("seed \(seed): \(predicate) for \(text.debugDescription)")
                }
            }
        }
    }

    /// The order of texts is not that of their bytes: surrogates come before U+E000.
    @Test("A text between two bounds begins as both do", arguments: 0..<8 as Range<UInt64>)
    func rangesShareStarts(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let pieces = ["a", "A", "b", "é", "e\u{301}", "\u{301}", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{10000}", "😀"]
        var (start, shared) = ("", 0)
        func text() -> String { start + (0..<random.below(3)).map { _ in random.pick(pieces) }.joined() }
        for _ in 0..<1000 {
            start = random.chance(2) ? "" : random.pick(pieces) + random.pick(pieces)
            let (bounds, subject, options) = (
                [text(), text()], text(), random.pick(["", "[c]", "[d]", "[cd]", "[n]"])
            )
            let predicate = try Predicate(
                format: "SELF BETWEEN\(options) {%@, %@}", arguments: bounds.map { .string($0) })
            let code = Canonicalizer.code(of: predicate)
            guard Self.holds(code, subject), CanonicalCode.kind(code[0]) == .and else { continue }
            let form = CanonicalCode.form(code[CanonicalCode.listHeader])
            let folded = (bounds + [subject]).map { Folding.fold(Array($0.utf8), into: form).bytes }
            let common = zip(folded[0], folded[1]).prefix { $0 == $1 }.map(\.0)
            shared += common.isEmpty ? 0 : 1
            #expect(folded[2].starts(with: common), "\(predicate) for \(subject.debugDescription)")
        }
        #expect(shared > 20)
    }

    /// Pieces in which a wildcard, a quote, a mark that is dropped and one that is not stand side by side.
    private static let patternPieces = [
        "*", "*", "?", "\\", "a", "A", "\u{301}", "\u{3099}", "か", "が", "é", "ß", "s", "\n", "\u{FB03}",
    ]

    @Test(
        "A code with the subject on the right holds where its predicate does",
        arguments: 0..<8 as Range<UInt64>)
    func turned(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        func text() -> String { (0..<random.below(7)).map { _ in random.pick(Self.patternPieces) }.joined() }
        for _ in 0..<4000 {
            let (literal, subjectText) = (text(), text())
            let comparison = Predicate.Comparison(
                quantifier: nil,
                left: random.chance(4) ? .subject : .text(Predicate.Text(utf8: Array(literal.utf8))),
                operation: random.pick([.like, .like, .contains, .beginsWith, .endsWith]),
                options: Predicate.Options(rawValue: UInt8(random.below(16))), right: .subject)
            let predicate = try Predicate(root: .comparison(comparison), span: SourceSpan(offset: 0, length: 0))
            var subject = Subject(subjectText)
            #expect(
                Self.holds(Canonicalizer.code(of: predicate), subjectText) == Program(predicate).evaluate(&subject),
                "\(predicate) for \(subjectText.debugDescription)")
        }
    }

    @Test(
        "Only subjects up to a literal's length are patterns; all are searched for", arguments: [1023, 1024, 1025])
    func longTurned(length: Int) throws {
        let (text, literal) = (String(repeating: "a", count: length), String(repeating: "A", count: 1024))
        for format in ["SELF LIKE SELF", "'\(literal)' LIKE[c] SELF", "'\(literal)' CONTAINS[c] SELF"] {
            let predicate = try Predicate(format: format)
            #expect(Self.holds(Canonicalizer.code(of: predicate), text) == predicate.evaluate(with: text))
        }
    }

    static func holds(_ code: [UInt8], _ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            PreparedSubject.with(bytes, folds: true) { subject in
                code.withUnsafeBufferPointer { code in
                    var work = 0
                    return code.baseAddress.map { CanonicalCode.holds($0, for: subject, &work) } ?? false
                }
            }
        }
    }
}
