/// The meaning of an attempt's outcome for the delivery. The table is normative; docs/DELIVERY.md shows it to users.
///
///     outcome                                   class           action
///     200–299                                   success         deliver
///     300–399                                   misdirected     retry; never followed
///     400, 404, 405, 409, 411–415, 422, other 4xx  rejected     retryBriefly
///     401, 403                                  unauthorized    retry
///     408, 425, 429, 423 about the session      backPressure    wait
///     410                                       gone            moveOn
///     421, 5xx, 1xx                             transient       retry; Retry-After is honoured
///     no response                               unreachable     retry
///     the URL cannot be used                    unusable        deadLetter
///     the egress guard refused it               egressRefused   deadLetter
///     the store has lost its payload            payloadMissing  deadLetter
///     its format cannot render it               formatFailed    deadLetter
///     not sent, for we are shutting down        notSent         wait, as if it had not been tried
///     not written to the receiver's connection  notWritten      wait for the next connection, as if it had not been tried
///
/// An application's `StatusTable` may map statuses otherwise; only such a table yields `refused`.
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
    case payloadMissing
    case formatFailed
    case notSent
    case notWritten
    /// The application wants no further attempt after this answer.
    case refused

    package init(_ outcome: TransferResult.Outcome, statuses: StatusTable = StatusTable()) {
        switch outcome {
        case .response(let response):
            let usual = Self(response)
            self = statuses.rule(for: response.status).map { usual.handled(as: $0, response) } ?? usual
        case .failure(let failure):
            switch failure.kind {
            case .unusableURL: self = .unusable
            case .egressRefused: self = .egressRefused
            case .payloadMissing: self = .payloadMissing
            case .formatFailed: self = .formatFailed
            case .shuttingDown, .noSocket: self = .notSent
            case .noConsumer: self = .notWritten
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
        case 423 where response.isForSession: self = .backPressure(retryAfterSeconds: response.retryAfterSeconds)
        case 410: self = .gone
        case 421: self = .transient(retryAfterSeconds: response.retryAfterSeconds)
        case 400...499: self = .rejected
        default: self = .transient(retryAfterSeconds: response.retryAfterSeconds)
        }
    }

    /// Whether there was an attempt: a message that never left this machine leaves no trace at its delivery.
    package var isAttempt: Bool { self != .notSent && self != .notWritten }

    /// The action of the class.
    package var action: StatusAction {
        switch self {
        case .success: .deliver
        case .misdirected, .unauthorized, .transient, .unreachable: .retry
        case .rejected: .retryBriefly
        case .backPressure, .notSent, .notWritten: .wait
        case .gone: .moveOn
        case .unusable, .egressRefused, .payloadMissing, .formatFailed, .refused: .deadLetter
        }
    }

    /// The class that has this action; the usual one if it has.
    private func handled(as action: StatusAction, _ response: ReceivedResponse) -> ResponseClass {
        guard action != self.action else { return self }
        return switch action {
        case .deliver: .success
        case .retry: .transient(retryAfterSeconds: response.retryAfterSeconds)
        case .retryBriefly: .rejected
        case .wait: .backPressure(retryAfterSeconds: response.retryAfterSeconds)
        case .moveOn: .gone
        case .deadLetter: .refused
        }
    }
}

extension TransferResult.Outcome {
    /// Whether the receiver may have accepted the message without saying so: it was sent, and no answer of the
    /// receiver's own came back. A gateway's 504 is no answer of the receiver.
    package var isAmbiguous: Bool {
        switch self {
        case .response(let response): response.status == 504
        case .failure(let failure): failure.kind.isAmbiguous
        }
    }

    /// Whether the receiver has had the whole time and has not answered.
    var hasTimedOut: Bool { if case .failure(let failure) = self { failure.kind == .timedOut } else { false } }
}

extension TransferFailure.Kind {
    /// Whether the message may have arrived before it failed like this.
    package var isAmbiguous: Bool {
        switch self {
        case .timedOut, .connectionLost, .garbled, .streamEnded, .other: true
        case .nameNotResolved, .connectFailed, .tlsFailed, .unusableURL, .egressRefused, .payloadMissing, .formatFailed,
            .shuttingDown, .noSocket, .noConsumer:
            false
        }
    }
}
