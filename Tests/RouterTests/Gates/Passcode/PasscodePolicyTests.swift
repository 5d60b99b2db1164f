import RouterPlugin
import Testing

@testable import Router

struct PasscodePolicyTests {
    private struct Refusing: PasscodeValidator {
        let id: PluginID
        let word: String

        func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection? {
            passcode.revealed() == word ? PasscodeObjection(code: "word", message: "Not that one.") : nil
        }
    }

    private func fault(
        _ text: String, _ policy: PasscodePolicy, validators: [any PasscodeValidator] = []
    ) throws -> PasscodeFault? {
        let passcode = try Passcode(text)
        do {
            try policy.check(passcode, for: ApplicationID("com.example.Gallery"), validators: validators)
            return nil
        } catch {
            return error
        }
    }

    @Test func theDefaultsAreThoseOfTheReference() {
        let policy = PasscodePolicy()
        #expect(policy.minLength == 8 && policy.minUniqueChars == -1 && policy.retryLimit == -1)
        #expect(!policy.hasDigit && !policy.hasUpper && !policy.hasLower && !policy.hasSpecial && !policy.isDigitsOnly)
        #expect(policy.allowsBiometrics && !policy.noPasscodeRequired)
        #expect(policy.lockTimeoutSeconds == 300 && policy.expirationDays == 0)
    }

