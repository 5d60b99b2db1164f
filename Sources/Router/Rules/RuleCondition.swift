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
    func bound(to facts: inout NotificationFacts) -> BoundCondition { BoundCondition(root.bound(to: &facts), facts) }
}

extension RuleCondition {
    /// A part of a condition.
    indirect enum Part: Sendable {
        case constant(Bool)
        /// Depends on the notification alone.
        case notification(PayloadPredicate, readsPayload: Bool)
        /// Depends on the candidate alone.
        case candidate(CandidateTest)
        /// Compares a value of the candidate with one of the notification.
        case both(PayloadPredicate, readsPayload: Bool)
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
            case .constant(let value): self = .constant(value)
            case .comparison where names.notification:
                self = .both(PayloadPredicate(part: tree), readsPayload: names.payload)
            case .comparison(let comparison): self = .candidate(CandidateTest(comparison))
            case .not(let term): self = .not(Part(term))
            case .and(let terms): self = .all(terms.map(Part.init))
            case .or(let terms): self = .any(terms.map(Part.init))
            }
        }

        var readsCandidate: Bool {
            switch self {
            case .constant, .notification: false
            case .candidate, .both: true
            case .not(let part): part.readsCandidate
            case .all(let parts), .any(let parts): parts.contains { $0.readsCandidate }
            }
        }

        /// The part with everything evaluated that depends on the notification alone.
        func bound(to facts: inout NotificationFacts) -> Part {
            switch self {
            case .constant, .candidate, .both: return self
            case .notification(let predicate, let readsPayload):
                let members = facts.members(readsPayload: readsPayload)
                return .constant(predicate.evaluate(with: .object(PayloadObject(members))))
            case .not(let part):
                let bound = part.bound(to: &facts)
                if case .constant(let value) = bound { return .constant(!value) }
                return .not(bound)
            case .all(let parts): return Self.joined(parts, unless: false, &facts) { .all($0) }
            case .any(let parts): return Self.joined(parts, unless: true, &facts) { .any($0) }
            }
        }

        /// The bound parts without constants; a constant that decides all of them ends the work.
        private static func joined(
            _ parts: [Part], unless decisive: Bool, _ facts: inout NotificationFacts, _ join: ([Part]) -> Part
        ) -> Part {
            var open: [Part] = []
            for part in parts {
                let bound = part.bound(to: &facts)
                guard case .constant(let value) = bound else {
                    open.append(bound)
                    continue
                }
                if value == decisive { return .constant(decisive) }
            }
            switch open.count {
            case 0: return .constant(!decisive)
            case 1: return open[0]
            default: return join(open)
            }
        }
    }
}

/// The condition of candidates under the facts of one notification.
struct BoundCondition: Sendable {
    private let root: RuleCondition.Part
    /// The members of the notification, if a part compares the candidate with them.
    private let members: [(name: String, value: PayloadValue)]
    private let now: Timestamp

    fileprivate init(_ root: RuleCondition.Part, _ facts: consuming NotificationFacts) {
        self.root = root
        now = facts.time
        let reads = Self.reads(root)
        members = reads.notification ? facts.members(readsPayload: reads.payload) : []
    }

    /// The answer for every candidate; nil if it depends on the candidate.
    var constant: Bool? { if case .constant(let value) = root { value } else { nil } }

    func holds(for candidate: Candidate) -> Bool { holds(root, candidate) }

    private func holds(_ part: RuleCondition.Part, _ candidate: Candidate) -> Bool {
        switch part {
        case .constant(let value): return value
        case .notification(let predicate, _), .both(let predicate, _):
            let value = PayloadValue.object(PayloadObject(members + [("candidate", candidate.value(at: now))]))
            return predicate.evaluate(with: value)
        case .candidate(let test): return test.holds(for: candidate, at: now)
        case .not(let part): return !holds(part, candidate)
        case .all(let parts):
            for part in parts where !holds(part, candidate) { return false }
            return true
        case .any(let parts):
            for part in parts where holds(part, candidate) { return true }
            return false
        }
    }

    private static func reads(_ part: RuleCondition.Part) -> (notification: Bool, payload: Bool) {
        switch part {
        case .constant, .candidate: (false, false)
        case .notification(_, let readsPayload), .both(_, let readsPayload): (true, readsPayload)
        case .not(let part): reads(part)
        case .all(let parts), .any(let parts):
            parts.reduce((false, false)) { read, part in
                let more = reads(part)
                return (read.0 || more.notification, read.1 || more.payload)
            }
        }
    }
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
