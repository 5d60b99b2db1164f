import Router
import RouterPlugin
import RouterTesting
import Testing

/// Waits that began under a clock that was ahead must not last as long as the clock was ahead.
@Suite("Engine: a clock that was ahead")
struct CorrectedClockTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)
    private static let hour: Int64 = 3_600_000
    private static let year = 365 * 24 * hour

    private static func waiting(acceptedAfter lead: Int64, notBefore: Int64?, heldUntil: Int64? = nil) -> RecoveredState
    {
        var application = Application.gallery()
        application.delivery.retrySchedule = [5, 172_800]
        let received = now.advanced(byMilliseconds: lead)
        let notification = UnsettledNotification(
            NotificationHeader(
                sequence: NotificationSequence(1), id: NotificationID(unchecked: "ntf_1"), application: application.id,
                receivedAt: received),
            decision: Decision(tier: .can, session: "A", reason: "can: TRUEPREDICATE"),
            progress: DeliveryProgress(attempts: 1, failures: 1, notBefore: notBefore.map(now.advanced)),
            heldUntil: heldUntil.map(now.advanced))
        return RecoveredState(applications: [application], unsettled: [notification])
    }

    /// The state after the correction, and the expected one.
    private static func corrected(_ state: RecoveredState) -> RecoveredState {
        var corrected = state
        let isCorrected = corrected.correct(at: now)
        #expect(isCorrected == (corrected != state))
        return corrected
    }

    private static func found(_ state: RecoveredState) -> UnsettledNotification { corrected(state).unsettled[0] }

    @Test func timeInTheQueueShortensTheHold() {
        let state = Self.waiting(
            acceptedAfter: Self.year, notBefore: Self.year + 5000, heldUntil: Self.year + 2 * Self.hour)
        #expect(Self.found(state).progress.notBefore == Self.now.advanced(byMilliseconds: 5000))
        #expect(Self.found(state).heldUntil == Self.now.advanced(byMilliseconds: 2 * Self.hour))
        #expect(Self.found(state).progress.failures == 1)
    }

    @Test func aWaitThatIsLongerThanAnyIsOver() {
        #expect(Self.found(Self.waiting(acceptedAfter: -1, notBefore: Self.year)).progress.notBefore == Self.now)
    }

    /// The schedule has a wait of two days, plus jitter of a fifth.
    @Test(arguments: [0, 5000, 3_600_000, 172_800_000 * 6 / 5])
    func legalStatesStay(wait: Int64) {
        let state = Self.waiting(acceptedAfter: -5000, notBefore: wait, heldUntil: Self.year)
        #expect(Self.corrected(state) == state)
    }

    @Test func sessionsWereActiveByNow() {
        var session = Scene("A", .foregroundActive).session(created: 1)
        session.lastActivatedAt = Self.now.advanced(byMilliseconds: Self.year)
        session.leaseSeconds = 60
        session.leaseExpiresAt = Self.now.advanced(byMilliseconds: Self.year)
        let state = RecoveredState(applications: [.gallery()], sessions: [session])
        let found = Self.corrected(state).sessions[0]
        #expect(found.lastActivatedAt == Self.now)
        #expect(found.leaseExpiresAt == Self.now.advanced(byMilliseconds: 60_000))

        session.lastActivatedAt = Self.now.advanced(byMilliseconds: -1)
        session.leaseExpiresAt = Self.now.advanced(byMilliseconds: 59_000)
        let right = RecoveredState(applications: [.gallery()], sessions: [session])
        #expect(Self.corrected(right) == right)
    }
}
