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
    /// The time of the step as its client names it, as RFC 3339 writes it; nil if it names none.
    public var time: String?
    /// The failure of a request of the operation; nil if the step went well.
    public var failure: RequestFailure?

    /// All parts at once; nothing is checked.
    public init(
        operationID: String, step: String, currentStepNumber: Int, totalNumberOfSteps: Int, parameters: [String] = [],
        defaultMessage: String = "", time: String? = nil, failure: RequestFailure? = nil
    ) {
        self.operationID = operationID
        self.step = step
        self.currentStepNumber = currentStepNumber
        self.totalNumberOfSteps = totalNumberOfSteps
        self.parameters = parameters
        self.defaultMessage = defaultMessage
        self.time = time
        self.failure = failure
    }
}

/// The failure of a request of an operation.
public struct RequestFailure: Hashable, Sendable {
    /// The status of the answer; nil if there was none.
    public var status: Int?
    /// The reason, for programs or people; may be empty.
    public var reason: String

    /// Both parts at once.
    public init(status: Int?, reason: String) {
        self.status = status
        self.reason = reason
    }
}