    @Test func everythingThatIsNotMetIsTold() throws {
        let policy = PasscodePolicy(
            minLength: 3, hasDigit: true, hasUpper: true, hasLower: true, hasSpecial: true, minUniqueChars: 3)
        let id = PluginID(unchecked: "com.example.word")
        let validators = [Refusing(id: id, word: "日"), Refusing(id: id, word: "other")]
        let application = ApplicationID("com.example.Gallery")
        let objection = PasscodeObjection(code: "word", message: "Not that one.")
        #expect(
            policy.faults(of: try Passcode("日"), for: application, validators: validators) == [
                .tooShort(minimum: 3), .noDigit, .noUpper, .noLower, .noSpecial, .tooFewUnique(minimum: 3),
                .refused(by: id, objection),
            ])
        #expect(policy.faults(of: try Passcode("aA1!"), for: application, validators: validators).isEmpty)
        var digits = policy
        digits.isDigitsOnly = true
        #expect(
            digits.faults(of: try Passcode("aaaa"), for: application, validators: validators)
                == [.notDigitsOnly, .tooFewUnique(minimum: 3)])
    }

    /// Characters are user-perceived: one may have many scalars, and many bytes.
    @Test(arguments: [
        ("1234567", false), ("12345678", true), ("ééééééé", false), ("éééééééé", true),
        ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", false),
        ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", true),
        ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", false), ("🇩🇪🇫🇷🇮🇹🇪🇸🇵🇱🇸🇪🇳🇴🇩🇰", true), ("日本語日本語日", false),
        ("z" + String(repeating: "\u{301}", count: 500), false),
    ])
    func lengthCountsCharacters(text: String, isLongEnough: Bool) throws {
        #expect(try fault(text, PasscodePolicy()) == (isLongEnough ? nil : .tooShort(minimum: 8)))
    }

    private typealias Field = any WritableKeyPath<PasscodePolicy, Bool> & Sendable

    private static let scalars: [(String, Field, Bool)] = [
        // Nd includes digits of any script; a number that is no decimal digit does not count.
        ("a0", \.hasDigit, true), ("a٣", \.hasDigit, true), ("a９", \.hasDigit, true),
        ("aⅫ", \.hasDigit, false), ("a²", \.hasDigit, false), ("ab", \.hasDigit, false),
        ("aB", \.hasUpper, true), ("aÉ", \.hasUpper, true), ("aЖ", \.hasUpper, true), ("aǅ", \.hasUpper, true),
        ("ab", \.hasUpper, false), ("a日", \.hasUpper, false), ("aⅫ", \.hasUpper, false),
        ("Ab", \.hasLower, true), ("Aß", \.hasLower, true), ("Aж", \.hasLower, true), ("AB", \.hasLower, false),
        ("Aª", \.hasLower, false), ("Aʰ", \.hasLower, false),
        ("a!", \.hasSpecial, true), ("a b", \.hasSpecial, true), ("a€", \.hasSpecial, true), ("a👍", \.hasSpecial, true),
        ("a\u{200D}", \.hasSpecial, true), ("a_", \.hasSpecial, true),
        ("ab", \.hasSpecial, false), ("a日", \.hasSpecial, false), ("e\u{301}x", \.hasSpecial, false),
        ("aⅫ²", \.hasSpecial, false), ("aʰ", \.hasSpecial, false), ("क\u{93E}", \.hasSpecial, false),
    ]

    @Test(arguments: scalars)
    private func scalarsAreOfTheirSets(text: String, field: Field, isMet: Bool) throws {
        var policy = PasscodePolicy(minLength: 1)
        #expect(try fault(text, policy) == nil)
        policy[keyPath: field] = true
        #expect((try fault(text, policy) == nil) == isMet)
    }

    @Test func digitsOnlyPassesOverWhatIsAskedOfLetters() throws {
        let policy = PasscodePolicy(
            minLength: 4, hasDigit: true, hasUpper: true, hasLower: true, hasSpecial: true, isDigitsOnly: true)
        #expect(try fault("1234", policy) == nil)
        #expect(try fault("١٢٣٤", policy) == nil)
        #expect(try fault("123a", policy) == .notDigitsOnly)
        #expect(try fault("12 4", policy) == .notDigitsOnly)
        #expect(try fault("123²", policy) == .notDigitsOnly)
    }

    @Test(arguments: [-1, 0, 1, 3, 4])
    func distinctScalarsAreCounted(minimum: Int) throws {
        let expected: PasscodeFault? = minimum > 3 ? .tooFewUnique(minimum: minimum) : nil
        #expect(try fault("aabbcc", PasscodePolicy(minLength: 1, minUniqueChars: minimum)) == expected)
        #expect(
            try fault("112233", PasscodePolicy(minLength: 1, isDigitsOnly: true, minUniqueChars: minimum)) == expected)
        // Two characters and three scalars: scalars count.
        #expect(try fault("e\u{301}b", PasscodePolicy(minLength: 1, minUniqueChars: minimum)) == expected)
    }

    /// Each step corrects the first fault, and the next one is reported.
    @Test func faultsComeInTheOrderOfTheReference() throws {
        let policy = PasscodePolicy(
            minLength: 6, hasDigit: true, hasUpper: true, hasLower: true, hasSpecial: true, minUniqueChars: 6)
        let first = Refusing(id: PluginID(unchecked: "x.first"), word: "ーーーー?!aA1")
        let second = Refusing(id: PluginID(unchecked: "x.second"), word: "ーーーー?!aA2")
        let objection = PasscodeObjection(code: "word", message: "Not that one.")
        let steps: [(String, PasscodeFault?)] = [
            ("ーーーーー", .tooShort(minimum: 6)), ("ーーーーーーーー", .noDigit), ("ーーーーーーー1", .noUpper),
            ("ーーーーーーA1", .noLower), ("ーーーーーaA1", .noSpecial), ("ーーーー!aA1", .tooFewUnique(minimum: 6)),
            ("ーーーー?!aA1", .refused(by: first.id, objection)), ("ーーーー?!aA2", .refused(by: second.id, objection)),
            ("ーーーー?!aA3", nil),
        ]
        for (text, expected) in steps {
            #expect(try fault(text, policy, validators: [first, second]) == expected)
        }
        // Validators see digits too, after all rules of the policy.
        var digits = policy
        digits.isDigitsOnly = true
        let year = Refusing(id: PluginID(unchecked: "x.year"), word: "123456")
        #expect(try fault("ーーーーーー1", digits, validators: [year]) == .notDigitsOnly)
        #expect(try fault("1111111", digits, validators: [year]) == .tooFewUnique(minimum: 6))
        #expect(try fault("123456", digits, validators: [year]) == .refused(by: year.id, objection))
    }

    @Test func everyFaultNamesItsRule() {
        let validator = PluginID(unchecked: "x.y")
        let refused = PasscodeFault.refused(by: validator, PasscodeObjection(code: "a", message: "b"))
        let faults: [PasscodeFault] = [
            .tooShort(minimum: 1), refused, .notDigitsOnly, .noDigit, .noUpper, .noLower, .noSpecial,
            .tooFewUnique(minimum: 1),
        ]
        #expect(
            faults.map(\.rule) == [
                "minLength", "x.y", "isDigitsOnly", "hasDigit", "hasUpper", "hasLower", "hasSpecial", "minUniqueChars",
            ])
    }
}
