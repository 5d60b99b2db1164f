import PredicateEngine
import RouterPlugin

/// The condition of a declared rule: a predicate over the notification and the candidate, cut into the parts that depend on
/// either.
///
///     priority < 10  AND  payload.level == 'info'  AND  candidate.role == 'wall'
///     └────────── once a notification ──────────┘       └─ once a candidate ──┘
///
/// Comparisons of the notification are evaluated before the first candidate. A condition refuted by them is evaluated for no
/// candidate.
struct RuleCondition: Sendable {
    /// The canonical text.
    let text: String
    /// The number of comparisons that name the notification.
    let comparisons: Int
    /// The most steps for the longest payload, of one comparison and of all.
    let mostSteps: (ofOne: Int, ofAll: Int)
    /// Whether it names a value of the candidate.
    let readsCandidate: Bool
    private let root: Part

    init(_ predicate: PayloadPredicate) {
        text = predicate.description
        var cutting = ConditionCutting()
        root = cutting.part(predicate.root)
        readsCandidate = cutting.readsCandidate
        comparisons = cutting.comparisons
        mostSteps = (cutting.mostOfOne, cutting.mostOfAll)
    }

    /// Reads a condition.
    init(format: String) throws(PredicateError) {
        self.init(try PayloadPredicate(format: format, over: RuleFields.schema))
    }

    /// The condition of candidates under the facts of one notification.
    func bound(to facts: inout NotificationFacts) -> BoundCondition {
        BoundCondition(root.bound(to: &facts), at: facts.time)
    }
}

extension RuleCondition {
    /// A part of a condition.
    indirect enum Part: Sendable {
        /// Depends on the notification alone.
        case notification(RuleComparison)
        /// Depends on the candidate alone.
        case candidate(CandidateCondition)
        /// Compares a value of the candidate with one of the notification.
        case both(RuleComparison)
        case not(Part)
        case all([Part])
        case any([Part])

        /// The part with everything evaluated that depends on the notification alone; a part that decides a list ends the
        /// work on it.
        func bound(to facts: inout NotificationFacts) -> CandidateCondition {
            switch self {
            case .candidate(let condition): return condition
            case .notification(let comparison): return .constant(facts.holds(comparison))
            case .both(let comparison): return facts.condition(of: comparison)
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

/// Cuts a condition into its parts, and adds up their steps.
private struct ConditionCutting {
    private(set) var readsCandidate = false
    private(set) var comparisons = 0
    private(set) var mostOfOne = 0
    private(set) var mostOfAll = 0

    mutating func part(_ tree: Predicate.Tree) -> RuleCondition.Part {
        switch tree {
        case .constant(let value): return .candidate(.constant(value))
        case .comparison(let comparison): return part(comparison)
        case .not(let term): return .not(part(term))
        case .and(let terms): return .all(terms.map { part($0) })
        case .or(let terms): return .any(terms.map { part($0) })
        }
    }

    private mutating func part(_ comparison: Predicate.Comparison) -> RuleCondition.Part {
        let names = NamedValues(in: comparison)
        let bytes =
            names.payload
            ? RouterLimits.payloadBytes : names.userInfo ? RouterLimits.userInfoBytes : RouterLimits.contentIDBytes
        let steps = comparison.mostSteps(forPayload: bytes)
        (mostOfOne, mostOfAll) = (max(mostOfOne, steps), mostOfAll + steps)
        if names.candidate { readsCandidate = true }
        if names.candidate, names.notification.isEmpty { return .candidate(CandidateComparison(comparison).condition) }
        defer { comparisons += 1 }
        let comparison = RuleComparison(
            comparison: comparison, number: comparisons, readsPayload: names.payload, isKept: !names.priority,
            readsUserInfo: names.userInfo, paths: names.notification)
        return names.candidate ? .both(comparison) : .notification(comparison)
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
    /// About the most steps for a candidate.
    var steps: Int { condition.steps }

    func holds(for candidate: Candidate) -> Bool { condition.holds(for: candidate, at: now) }
}

/// The values that a comparison names.
private struct NamedValues {
    var candidate = false
    var userInfo = false
    var payload = false
    var priority = false
    /// The paths into the notification.
    var notification: [PayloadPath] = []

    init(in comparison: Predicate.Comparison) {
        add(comparison.left)
        add(comparison.right)
    }

    private mutating func add(_ operand: Predicate.Operand) {
        switch operand {
        case .path(let path) where RuleFields.isOfCandidate(path):
            candidate = true
            if RuleFields.isOfUserInfo(path) { userInfo = true }
        case .path(let path):
            notification.append(path)
            if RuleFields.isOfPayload(path) { payload = true }
            if RuleFields.names(path).first == "priority" { priority = true }
        case .aggregate(let elements): for element in elements { add(element) }
        default: break
        }
    }
}
