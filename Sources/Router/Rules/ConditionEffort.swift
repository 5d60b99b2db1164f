import PredicateEngine
import RouterPlugin

/// A comparison of a condition that names the notification, with its number within the condition.
struct RuleComparison: Sendable {
    let comparison: Predicate.Comparison
    let number: Int
    let readsPayload: Bool
    /// Whether the answer depends on nothing that changes before the choice: rules may give a notification another priority.
    let isKept: Bool
    let readsUserInfo: Bool
    /// The paths into the notification.
    let paths: [PayloadPath]
}

/// Steps of conditions for one notification in one try, and answers of comparisons from earlier tries.
///
///     first try      ends before the first comparison beyond its steps; keeps nothing
///     next tries     take known answers without steps, and add one at least
struct ConditionEffort {
    /// The answer of a comparison, by its place among those of all rules.
    enum Answer: UInt8 {
        case unknown, fails, holds
    }

    /// Steps for each visited byte or value, and for each parsed byte.
    static let stepsOfVisit = 8
    static let stepsOfByte = 4
    /// Steps for each rule.
    static let stepsOfRule = 32

    /// Steps of answers kept for the next try.
    private(set) var steps = 0
    /// Steps repeated by each try. They do not count against its limit: a try has to find one answer at least.
    private(set) var repeatedSteps = 0
    private(set) var hasGivenUp = false
    /// Steps of the verdicts on a candidate, and the part due to the payload.
    private(set) var stepsOfVerdict = 0
    private var stepsOfPayload = 0
    /// Empty in a first try.
    private(set) var answers: [Answer]
    private let limit: Int
    private var first = 0
    /// Whether this try has an answer for the next one.
    private var hasProgressed = false

    init(limit: Int = .max, answers: [Answer] = []) {
        self.limit = limit
        self.answers = answers
    }

    /// Begins with the condition whose comparisons have the places from `first` on.
    mutating func begin(at first: Int) {
        self.first = first
        repeatedSteps &+= Self.stepsOfRule
    }

    mutating func addRepeated(steps: Int) { repeatedSteps &+= steps }

    func known(_ comparison: RuleComparison) -> Bool? {
        guard !answers.isEmpty, comparison.isKept else { return nil }
        switch answers[first + comparison.number] {
        case .unknown: return nil
        case .fails: return false
        case .holds: return true
        }
    }

    mutating func keep(_ answer: Bool, of comparison: RuleComparison, steps: Int) {
        guard comparison.isKept else { return addRepeated(steps: steps) }
        self.steps &+= steps
        hasProgressed = true
        if !answers.isEmpty { answers[first + comparison.number] = answer ? .holds : .fails }
    }

    /// Whether there are steps for a comparison without a known answer.
    mutating func hasSteps(for comparison: RuleComparison) -> Bool {
        if comparison.isKept, steps >= limit, hasProgressed { hasGivenUp = true }
        return !hasGivenUp
    }

    /// Counts the verdicts of a condition on each candidate.
    mutating func addVerdict(steps: Int) { stepsOfVerdict &+= steps }

    /// Whether verdicts may take so many more steps for the sake of the payload.
    mutating func admitsVerdict(steps: Int) -> Bool {
        guard stepsOfPayload + steps <= RouterLimits.payloadStepsPerVerdict else { return false }
        stepsOfPayload += steps
        return true
    }
}

/// A notification and a rule set with answers of conditions.
struct ConditionQuestion: Hashable {
    private let rules: RuleSet
    private let notification: NotificationView
    private let digest: UInt64

    init(_ notification: NotificationView, under rules: RuleSet) {
        self.rules = rules
        self.notification = notification
        digest = notification.payload.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    static func == (left: Self, right: Self) -> Bool {
        let (one, other) = (left.notification, right.notification)
        return left.rules === right.rules && left.digest == right.digest && one.application == other.application
            && one.contentID == other.contentID && one.device == other.device && one.kind == other.kind
            && one.payload == other.payload
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(rules))
        hasher.combine(notification.contentID)
        hasher.combine(digest)
    }
}
