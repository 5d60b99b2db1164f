public import RouterPlugin

/// The laws that every passcode validator must keep, whatever it objects to.
///
/// Use it from any test framework:
///
///     #expect(PasscodeValidatorSuite.violations(of: MyValidator(), refusing: ["password"], seed: 1) == [])
///
/// The suite gives a validator odd and hostile passcodes and some that it has to refuse, and checks that
/// 1. the name is well-formed;
/// 2. the same arguments give the same answer, given twice and given in another order;
/// 3. every code is in kebab-case, and every message one line of 1 to `maximumMessageLength` bytes;
/// 4. no code and no message quotes the passcode, in whatever case;
/// 5. the passcodes that it has to refuse are refused.
///
/// A validator that traps ends the test process, which is a finding too.
public enum PasscodeValidatorSuite: Sendable {
    /// The maximum length of a message in bytes.
    public static let maximumMessageLength = 200

    /// The laws that the validator breaks, one sentence each; empty if it conforms.
    ///
    /// - Parameters:
    ///   - validator: The validator under test.
    ///   - refused: Passcodes that the validator objects to for any application, at least one; each must be a passcode.
    ///   - seed: Selects the passcodes.
    public static func violations(of validator: any PasscodeValidator, refusing refused: [String], seed: UInt64)
        -> [String]
    {
        var violations = Violations()
        violations.requireWellFormed(validator.id, again: validator.id)
        violations.require(!refused.isEmpty, "examples: there must be at least one that is refused")
        var generator = SeededGenerator(seed: seed)
        var questions: [(text: String, mustObject: Bool)] = refused.map { ($0, true) }
        for text in passcodes(using: &generator) { questions.append((text, false)) }
        let application = ApplicationID(unchecked: "com.example.Gallery")
        var asked: [(passcode: Passcode, answer: PasscodeObjection?)] = []
        for (place, question) in questions.enumerated() {
            guard let passcode = try? Passcode(question.text) else {
                violations.add("examples: number \(place) is no passcode")
                continue
            }
            let answer = validator.objection(to: passcode, for: application)
            asked.append((passcode, answer))
            violations.require(!question.mustObject || answer != nil, "examples: number \(place) is not refused")
            violations.require(
                validator.objection(to: passcode, for: application) == answer,
                "determinism: asked twice, the validator answers differently")
            if let answer { check(answer, to: question.text, into: &violations) }
        }
        for (passcode, answer) in asked.shuffled(using: &generator) {
            violations.require(
                validator.objection(to: passcode, for: application) == answer,
                "determinism: the answer depends on earlier questions")
        }
        return violations.list
    }

    private static func check(_ objection: PasscodeObjection, to text: String, into violations: inout Violations) {
        let message = objection.message
        violations.require(isKebabCase(objection.code), "objection: the code is not in kebab-case")
        violations.require(!message.isEmpty, "objection: the message is empty")
        violations.require(
            message.utf8.count <= maximumMessageLength,
            "objection: the message is longer than \(maximumMessageLength) bytes")
        violations.require(isOneLine(message), "objection: the message has control characters")
        // A passcode of a few letters may occur in any sentence.
        guard text.count >= 4 else { return }
        let quotes = [objection.code, message].contains { $0.lowercased().contains(text.lowercased()) }
        violations.require(!quotes, "objection: the passcode is quoted")
    }

    private static func passcodes(using generator: inout SeededGenerator) -> [String] {
        let odd = [
            "0", "00000000", "12345678", "PASSWORD", "correct horse battery staple", "é", "e\u{301}", "٠١٢٣٤٥٦٧",
            "日本語日本語日本", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "\u{202E}abcdefgh", "'; DROP TABLE sessions; --", "\u{200B}\u{200B}\u{200B}\u{200B}",
            String(repeating: "x", count: Passcode.maximumBytes), "z" + String(repeating: "\u{301}", count: 500),
        ]
        let random = (0..<200).map { _ in
            let length = Int.random(in: 1...40, using: &generator)
            return String(
                String.UnicodeScalarView(
                    (0..<length).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0x20...0x3FF, using: &generator)) }
                        .filter { $0.properties.generalCategory != .control }))
        }
        return odd + random.filter { !$0.isEmpty }
    }
}
