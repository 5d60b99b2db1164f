import PredicateEngine
import RouterPlugin

/// The condition of a declared rule: a predicate over the notification and the candidate, cut into the parts that depend on
/// either.
///
///     priority < 10  AND  payload.level == 'info'  AND  candidate.role == 'wall'
///     └────────── once a notification ──────────┘       └─ once a candidate ──┘
///
/// The parts of the notification are evaluated before its first candidate; a condition that fails by them is asked about no
/// candidate.
struct RuleCondition: Sendable {
    /// The canonical text.
    let text: String
    private let root: Part

    init(_ predicate: PayloadPredicate) {
        text = predicate.description
        root = Part(predicate.root)
    }

    /// Reads a condition.
    init(format: String) throws(PredicateError) {
        self.init(try PayloadPredicate(format: format, over: RuleFields.schema))
    }

    /// Whether it names a value of the candidate.
    var readsCandidate: Bool { root.readsCandidate }

    /// The condition of candidates under the facts of one notification.
    func bound(to facts: inout NotificationFacts) -> BoundCondition {
        BoundCondition(root.bound(to: &facts), at: facts.time)
    }
}

extension RuleCondition {
    /// A part of a condition.
    indirect enum Part: Sendable {
        /// Depends on the notification alone.
        case notification(PayloadPredicate, readsPayload: Bool)
        /// Depends on the candidate alone.
        case candidate(CandidateCondition)
        /// Compares a value of the candidate with one of the notification.
        case both(Predicate.Comparison, readsPayload: Bool)
        case not(Part)
        case all([Part])
        case any([Part])

        init(_ tree: Predicate.Tree) {
            let names = NamedValues(in: tree)
            guard names.candidate else {
                self = .notification(PayloadPredicate(part: tree), readsPayload: names.payload)
                return
            }
            switch tree {
            case .constant(let value): self = .candidate(.constant(value))
            case .comparison(let comparison) where names.notification:
                self = .both(comparison, readsPayload: names.payload)
            case .comparison(let comparison): self = .candidate(CandidateComparison(comparison).condition)
            case .not(let term): self = .not(Part(term))
            case .and(let terms): self = .all(terms.map(Part.init))
            case .or(let terms): self = .any(terms.map(Part.init))
            }
        }

        var readsCandidate: Bool {
            switch self {
            case .notification: false
            case .candidate, .both: true
            case .not(let part): part.readsCandidate
            case .all(let parts), .any(let parts): parts.contains { $0.readsCandidate }
            }
        }

        /// The part with everything evaluated that depends on the notification alone; a part that decides a list ends the
        /// work on it.
        func bound(to facts: inout NotificationFacts) -> CandidateCondition {
            switch self {
            case .candidate(let condition): return condition
            case .notification(let predicate, let readsPayload):
                return .constant(predicate.evaluate(with: facts.value(readsPayload: readsPayload)))
            case .both(let comparison, let readsPayload):
                return CandidateComparison(comparison, under: facts.value(readsPayload: readsPayload)).condition
            case .not(let part): return part.bound(to: &facts).negated
            case .all(let parts): return Self.joined(parts, unless: false, &facts) { .all(of: $0) }
            case .any(let parts): return Self.joined(parts, unless: true, &facts) { .any(of: $0) }
            }
        }

        /// The bound parts up to one that decides all of them.
        private static func joined(
            _ parts: [Part], unless decisive: Bool, _ facts: inout NotificationFacts,
            _ join: ([CandidateCondition]) -> CandidateCondition
        ) -> CandidateCondition {
            var conditions: [CandidateCondition] = []
            for part in parts {
                conditions.append(part.bound(to: &facts))
                if conditions.last?.constant == decisive { break }
            }
            return join(conditions)
        }
    }
}

/// The condition of candidates under the facts of one notification.
struct BoundCondition: Sendable {
    private let condition: CandidateCondition
    private let now: Timestamp

    fileprivate init(_ condition: CandidateCondition, at now: Timestamp) {
        (self.condition, self.now) = (condition, now)
    }

    /// The answer for every candidate; nil if it depends on the candidate.
    var constant: Bool? { condition.constant }

    func holds(for candidate: Candidate) -> Bool { condition.holds(for: candidate, at: now) }
}

/// The values that a part of a predicate names.
private struct NamedValues {
    var candidate = false
    var notification = false
    var payload = false

    init(in tree: Predicate.Tree) { add(tree) }

    private mutating func add(_ tree: Predicate.Tree) {
        switch tree {
        case .constant: break
        case .comparison(let comparison):
            add(comparison.left)
            add(comparison.right)
        case .not(let term): add(term)
        case .and(let terms), .or(let terms): for term in terms { add(term) }
        }
    }

    private mutating func add(_ operand: Predicate.Operand) {
        switch operand {
        case .path(let path) where RuleFields.isOfCandidate(path): candidate = true
        case .path(let path):
            notification = true
            if RuleFields.isOfPayload(path) { payload = true }
        case .aggregate(let elements): for element in elements { add(element) }
        default: break
        }
    }
}
