import Testing

@testable import PredicateEngine

/// `description` is the predicate's other name: it reads back into the same predicate.
@Suite struct CanonicalTextTests {
    @Test(arguments: [
        ("self='a'", #"SELF == 'a'"#),
        ("SELF <> 'it\\'s'", #"SELF != 'it\'s'"#),
        ("SELF == 'say \"hi\" \\\\'", #"SELF == 'say "hi" \\'"#),
        ("SELF=<'a'||SELF=>'b'", #"SELF <= 'a' OR SELF >= 'b'"#),
        ("SELF contains [lDc] 'x'", #"SELF CONTAINS[cdl] 'x'"#),
        ("((SELF == 'a'))", #"SELF == 'a'"#),
        ("(SELF == 'a' OR SELF == 'b') AND SELF == 'c'", #"(SELF == 'a' OR SELF == 'b') AND SELF == 'c'"#),
        ("SELF == 'a' OR (SELF == 'b' AND SELF == 'c')", #"SELF == 'a' OR SELF == 'b' AND SELF == 'c'"#),
        ("SELF == 'a' OR (SELF == 'b' OR SELF == 'c')", #"SELF == 'a' OR SELF == 'b' OR SELF == 'c'"#),
        ("!(SELF == 'a' && TRUEPREDICATE)", #"NOT (SELF == 'a' AND TRUEPREDICATE)"#),
        ("NOT NOT (SELF == 'a')", #"NOT NOT SELF == 'a'"#),
        ("SOME {1,yes,nil,{}} == SELF", "ANY {1, TRUE, NULL, {}} == SELF"),
        ("1 BETWEEN {-1,2.50}", "1 BETWEEN {-1, 2.5}"),
        ("1e3 == -0.0", "1000.0 == 0.0"),
        ("-9223372036854775808 < 9223372036854775808", "-9223372036854775808 < 9.223372036854776e+18"),
        ("0xff == 0b11111111", "255 == 255"),
        ("SELF == '\\n\\0001\\u202e\\ud83d\\ude00'", #"SELF == '\u000A\u00001\u202E😀'"#),
    ])
    func isCanonical(format: String, canonical: String) throws {
        #expect(try Predicate(format: format).description == canonical)
    }

    @Test func readsBackForEveryAcceptedVector() throws {
        for vector in try Fixture.vectors() {
            guard let predicate = try? Predicate(format: vector.predicate) else { continue }
            let again = try Predicate(format: predicate.description)
            #expect(again == predicate, "\(vector.id)")
            #expect(again.description == predicate.description, "\(vector.id)")
        }
    }

    @Test func readsBackForRandomTrees() throws {
        for seed in UInt64(1)...3000 {
            var source = RandomPredicates(seed: seed)
            let tree = source.tree()
            let text = Printer.text(of: tree)
            let again = try Predicate(format: text)
            #expect(again.root == tree, "seed \(seed): \(text)")
        }
    }

    /// Every scalar below U+2100 and one of each kind beyond survives in a literal.
    @Test func everyCharacterSurvives() throws {
        let values: [UInt32] = Array(0...0x20FF) + [0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600, 0x10FFFF]
        for scalar in values.compactMap(Unicode.Scalar.init) {
            let predicate = try Predicate(format: "SELF == %@", arguments: [.string("a\(scalar)b")])
            #expect(try Predicate(format: predicate.description) == predicate)
            #expect(predicate.evaluate(with: "a\(scalar)b"))
        }
    }

    @Test func hidesNothing() throws {
        let predicate = try Predicate(format: "SELF == 'a\u{202E}b\u{200B}\u{7F}\u{85}'")
        #expect(predicate.description == #"SELF == 'a\u202Eb\u200B\u007F\u0085'"#)
    }
}
