import Router
import Testing

@Suite("Response classes")
struct ResponseClassTests {
    /// The table of `ResponseClass`, written independently status by status.
    private func expected(_ status: Int, retryAfter: Int?) -> ResponseClass {
        switch status {
        case 200..<300: .success
        case 300..<400: .misdirected
        case 401, 403: .unauthorized
        case 408, 425, 429: .backPressure(retryAfterSeconds: retryAfter)
        case 410: .gone
        case 421, 100..<200, 500..<600: .transient(retryAfterSeconds: retryAfter)
        default: .rejected
        }
    }

    @Test("Every status from 100 to 599, with and without Retry-After", arguments: [nil, 0, 30])
    func status(retryAfter: Int?) {
        for status in 100..<600 {
            let outcome = TransferResult.status(status, retryAfter: retryAfter).outcome
            #expect(ResponseClass(outcome) == expected(status, retryAfter: retryAfter), "\(status)")
        }
    }

    @Test(
        "The statuses documented for receivers",
        arguments: [400, 404, 405, 409, 411, 412, 413, 414, 415, 418, 422, 451])
    func rejected(status: Int) {
        #expect(ResponseClass(TransferResult.status(status).outcome) == .rejected)
    }

    @Test("An invalid status is a transient failure", arguments: [-1, 0, 99, 600, 999])
    func nonsense(status: Int) {
        #expect(ResponseClass(TransferResult.status(status).outcome) == .transient(retryAfterSeconds: nil))
    }

    @Test("Every kind of failure", arguments: TransferFailure.Kind.allCases)
    func failure(kind: TransferFailure.Kind) {
        let expected: ResponseClass =
            switch kind {
            case .unusableURL: .unusable
            case .egressRefused: .egressRefused
            case .payloadMissing: .payloadMissing
            case .formatFailed: .formatFailed
            case .shuttingDown, .noSocket: .notSent
            case .noConsumer: .notWritten
            case .nameNotResolved, .connectFailed, .timedOut, .tlsFailed, .connectionLost, .garbled, .streamEnded,
                .other:
                .unreachable(kind)
            }
        #expect(ResponseClass(TransferResult.failure(kind).outcome) == expected)
    }
}
