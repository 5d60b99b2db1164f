import RouterTesting
import Testing

@Suite("The lane planner against a model that scans all lanes")
struct PlannerLawTests {
    /// Few seeds in a debug build; `make soak` runs ten thousand of them, optimised.
    @Test("No delivery starts too early, none is forgotten, and all of them settle", arguments: 0..<8)
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
