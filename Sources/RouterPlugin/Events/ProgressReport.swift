/// How far onboarding has come, in the words of the SAP SDK's progress of an offline store.
public struct ProgressReport: Hashable, Sendable {
    /// The operation that the steps belong to; a client shows one list of steps for each.
    public var operationID: String
    /// The step's name, such as `downloadingEntityStore`.
    public var step: String
    /// The number of the present step, from 1 on and not beyond the total.
    public var currentStepNumber: Int
    /// The number of steps.
    public var totalNumberOfSteps: Int
    /// The values in the step's text, such as bytes received and bytes in all.
    public var parameters: [String]
    /// A text for clients that have none of their own for the step.
    public var defaultMessage: String

    /// All parts at once; nothing is checked.
    public init(
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
