import PredicateEngine
import RouterPlugin

/// A comparison of a candidate's value with literals, in the form that costs least.
///
///     candidate.activationState IN {…}     a table of the four states
///     candidate.role == 'wall'             bytes
///     candidate.secondsSinceActive < 60    whole numbers
///     candidate.session LIKE[c] 'win-*'    the predicate itself, which allocates
enum CandidateTest: Sendable {
    /// A truth value for each activation state, by its raw value.
    case states([Bool])
    /// The answers for candidates that prefer the content, and for others.
    case prefers(yes: Bool, no: Bool)
    case text(TextField, TextTest, PayloadPredicate)
    case number(NumberField, Predicate.Operator, Int64)
    case predicate(PayloadPredicate)

    enum TextField: String, Sendable { case session, device, role, configuration }

    enum NumberField: String, Sendable { case secondsSinceActive, preferenceLevel }

    /// A test of bytes.
    enum TextTest: Sendable {
        case isOne(of: [[UInt8]], expected: Bool)
        case hasPrefix([UInt8])
        case hasSuffix([UInt8])
        case contains([UInt8])
    }

    init(_ comparison: Predicate.Comparison) {
        let predicate = PayloadPredicate(part: .comparison(comparison))
        let fields = Self.fields(in: comparison)
        if fields == ["activationState"] {
            self = .states(
                ActivationState.allCases.map { state in
                    predicate.evaluate(with: Self.candidate("activationState", .string(state.name)))
                })
        } else if fields == ["prefers"] {
            self = .prefers(
                yes: predicate.evaluate(with: Self.candidate("prefers", .boolean(true))),
                no: predicate.evaluate(with: Self.candidate("prefers", .boolean(false))))
        } else {
            self = Self.direct(comparison, predicate) ?? .predicate(predicate)
        }
    }

    func holds(for candidate: Candidate, at now: Timestamp) -> Bool {
        switch self {
        case .states(let answers): return answers[Int(candidate.activationState.rawValue)]
        case .prefers(let yes, let no): return candidate.tier == .prefers ? yes : no
        case .text(let field, let test, let predicate):
            let answer =
                switch field {
                case .session: test.holds(for: candidate.session.text)
                case .device: test.holds(for: candidate.device?.text)
                case .role: test.holds(for: candidate.role)
                case .configuration: test.holds(for: candidate.configuration)
                }
            return answer ?? Self.evaluate(predicate, candidate, now)
        case .number(.secondsSinceActive, let operation, let literal):
            return Self.compare(candidate.secondsSinceActive(at: now), operation, literal)
        case .number(.preferenceLevel, let operation, let literal):
            return Self.compare(Int64(candidate.preferenceLevel), operation, literal)
        case .predicate(let predicate): return Self.evaluate(predicate, candidate, now)
        }
    }

    /// The test of a comparison `field operator literal` that needs no values of predicates; nil for others.
    private static func direct(_ comparison: Predicate.Comparison, _ predicate: PayloadPredicate) -> CandidateTest? {
        guard comparison.quantifier == nil, comparison.options.isEmpty, case .path(let path) = comparison.left,
            let name = RuleFields.names(path).last
        else { return nil }
        if let field = NumberField(rawValue: name), case .number(.integer(let literal)) = comparison.right {
            switch comparison.operation {
            case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
                return .number(field, comparison.operation, literal)
            default: return nil
            }
        }
        guard let field = TextField(rawValue: name) else { return nil }
        return TextTest(comparison).map { .text(field, $0, predicate) }
    }

    private static func compare(_ value: Int64?, _ operation: Predicate.Operator, _ literal: Int64) -> Bool {
        // NULL is in no order with anything, and differs from every number.
        guard let value else { return operation == .notEqual }
        return switch operation {
        case .equal: value == literal
        case .notEqual: value != literal
        case .less: value < literal
        case .lessOrEqual: value <= literal
        case .greater: value > literal
        case .greaterOrEqual: value >= literal
        default: false
        }
    }

    private static func evaluate(_ predicate: PayloadPredicate, _ candidate: Candidate, _ now: Timestamp) -> Bool {
        predicate.evaluate(with: .object(PayloadObject([("candidate", candidate.value(at: now))])))
    }

    private static func candidate(_ field: String, _ value: PayloadValue) -> PayloadValue {
        .object(PayloadObject([("candidate", .object(PayloadObject([(field, value)])))]))
    }

    /// The names of the candidate's values in a comparison.
    private static func fields(in comparison: Predicate.Comparison) -> Set<String> {
        func names(_ operand: Predicate.Operand) -> [String] {
            switch operand {
            case .path(let path): RuleFields.names(path).last.map { [$0] } ?? []
            case .aggregate(let elements): elements.flatMap(names)
            default: []
            }
        }
        return Set(names(comparison.left) + names(comparison.right))
    }
}

extension CandidateTest.TextTest {
    /// Nil for comparisons that are more than a look at bytes.
    fileprivate init?(_ comparison: Predicate.Comparison) {
        switch (comparison.operation, comparison.right) {
        case (.equal, .text(let text)): self = .isOne(of: [text.utf8], expected: true)
        case (.notEqual, .text(let text)): self = .isOne(of: [text.utf8], expected: false)
        case (.isIn, .aggregate(let elements)):
            let texts = elements.compactMap { element in
                if case .text(let text) = element { text.utf8 } else { nil }
            }
            guard texts.count == elements.count else { return nil }
            self = .isOne(of: texts, expected: true)
        case (.beginsWith, .text(let text)) where Self.isPlain(text.utf8): self = .hasPrefix(text.utf8)
        case (.endsWith, .text(let text)) where Self.isPlain(text.utf8): self = .hasSuffix(text.utf8)
        case (.contains, .text(let text)) where Self.isPlain(text.utf8): self = .contains(text.utf8)
        default: return nil
        }
    }

    /// Whether the bytes are characters by themselves, wherever they stand in others of the kind.
    private static func isPlain(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { (0x20..<0x7F).contains($0) }
    }

    /// Whether the text passes, nil being no text; nil if bytes do not tell.
    fileprivate func holds(for text: String?) -> Bool? {
        guard let text else {
            if case .isOne(_, let expected) = self { return !expected }
            return false
        }
        switch self {
        case .isOne(let texts, let expected):
            for other in texts where text.utf8.elementsEqual(other) { return expected }
            return !expected
        case .hasPrefix(let prefix): return Self.isPlain(text.utf8) ? text.utf8.starts(with: prefix) : nil
        case .hasSuffix(let suffix):
            return Self.isPlain(text.utf8) ? text.utf8.suffix(suffix.count).elementsEqual(suffix) : nil
        case .contains(let part):
            guard Self.isPlain(text.utf8) else { return nil }
            var rest = text.utf8[...]
            while rest.count >= part.count {
                if rest.starts(with: part) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
