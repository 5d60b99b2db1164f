import PredicateEngine
import RouterPlugin

/// A comparison that names the candidate, and the values of the notification, as the tests that it comes to.
///
///     candidate.role LIKE[c] payload.roles[FIRST]    one comparison of texts
///     candidate.session IN payload.targets           the bytes of the texts in the array
///     candidate.preferenceLevel BETWEEN {1, priority}    two tests of a number
///     candidate.userInfo.battery > 50                its predicate, over an object with all values
///
/// The rules are those of `PayloadPredicate`: of values that an operator does not take, nothing holds.
struct CandidateComparison {
    private let comparison: Predicate.Comparison
    /// The values of the notification, as an object.
    private let notification: PayloadValue
    private let read: Int

    /// - Parameters:
    ///   - notification: The values that the comparison may name beside those of the candidate, as an object.
    ///   - read: The size of the payload's values among them.
    init(_ comparison: Predicate.Comparison, under notification: PayloadValue = .null, reading read: Int = 0) {
        (self.comparison, self.notification, self.read) = (comparison, notification, read)
    }

    /// A side of a comparison: a field, a value that is known, or a list with fields in it.
    private enum Term {
        case field(CandidateField)
        case value(PayloadValue)
        case list([Term])

        /// The elements of a list; nil for everything else.
        var elements: [Term]? {
            switch self {
            case .list(let terms): terms
            case .value(.array(let values)): values.map { .value($0) }
            default: nil
            }
        }

        func add(to fields: inout Set<CandidateField>) {
            switch self {
            case .field(let field): fields.insert(field)
            case .list(let terms): for term in terms { term.add(to: &fields) }
            case .value: break
            }
        }

        func replacing(_ field: CandidateField, by value: PayloadValue) -> Term {
            switch self {
            case .field(field): .value(value)
            case .list(let terms): Self.joined(terms.map { $0.replacing(field, by: value) })
            default: self
            }
        }

        /// A list; a value if all of its elements are.
        static func joined(_ terms: [Term]) -> Term {
            var values: [PayloadValue] = []
            for case .value(let value) in terms { values.append(value) }
            return values.count == terms.count ? .value(.array(values)) : .list(terms)
        }
    }

    var condition: CandidateCondition {
        if [comparison.left, comparison.right].contains(where: Self.readsUserInfo) {
            return .test(.values(PayloadPredicate(part: .comparison(comparison)), beside: notification, reading: read))
        }
        let (left, right) = (term(comparison.left), term(comparison.right))
        var fields: Set<CandidateField> = []
        left.add(to: &fields)
        right.add(to: &fields)
        guard fields.count == 1, let field = fields.first else { return quantified(left, right) }
        func answer(_ value: PayloadValue) -> Bool {
            quantified(left.replacing(field, by: value), right.replacing(field, by: value)).constant ?? false
        }
        return switch field {
        case .text(.activationState): .test(.states(ActivationState.allCases.map { answer(.string($0.name)) }))
        case .number(.prefers): .test(.prefers(yes: answer(.boolean(true)), no: answer(.boolean(false))))
        default: quantified(left, right)
        }
    }

    private static func readsUserInfo(_ operand: Predicate.Operand) -> Bool {
        switch operand {
        case .path(let path): RuleFields.isOfUserInfo(path)
        case .aggregate(let elements): elements.contains(where: readsUserInfo)
        default: false
        }
    }

    private func term(_ operand: Predicate.Operand) -> Term {
        switch operand {
        // The schema of conditions lets no path into the candidate lead to anything but a field.
        case .path(let path) where RuleFields.isOfCandidate(path):
            CandidateField(path).map { .field($0) } ?? .value(.null)
        case .path(let path): .value(notification.value(at: path))
        case .text(let text): .value(.text(text))
        case .number(let number): .value(.number(number))
        case .boolean(let value): .value(.boolean(value))
        case .aggregate(let operands): Term.joined(operands.map(term))
        case .null, .subject: .value(.null)
        }
    }

    private func quantified(_ left: Term, _ right: Term) -> CandidateCondition {
        guard let quantifier = comparison.quantifier else { return condition(left, comparison.operation, right) }
        guard let elements = left.elements else { return .constant(quantifier == .notAny) }
        if quantifier != .all, comparison.operation == .equal, comparison.options.isEmpty {
            let isAny = isAny(of: elements, right)
            return quantifier == .any ? isAny : isAny.negated
        }
        let conditions = elements.lazy.map { element in
            CandidateCondition.all(of: [limit(right), condition(element, comparison.operation, right)])
        }
        switch quantifier {
        case .any: return .any(of: conditions)
        case .all: return .all(of: conditions)
        case .notAny: return CandidateCondition.any(of: conditions).negated
        }
    }

