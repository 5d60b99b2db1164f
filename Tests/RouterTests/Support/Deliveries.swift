import Router
import RouterPlugin

extension UnsettledNotification {
    /// A notification on its way to a session.
    static func numbered(
        _ sequence: NotificationSequence, to session: SessionID = "A", of application: ApplicationID = .gallery,
        expiration: Expiration = .never, receivedAt: Timestamp = .epoch, notBefore: Timestamp? = nil,
        priority: Priority = .high
    ) -> UnsettledNotification {
        UnsettledNotification(
            NotificationHeader(
                sequence: sequence, id: NotificationID(unchecked: "ntf_\(sequence)"), application: application,
                contentID: "x", priority: priority, expiration: expiration, receivedAt: receivedAt),
            decision: Decision(tier: .can, session: session, reason: "can: TRUEPREDICATE"),
            progress: DeliveryProgress(notBefore: notBefore))
    }
}

extension TransferResult {
    static func status(_ status: Int, retryAfter: Int? = nil) -> TransferResult {
        TransferResult(outcome: .response(ReceivedResponse(status: status, retryAfterSeconds: retryAfter)))
    }

    static func failure(_ kind: TransferFailure.Kind) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: kind, message: "test")))
    }
}

/// A generator that always draws the least value, so that jitter is zero.
///
/// It returns one and not zero: a range whose size is no power of two rejects the lowest draws, and would draw forever.
struct LeastGenerator: RandomNumberGenerator {
    mutating func next() -> UInt64 { 1 }
}
