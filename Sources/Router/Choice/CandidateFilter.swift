/// A condition on candidates beside the rules, with a bound on failures.
struct CandidateFilter {
    /// Maximum number of failing candidates of a tier before the search ends.
    let limit: Int
    let admits: (SceneSession) -> Bool
    private(set) var examined = 0
    private var failed = 0

    init(limit: Int, admits: @escaping (SceneSession) -> Bool) {
        self.limit = limit
        self.admits = admits
    }

    /// Whether the failures of the tier have reached the limit.
    var isUsedUp: Bool { failed >= limit }

    mutating func beginTier() { failed = 0 }

    /// Whether the candidate passes.
    mutating func examine(_ session: SceneSession) -> Bool {
        examined += 1
        if admits(session) { return true }
        failed += 1
        return false
    }
}
