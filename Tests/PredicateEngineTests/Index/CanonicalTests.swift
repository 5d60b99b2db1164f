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
    }

    /// Alike, and yet there is a subject that tells them apart.
    static let differences: [(String, String, String?)] = [
        ("SELF LIKE 'a*'", "SELF BEGINSWITH 'a'", "a\n"),
        ("NOT SELF < 'a'", "SELF >= 'a'", nil),
        ("SELF LIKE 'K'", "SELF == 'K'", "\u{212A}"),
        ("SELF BEGINSWITH 'e'", "SELF BEGINSWITH[n] 'e'", "e\u{301}"),
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

    static func holds(_ code: [UInt8], _ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            PreparedSubject.with(bytes, folds: true) { subject in
                code.withUnsafeBufferPointer { code in
                    code.baseAddress.map { CanonicalCode.holds($0, for: subject) } ?? false
                }
            }
        }
    }
}
