/// How far onboarding has come, in the words of the SAP SDK's progress of an offline store.
package struct ProgressReport: Hashable, Sendable {
    /// What the steps belong to; a client shows one list of steps for each.
    package var operationID: String
    /// The step's name, such as `downloadingEntityStore`.
    package var step: String
    /// From 1 on, and not beyond the total.
    package var currentStepNumber: Int
    package var totalNumberOfSteps: Int
    /// What the step's text is made with, such as bytes received and bytes in all.
    package var parameters: [String]
    /// For who has no text of its own for the step.
    package var defaultMessage: String

    package init(
        operationID: String, step: String, currentStepNumber: Int, totalNumberOfSteps: Int, parameters: [String] = [],
        defaultMessage: String = ""
    ) {
        self.operationID = operationID
        self.step = step
        self.currentStepNumber = currentStepNumber
        self.totalNumberOfSteps = totalNumberOfSteps
        self.parameters = parameters
        self.defaultMessage = defaultMessage
    }
}