    /// Whether the text in which `ANY path IN path` looks for elements is short enough for it.
    private func limit(_ right: Term) -> CandidateCondition {
        guard comparison.operation == .isIn, case (.path, .path) = (comparison.left, comparison.right) else {
            return .constant(true)
        }
        switch right {
        case .value(.text(let text)): return .constant(text.utf8.count <= PredicateLimits.searchedBytes)
        case .field(.text(let field)): return .test(.isShort(field, PredicateLimits.searchedBytes))
        default: return .constant(true)
        }
    }

    private func condition(_ left: Term, _ operation: Predicate.Operator, _ right: Term) -> CandidateCondition {
        if case (.value(let left), .value(let right)) = (left, right) {
            return .constant(operation.holds(left, right, comparison.options))
        }
        switch operation {
        case .equal: return equal(left, right, comparison.options)
        case .notEqual: return equal(left, right, comparison.options).negated
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return ordered(left, operation, right)
        case .between:
            guard let bounds = right.elements, bounds.count == 2 else { return .constant(false) }
            return .all(of: [
                condition(left, .greaterOrEqual, bounds[0]), condition(left, .lessOrEqual, bounds[1]),
            ])
        case .isIn: return right.elements.map { isAny(of: $0, left) } ?? related(left, operation, right)
        case .contains: return left.elements.map { isAny(of: $0, right) } ?? related(left, operation, right)
        case .beginsWith, .endsWith, .like: return related(left, operation, right)
        }
    }

    /// Whether an element of a list is a value, without options. The texts among the elements are one test.
    private func isAny(of elements: [Term], _ value: Term) -> CandidateCondition {
        guard case .field(.text(let field)) = value else {
            return .any(of: elements.lazy.map { equal($0, value, []) })
        }
        var texts: [[UInt8]] = []
        var others: [Term] = []
        for element in elements {
            if case .value(.text(let text)) = element { texts.append(text.utf8) } else { others.append(element) }
        }
        let conditions = others.map { equal($0, value, []) }
        return .any(of: texts.isEmpty ? conditions : [.test(.isOne(field, of: texts))] + conditions)
    }

    private func equal(_ left: Term, _ right: Term, _ options: Predicate.Options) -> CandidateCondition {
        switch (left, right) {
        case (.value(let left), .value(let right)):
            return .constant(Predicate.Operator.equal.holds(left, right, options))
        case (.field(let left), .field(let right)):
            let areAbsent = CandidateCondition.all([.test(.absent(left)), .test(.absent(right))])
            switch (left, right) {
            case (.text(let left), .text(let right)):
                return .any(of: [areAbsent, .test(.texts(left, TextComparison(.equal, options), right))])
            case (.number(let left), .number(let right)):
                return .any(of: [areAbsent, .test(.numbers(left, .equal, right))])
            default: return areAbsent
            }
        case (.field(let field), .value(let value)), (.value(let value), .field(let field)):
            switch (field, value) {
            case (_, .null): return .test(.absent(field))
            case (.text(let field), .text(let text)):
                let isExact = options.subtracting(.localeAware).isEmpty || options.contains(.normalized)
                return .test(
                    isExact ? .isOne(field, of: [text.utf8]) : .text(field, TextComparison(.equal, options, text)))
            case (.number(let field), _):
                return value.number.map { .test(.number(field, .equal, $0)) } ?? .constant(false)
            default: return .constant(false)
            }
        case (.list, .field), (.field, .list): return .constant(false)
        case (.list(let terms), let other), (let other, .list(let terms)):
            guard let elements = other.elements, elements.count == terms.count else { return .constant(false) }
            return .all(of: zip(terms, elements).lazy.map { equal($0, $1, []) })
        }
    }

    private func ordered(_ left: Term, _ operation: Predicate.Operator, _ right: Term) -> CandidateCondition {
        switch (left, right) {
        case (.field(.number(let left)), .field(.number(let right))): .test(.numbers(left, operation, right))
        case (.field(.number(let field)), .value(let value)):
            value.number.map { .test(.number(field, operation, $0)) } ?? .constant(false)
        case (.value(let value), .field(.number(let field))):
            value.number.map { .test(.number(field, operation.mirrored, $0)) } ?? .constant(false)
        default: related(left, operation, right)
        }
    }

    /// A relation of texts.
    private func related(_ left: Term, _ operation: Predicate.Operator, _ right: Term) -> CandidateCondition {
        switch (left, right) {
        case (.field(.text(let left)), .field(.text(let right))):
            .test(.texts(left, TextComparison(operation, comparison.options), right))
        case (.field(.text(let field)), .value(.text(let text))):
            .test(.text(field, TextComparison(operation, comparison.options, text)))
        case (.value(.text(let text)), .field(.text(let field))):
            .test(.text(field, TextComparison(text, operation, comparison.options)))
        default: .constant(false)
        }
    }
}

extension Predicate.Operator {
    /// The order with its sides exchanged.
    fileprivate var mirrored: Predicate.Operator {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: self
        }
    }
}
