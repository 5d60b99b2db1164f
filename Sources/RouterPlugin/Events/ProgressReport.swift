/// How far onboarding has come, in the words of the SAP SDK's progress of an offline store.
public struct ProgressReport: Hashable, Sendable {
    /// What the steps belong to; a client shows one list of steps for each.
    public var operationID: String
    /// The step's name, such as `downloadingEntityStore`.
    public var step: String
    /// From 1 on, and not beyond the total.
    public var currentStepNumber: Int
    /// How many there are.
    public var totalNumberOfSteps: Int
    /// What the step's text is made with, such as bytes received and bytes in all.
    public var parameters: [String]
    /// For who has no text of its own for the step.
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
