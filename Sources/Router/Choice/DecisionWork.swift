import PredicateEngine
import RouterPlugin

/// The steps that the decisions of a plan may take at a time, and the answers of predicates that were found when they were
/// used up.
///
///     first try      gives up after `limit` steps: nothing is planned
///     next tries     each goes on where the one before gave up, for as many steps as it is granted
///
/// Steps are counted, never timed: the same decision in the same registry takes the same steps everywhere.
package struct DecisionWork: Sendable {
    private var limit: Int
    /// The steps that this try has taken.
    package private(set) var steps = 0
    /// The steps of verdicts of rules on candidates, and of binding rules. Each try begins with the best candidate again, so
    /// they use up no steps of the try; the loop counts them as steps of the application.
    private var candidateSteps = 0
    /// The steps of the verdicts on one candidate of the decision at hand.
    private var stepsOfCandidate = IndexEffort.stepsOfQuestion
    /// Whether this try has used up its steps before an answer was found: its result is no answer.
    package private(set) var isUnfinished = false
    /// Whether there was a try before.
    private(set) var isResumed = false
    /// Nil as long as no try has used up its steps.
    private var known: [Question: KnownAnswers]?
    private var conditions: [ConditionQuestion: [ConditionEffort.Answer]]?

    /// A subject and the index that is asked about it, which lives at least as long as the answers.
    private struct Question: Hashable {
        let index: ObjectIdentifier
        let subject: ContentID
    }

    /// - Parameter limit: The steps of the first try.
    package init(limit: Int) { self.limit = limit }

    /// As many steps as it takes.
    package static var unlimited: DecisionWork { DecisionWork(limit: .max) }

    /// The steps of this try, those of the candidates included.
    package var stepsWithCandidates: Int { steps &+ candidateSteps }

    /// Begins another try.
    package mutating func resume(_ limit: Int) {
        (self.limit, steps, candidateSteps, isUnfinished, isResumed) = (limit, 0, 0, false, true)
    }

    /// The steps that are left.
    @inline(__always)
    var left: Int { isUnfinished ? 0 : limit &- steps }

    /// Counts the steps of a search.
    @inline(__always)
    mutating func add(_ steps: Int, hasGivenUp: Bool) {
        self.steps &+= steps
        if hasGivenUp { isUnfinished = true }
    }

    /// Counts candidates that rules have had a verdict on.
    mutating func add(candidates: Int) { candidateSteps &+= candidates &* stepsOfCandidate }

    /// Evaluates `body` with the facts of a notification. Conditions may take the steps left, and have the answers from earlier
    /// tries.
    mutating func withFacts<Result>(
        about notification: NotificationView, under rules: RuleSet, at now: Timestamp,
        knowing history: RuleHistory? = nil, _ body: (inout NotificationFacts) -> Result
    ) -> Result {
        let isKept = isResumed && rules.comparisons > 0
        let question = isKept ? ConditionQuestion(notification, under: rules) : nil
        let answers = question.map { question in
            conditions?[question] ?? Array(repeating: .unknown, count: rules.comparisons)
        }
        var facts = NotificationFacts(
            notification, at: now, knowing: history, ConditionEffort(limit: left, answers: answers ?? []))
        let result = body(&facts)
        add(facts.effort.steps, hasGivenUp: facts.effort.hasGivenUp)
        candidateSteps &+= facts.effort.repeatedSteps
        stepsOfCandidate = IndexEffort.stepsOfQuestion &+ facts.effort.stepsOfVerdict
        if let question {
            conditions = conditions ?? [:]
            conditions?[question] = facts.effort.answers
        }
        return result
    }

    /// Evaluates `body` with the answers of an index about a subject, which it may find out as long as there are steps left.
    mutating func answers<Result>(
        of index: borrowing PredicateIndex, about subject: String, _ body: (NodeAnswers) -> Result
    ) -> Result {
        var known = isResumed ? take(index.identity, subject) : KnownAnswers()
        let before = known.effort.steps
        let result = index.answers(about: subject, limit: left, isKept: isResumed, &known, body)
        add(known.effort.steps - before, hasGivenUp: known.effort.hasGivenUp)
        if isResumed || isUnfinished { keep(known, index.identity, subject) }
        return result
    }

    @inline(never)
    private mutating func take(_ index: IndexIdentity, _ subject: String) -> KnownAnswers {
        known?.removeValue(forKey: Question(index: ObjectIdentifier(index), subject: ContentID(unchecked: subject)))
            ?? KnownAnswers()
    }

    @inline(never)
    private mutating func keep(_ answers: KnownAnswers, _ index: IndexIdentity, _ subject: String) {
        known = known ?? [:]
        known?[Question(index: ObjectIdentifier(index), subject: ContentID(unchecked: subject))] = answers
    }
}
