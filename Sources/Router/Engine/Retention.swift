import RouterPlugin

/// Deletes records whose time is over, a bounded number at a time: the policy, and the steps that are under way.
///
///     ended ──▶ look ──(timer)──▶ a step is asked for ──▶ committed, and more is due ──▶ the next step
///     grown ────────────────────▶ a step is asked for ──▶ nothing is due ──▶ at rest, until the next look
struct Retention: Sendable {
    let policy: RetentionPolicy
    /// Whether a step has been asked for and not been made.
    private var isForgetting = false
    /// Approximate number of bytes that were written since retention has looked at the size of the store.
    private var growth = 0

    init(_ policy: RetentionPolicy) { self.policy = policy }

    /// Forgets the oldest records whose time is over, as many as a transaction bears. The committed changes ask for the next
    /// step, so that other commands have their turn between two of them.
    ///
    /// - Returns: When to look again, if nothing is due now.
    mutating func step(in plan: inout PlanDraft) throws(MissingFacts) -> Timestamp? {
        let retained = try plan.facts.retained(limit: RouterLimits.forgottenPerTransaction)
        let step = policy.step(retained, at: plan.time)
        for item in step.forget {
            switch item.subject {
            case .notification(let sequence):
                plan.changes.append(.forget(sequence))
                // A repetition in the same transaction may be about to add another key to it.
                plan.reads.append(.delivery(sequence))
            case .answer(let key):
                plan.changes.append(.forgetAnswer(key))
                // The keys of an application that is deleted go with it.
                plan.reads += [.dedupe(key), .application(key.application)]
            }
        }
        guard step.forget.isEmpty else { return nil }
        isForgetting = false
        growth = 0
        return step.lookAgainAt
    }

    /// Asks for a step, unless one has been asked for.
    mutating func ask() -> [FollowUp] {
        if isForgetting { return [] }
        isForgetting = true
        return [.forget]
    }

    /// When to look whether a record that ends at that time is to be forgotten; nil if it never is.
    func look(after end: Timestamp) -> Timestamp? { policy.look(after: end) }

    /// The store has grown by about so much; asks for a step when it may have become too large.
    mutating func grow(by bytes: Int) -> [FollowUp] {
        guard let limit = policy.bytesBetweenLooks else { return [] }
        growth += bytes
        return growth > limit ? ask() : []
    }
}
