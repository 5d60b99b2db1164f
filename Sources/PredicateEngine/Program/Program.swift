/// A predicate compiled for many evaluations: literals folded, constants worked out, branches laid out flat.
///
///     SELF == "a" OR NOT (SELF BEGINSWITH "b" AND SELF != "bad")
///
///     0  test SELF == "a"              ┐ the register holds the value of
///     1  skip to 7 if true             │ what has been read so far
///     2  test SELF BEGINSWITH "b"      │
///     3  skip to 6 if false            │
///     4  test SELF == "bad"            │
///     5  negate                        │
///     6  negate                        ┘
///     7  end: the register is the answer
///
/// Invariant: skips go forward only, and to an index no greater than the number of instructions. So a run visits
/// each instruction at most once, and neither fails nor recurses.
public struct Program: Sendable {
    private let instructions: [Instruction]
    private let tests: [TextTest]

    /// Compiles a predicate. No part of a predicate could fail at this point.
    public init(_ predicate: Predicate) {
        var builder = ProgramBuilder()
        builder.emit(predicate.root)
        instructions = builder.instructions
        tests = builder.tests
    }

    /// Whether the predicate holds for the subject. The subject is passed `inout` because it keeps the forms that
    /// this program made it take, for the next program to use.
    public func evaluate(_ subject: inout Subject) -> Bool {
        var register = false
        var next = 0
        while next < instructions.count {
            let instruction = instructions[next]
            next += 1
            switch instruction {
            case .load(let value): register = value
            case .negate: register.toggle()
            case .test(let index): register = tests[index].holds(for: &subject)
            case .skip(let condition, let target): if register == condition { next = target }
            }
        }
        return register
    }
}

/// A step of a program. The register is a single truth value.
enum Instruction: Sendable {
    /// Sets the register.
    case load(Bool)
    /// Sets the register to the result of a test, by its index.
    case test(Int)
    /// Turns the register over.
    case negate
    /// Goes on at another instruction if the register has the value.
    case skip(ifRegisterIs: Bool, to: Int)
}

/// A comparison of two texts in one form, at least one of them the subject.
struct TextTest: Sendable {
    enum Relation: Sendable {
        /// The left side is the absent subject.
        case absent
        case equal, less, lessOrEqual, greater, greaterOrEqual, beginsWith, endsWith, contains, like
    }

    enum Side: Sendable {
        case subject
        case literal(FoldedText)
        case pattern(Glob)
    }

    var relation: Relation
    var form: Form
    var left: Side
    var right: Side

    /// Whether the subject has a part in it; if not, the result is always the same.
    var concernsSubject: Bool {
        switch (left, right) {
        case (.subject, _), (_, .subject): true
        default: false
        }
    }

    func holds(for subject: inout Subject) -> Bool {
        if relation == .absent { return subject.isAbsent }
        if subject.isAbsent, concernsSubject { return holdsForAbsentSubject }
        switch (left, right) {
        case (.subject, .literal(let literal)): return compare(subject.text(in: form), literal)
        case (.literal(let literal), .subject):
            if relation == .like { return subject.glob(in: form)?.matches(literal) ?? false }
            return compare(literal, subject.text(in: form))
        case (.subject, .subject):
            let text = subject.text(in: form)
            if relation == .like { return subject.glob(in: form)?.matches(text) ?? false }
            return compare(text, text)
        case (.subject, .pattern(let glob)): return glob.matches(subject.text(in: form))
        case (.literal(let literal), .pattern(let glob)): return glob.matches(literal)
        case (.literal(let left), .literal(let right)): return compare(left, right)
        case (.pattern, _): return false
        }
    }

    /// An absent subject is equal to itself, and in no other relation to anything.
    private var holdsForAbsentSubject: Bool {
        if case (.subject, .subject) = (left, right) { relation == .equal } else { false }
    }

    private func compare(_ left: FoldedText, _ right: FoldedText) -> Bool {
        switch relation {
        case .equal: left.bytes == right.bytes
        case .less: left.precedes(right)
        case .lessOrEqual: !right.precedes(left)
        case .greater: right.precedes(left)
        case .greaterOrEqual: !left.precedes(right)
        case .beginsWith: left.hasPrefix(right)
        case .endsWith: left.hasSuffix(right)
        case .contains: left.contains(right)
        // Absence has no text to compare, and patterns are matched by themselves.
        case .absent, .like: false
        }
    }
}
