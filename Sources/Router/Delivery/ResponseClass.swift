/// What an attempt's outcome means for the delivery. The table is normative; docs/DELIVERY.md shows it to users.
///
///     outcome                                   class           action
///     200–299                                   success         delivered
///     300–399                                   misdirected     a failure; never followed
///     400, 404, 405, 409, 411–415, 422, other 4xx  rejected     tried 3 times in all, then dead-lettered
///     401, 403                                  unauthorized    a failure
///     408, 425, 429                             backPressure    the lane waits; nothing is used up
///     410                                       gone            the session is disabled, its lane moves on
///     421, 5xx, 1xx                             transient       a failure; Retry-After is honoured
///     no response                               unreachable     a failure
///     the URL cannot be used                    unusable        dead-lettered
///     the egress guard refused it               egressRefused   dead-lettered
///     not sent, for we are shutting down        notSent         as if it had not been tried
package enum ResponseClass: Hashable, Sendable {
    case success
    case misdirected
    case rejected
    case unauthorized
    case backPressure(retryAfterSeconds: Int?)
    case gone
    case transient(retryAfterSeconds: Int?)
    case unreachable(TransferFailure.Kind)
    case unusable
    case egressRefused
    case notSent

    package init(_ outcome: TransferResult.Outcome) {
        switch outcome {
        case .response(let response): self.init(response)
        case .failure(let failure):
            switch failure.kind {
            case .unusableURL: self = .unusable
            case .egressRefused: self = .egressRefused
            case .shuttingDown: self = .notSent
            default: self = .unreachable(failure.kind)
            }
        }
    }

    private init(_ response: ReceivedResponse) {
        switch response.status {
        case 200...299: self = .success
        case 300...399: self = .misdirected
        case 401, 403: self = .unauthorized
        case 408, 425, 429: self = .backPressure(retryAfterSeconds: response.retryAfterSeconds)
        case 410: self = .gone
        case 421: self = .transient(retryAfterSeconds: response.retryAfterSeconds)
        case 400...499: self = .rejected
        default: self = .transient(retryAfterSeconds: response.retryAfterSeconds)
        }
    }
}
