import Router
import RouterPlugin

extension Chooser {
    /// Explains a decision in one try.
    func explain(
        _ notification: NotificationView, from tenant: Tenant, at now: Timestamp, limit: Int,
        steps: Int = RouterLimits.explanationSteps
    ) -> Explanation {
        var work = DecisionWork.unlimited
        return explain(notification, from: tenant, &work, at: now, limit: limit, steps: steps)
    }
}
