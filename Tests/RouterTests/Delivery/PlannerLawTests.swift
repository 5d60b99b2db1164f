import RouterTesting
import Testing

@Suite("The lane planner against a model that looks at everything")
struct PlannerLawTests {
    /// Few seeds in a debug build; `make soak` runs ten thousand of them, optimised.
    @Test("Nothing starts that may not, nothing that may is forgotten, and all of it settles", arguments: 0..<8)
    func laws(share: UInt64) {
        for seed in share * 8..<(share + 1) * 8 {
            let violations = PlannerLaws.violations(seed: seed, steps: 60)
            guard violations.isEmpty else {
                Issue.record("\(violations)")
                return
            }
        }
    }
}
