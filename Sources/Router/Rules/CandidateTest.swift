import PredicateEngine
import RouterPlugin

/// The part of a condition that is left of it for candidates: everything else of it is known.
///
/// Asking it about a candidate takes nothing from the heap, with the exceptions that `TextComparison` names, and but for
/// conditions that name the candidate's `userInfo`.
enum CandidateCondition: Sendable {
    case constant(Bool)
    case test(CandidateTest)
    indirect case not(CandidateCondition)
    case all([CandidateCondition])
    case any([CandidateCondition])

    /// The answer for every candidate; nil if it depends on the candidate.
    var constant: Bool? { if case .constant(let value) = self { value } else { nil } }

    func holds(for candidate: Candidate, at now: Timestamp) -> Bool {
        switch self {
        case .constant(let value): return value
        case .test(let test): return test.holds(for: candidate, at: now)
        case .not(let condition): return !condition.holds(for: candidate, at: now)
        case .all(let conditions):
            for condition in conditions where !condition.holds(for: candidate, at: now) { return false }
            return true
        case .any(let conditions):
            for condition in conditions where condition.holds(for: candidate, at: now) { return true }
            return false
        }
    }

    /// About the most steps for a candidate, by the bytes of literals and the size of values.
    var steps: Int {
        switch self {
        case .constant: 0
        case .test(.isOne(_, let texts)): 8 * texts.count
        case .test(.text(_, let comparison)): 64 + 2 * comparison.literalBytes
        case .test(.texts): 256
        case .test(.values(_, _, let read)): 2048 + 4 * read
        case .test: 4
        case .not(let condition): condition.steps
        case .all(let conditions), .any(let conditions): conditions.reduce(4) { $0 + $1.steps }
        }
    }

    var negated: CandidateCondition {
        switch self {
        case .constant(let value): .constant(!value)
        case .not(let condition): condition
        default: .not(self)
        }
    }

    /// All of the conditions. They are made one after the other, and no more of them after one that never holds.
    static func all(of conditions: some Sequence<CandidateCondition>) -> CandidateCondition {
        joined(conditions, unless: false) { .all($0) }
    }

    /// Any of the conditions. They are made one after the other, and no more of them after one that always holds.
    static func any(of conditions: some Sequence<CandidateCondition>) -> CandidateCondition {
        joined(conditions, unless: true) { .any($0) }
    }

    private static func joined(
        _ conditions: some Sequence<CandidateCondition>, unless decisive: Bool,
        _ join: ([CandidateCondition]) -> CandidateCondition
    ) -> CandidateCondition {
        var open: [CandidateCondition] = []
        for condition in conditions {
            if condition.constant == decisive { return .constant(decisive) }
            if condition.constant == nil { open.append(condition) }
        }
        switch open.count {
        case 0: return .constant(!decisive)
        case 1: return open[0]
        default: return join(open)
        }
    }
}

/// A test of one or two values of a candidate.
///
///     candidate.activationState IN {…}     a table of the four states
///     candidate.role == 'wall'             bytes
///     candidate.session LIKE[c] 'win-*'    a comparison of texts
///     candidate.secondsSinceActive < 60    numbers
///
/// A value that is `NULL` passes no test but `absent`.
enum CandidateTest: Sendable {
    /// A truth value for each activation state, by its raw value.
    case states([Bool])
    /// The answers for candidates that prefer the content, and for others.
    case prefers(yes: Bool, no: Bool)
    /// Whether the field is `NULL`.
    case absent(CandidateField)
    case isOne(TextField, of: [[UInt8]])
    case text(TextField, TextComparison)
    case texts(TextField, TextComparison, TextField)
    /// Whether the text has at most so many bytes.
    case isShort(TextField, Int)
    case number(NumberField, Predicate.Operator, Predicate.Number)
    case numbers(NumberField, Predicate.Operator, NumberField)
    /// A predicate over the values of the notification, an object or nothing, and all values of the candidate.
    case values(PayloadPredicate, beside: PayloadValue, reading: Int)

    func holds(for candidate: Candidate, at now: Timestamp) -> Bool {
        switch self {
        case .states(let answers): return answers[Int(candidate.activationState.rawValue)]
        case .prefers(let yes, let no): return candidate.tier == .prefers ? yes : no
        case .absent(.text(let field)): return field.value(of: candidate) == nil
        case .absent(.number(let field)): return field.value(of: candidate, at: now) == nil
        case .isOne(let field, let texts):
            guard let text = field.value(of: candidate) else { return false }
            for other in texts where text.utf8.elementsEqual(other) { return true }
            return false
        case .text(let field, let comparison):
            return field.value(of: candidate).map { comparison.holds(for: $0) } ?? false
        case .texts(let left, let comparison, let right):
            guard let left = left.value(of: candidate), let right = right.value(of: candidate) else { return false }
            return comparison.holds(left, right)
        case .isShort(let field, let limit):
            return field.value(of: candidate).map { $0.utf8.count <= limit } ?? false
        case .number(let field, let operation, let literal):
            return field.value(of: candidate, at: now).map { operation.holds(.integer($0), literal) } ?? false
        case .numbers(let left, let operation, let right):
            guard let left = left.value(of: candidate, at: now), let right = right.value(of: candidate, at: now)
            else { return false }
            return operation.holds(.integer(left), .integer(right))
        case .values(let predicate, let notification, _):
            var members = [(name: "candidate", value: candidate.value(at: now))]
            if case .object(let object) = notification {
                members += object.members.map { ($0.name.string, $0.value) }
            }
            return predicate.evaluate(with: .object(PayloadObject(members)))
        }
    }
}

/// A value of a candidate that conditions may name.
enum CandidateField: Hashable, Sendable {
    case text(TextField)
    case number(NumberField)
}

enum TextField: String, Sendable {
    case session, device, role, configuration, activationState

    func value(of candidate: Candidate) -> String? {
        switch self {
        case .session: candidate.session.text
        case .device: candidate.device?.text
        case .role: candidate.role
        case .configuration: candidate.configuration
        case .activationState: candidate.activationState.name
        }
    }
}

/// Truth values compare with numbers as 1 and 0.
enum NumberField: String, Sendable {
    case secondsSinceActive, preferenceLevel, prefers

    func value(of candidate: Candidate, at now: Timestamp) -> Int64? {
        switch self {
        case .secondsSinceActive: candidate.secondsSinceActive(at: now)
        case .preferenceLevel: Int64(candidate.preferenceLevel)
        case .prefers: candidate.tier == .prefers ? 1 : 0
        }
    }
}

extension CandidateField {
    /// The field at the end of a path such as `candidate.role`.
    init?(_ path: PayloadPath) {
        let names = RuleFields.names(path)
        guard path.steps.count == 2, names.count == 2, names[0] == "candidate" else { return nil }
        if let field = TextField(rawValue: names[1]) {
            self = .text(field)
        } else if let field = NumberField(rawValue: names[1]) {
            self = .number(field)
        } else {
            return nil
        }
    }
}

extension Predicate.Operator {
    fileprivate func holds(_ left: Predicate.Number, _ right: Predicate.Number) -> Bool {
        switch self {
        case .equal: left.isSame(as: right)
        case .notEqual: !left.isSame(as: right)
        case .less: left.isLess(than: right)
        case .lessOrEqual: !right.isLess(than: left)
        case .greater: right.isLess(than: left)
        case .greaterOrEqual: !left.isLess(than: right)
        default: false
        }
    }
}
