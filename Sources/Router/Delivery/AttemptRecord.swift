package import RouterPlugin

/// The stored record of one webhook request of a delivery.
package struct AttemptRecord: Hashable, Sendable {
    package var sequence: NotificationSequence
    /// 1 for the first attempt.
    package var number: Int
    package var session: SessionID
    package var startedAt: Timestamp
    package var status: Int?
    package var failure: TransferFailure?
    package var retryAfterSeconds: Int?
    /// Whether the answer is about the session alone. It counts for the state of the endpoint, and like that it is not kept.
    package var isForSession = false
    package var metrics: TransferMetrics
    /// The first bytes of the response body.
    package var responseExcerpt: [UInt8]
    /// Why the receiver's answer was not applied, in kebab-case; nil if it was, or if it requested no change.
    package var answerFault: String?

    /// The outcome, as far as it is stored.
    package var outcome: TransferResult.Outcome {
        if let failure { return .failure(failure) }
        return .response(
            ReceivedResponse(status: status ?? 0, retryAfterSeconds: retryAfterSeconds, isForSession: isForSession))
    }

    package init(
        sequence: NotificationSequence, number: Int, session: SessionID, startedAt: Timestamp, status: Int?,
        failure: TransferFailure?, retryAfterSeconds: Int?, metrics: TransferMetrics, responseExcerpt: [UInt8],
        answerFault: String? = nil
    ) {
        self.sequence = sequence
        self.number = number
        self.session = session
        self.startedAt = startedAt
        self.status = status
        self.failure = failure
        self.retryAfterSeconds = retryAfterSeconds
        self.metrics = metrics
        self.responseExcerpt = responseExcerpt
        self.answerFault = answerFault
    }
}

extension AttemptRecord {
    /// The record of an attempt and its result.
    package init(
        sequence: NotificationSequence, number: Int, session: SessionID, startedAt: Timestamp, _ result: TransferResult
    ) {
        self.init(
            sequence: sequence, number: number, session: session, startedAt: startedAt, status: nil, failure: nil,
            retryAfterSeconds: nil, metrics: result.metrics, responseExcerpt: [])
        switch result.outcome {
        case .failure(let failure): self.failure = failure
        case .response(let response):
            status = response.status
            retryAfterSeconds = response.retryAfterSeconds
            isForSession = response.isForSession
            responseExcerpt = Array(response.body.prefix(RouterLimits.responseExcerptBytes))
        }
    }
}
