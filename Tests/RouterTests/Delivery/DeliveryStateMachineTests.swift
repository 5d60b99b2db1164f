import Router
import RouterPlugin
import RouterTesting
import Testing

/// Every state with every event, legal or not.
@Suite("Delivery state machine")
struct DeliveryStateMachineTests {
    typealias Machine = DeliveryStateMachine

    private static let policy = RetryPolicy(schedule: [5, 300, 1800])

    private static func machine(
        _ expiration: Expiration = .never, _ progress: DeliveryProgress = DeliveryProgress()
    ) -> Machine {
        Machine(expiration: expiration, receivedAt: .epoch, progress: progress)
    }

    private static func inFlight(
        _ expiration: Expiration = .never, _ progress: DeliveryProgress = DeliveryProgress()
    ) -> Machine {
        var machine = machine(expiration, progress)
        _ = machine.start(at: .epoch)
        return machine
    }

    private static func settled() -> Machine {
        var machine = inFlight()
        machine.settled(.delivered)
        return machine
    }

    private static func finish(
        _ machine: Machine, _ outcome: ResponseClass, attempt: Int? = nil, at now: Timestamp = .epoch,
        policy: RetryPolicy = policy, hasMoved: Bool = false
    ) -> Machine.FinishAction {
        var generator = LeastGenerator()
        let number = attempt ?? machine.progress.attempts + 1
        return machine.finished(
            attempt: number, outcome, hasMoved: hasMoved, at: now, policy: policy, using: &generator)
    }

    static let outcomes: [ResponseClass] = [
        .success, .misdirected, .rejected, .unauthorized, .backPressure(retryAfterSeconds: nil), .gone,
        .transient(retryAfterSeconds: nil), .unreachable(.timedOut), .unusable, .egressRefused, .payloadMissing,
        .formatFailed, .notSent, .notWritten, .unreachable(.streamEnded), .refused,
    ]

    // MARK: Start

    @Test("Start: only a waiting delivery sends its next attempt")
    func start() {
        var waiting = Self.machine(.never, DeliveryProgress(attempts: 4))
        #expect(waiting.start(at: .epoch) == .send(attempt: 5))
        #expect(waiting.state == .inFlight(attempt: 5))
        #expect(waiting.start(at: .epoch) == .none, "At most one attempt is under way.")
        #expect(waiting.state == .inFlight(attempt: 5))
        var settled = Self.settled()
        #expect(settled.start(at: .epoch) == .none)
        #expect(settled.state == .settled(.delivered))
    }

    @Test(
        "Start: not before its time, and not after it has expired",
        arguments: [
            (.never, nil, .send(attempt: 1)),
            (.never, .second(-1), .send(attempt: 1)),
            (.never, .second(0), .send(attempt: 1)),
            (.never, .second(9), .wait(until: .second(9))),
            (.immediate, nil, .send(attempt: 1)),
            (.immediate, .second(9), .wait(until: .second(9))),
            (.at(.second(1)), nil, .send(attempt: 1)),
            (.at(.second(0)), nil, .settle(.expired)),
            (.at(.second(-1)), nil, .settle(.expired)),
            (.at(.second(1)), .second(9), .wait(until: .second(9))),
            (.at(.second(0)), .second(9), .settle(.expired)),
        ] as [(Expiration, Timestamp?, Machine.StartAction)])
    func startTimes(expiration: Expiration, notBefore: Timestamp?, action: Machine.StartAction) {
        var machine = Self.machine(expiration, DeliveryProgress(notBefore: notBefore))
        #expect(machine.start(at: .epoch) == action)
        #expect(machine.isWaiting == (action != .send(attempt: 1)), "An expiry is settled when it is committed.")
    }

    // MARK: Finished

    @Test("Finished: only the attempt under way can finish", arguments: outcomes)
    func ignored(outcome: ResponseClass) {
        #expect(Self.finish(Self.machine(), outcome, attempt: 1) == .ignore)
        #expect(Self.finish(Self.settled(), outcome, attempt: 1) == .ignore)
        for other in [-1, 0, 2] { #expect(Self.finish(Self.inFlight(), outcome, attempt: other) == .ignore) }
    }

    static let firstOutcomes: [(ResponseClass, Machine.FinishAction)] = [
        (.success, .settle(.delivered)),
        (.unusable, .settle(.deadLettered(.endpointUnusable))),
        (.egressRefused, .settle(.deadLettered(.egressRefused))),
        (.payloadMissing, .settle(.deadLettered(.payloadMissing))),
        (.formatFailed, .settle(.deadLettered(.formatFailed))),
        (.refused, .settle(.deadLettered(.rejectedByReceiver))),
        (.gone, .moveOn(DeliveryProgress(attempts: 1))),
        (.notSent, .retry(DeliveryProgress(notBefore: .second(2)))),
        (.notWritten, .retry(DeliveryProgress())),
        (.unreachable(.streamEnded), .retry(DeliveryProgress(attempts: 1))),
        (.backPressure(retryAfterSeconds: nil), .retry(DeliveryProgress(attempts: 1, notBefore: .second(5)))),
        (.backPressure(retryAfterSeconds: 60), .retry(DeliveryProgress(attempts: 1, notBefore: .second(60)))),
        (.rejected, .retry(DeliveryProgress(attempts: 1, failures: 1, rejections: 1, notBefore: .second(5)))),
        (.misdirected, .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))),
        (.unauthorized, .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))),
        (.unreachable(.tlsFailed), .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))),
        (.transient(retryAfterSeconds: nil), .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))),
        (.transient(retryAfterSeconds: 2), .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))),
        (.transient(retryAfterSeconds: 60), .retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(60)))),
    ]

    @Test("Finished: the first attempt, outcome by outcome", arguments: firstOutcomes)
    func first(outcome: ResponseClass, action: Machine.FinishAction) {
        #expect(Self.finish(Self.inFlight(), outcome) == action)
    }

    @Test("Finished changes nothing: the outcome takes effect when it is committed", arguments: outcomes)
    func pure(outcome: ResponseClass) {
        let machine = Self.inFlight()
        _ = Self.finish(machine, outcome)
        #expect(machine == Self.inFlight())
    }

    @Test("Failures never exceed the policy's maximum")
    func exhaustion() {
        var machine = Self.machine()
        var (now, failures) = (Timestamp.epoch, 0)
        while failures < 9, case .send = machine.start(at: now) {
            failures += 1
            let action = Self.finish(machine, .misdirected, at: now)
            guard case .retry(let progress) = action, let next = progress.notBefore else {
                #expect(action == .settle(.deadLettered(.retriesExhausted)))
                break
            }
            machine.rescheduled(progress)
            #expect(machine.start(at: now) == .wait(until: next))
            now = next
        }
        #expect(failures == Self.policy.maximumFailures)
    }

    @Test("Three rejections end the delivery, after any other failures")
    func rejections() {
        let policy = RetryPolicy(schedule: Array(repeating: 1, count: 50))
        let twice = DeliveryProgress(attempts: 7, failures: 7, rejections: 2)
        #expect(
            Self.finish(Self.inFlight(.never, twice), .rejected, policy: policy)
                == .settle(.deadLettered(.rejectedByReceiver)))
        let once = DeliveryProgress(attempts: 7, failures: 7, rejections: 1)
        guard case .retry(let next) = Self.finish(Self.inFlight(.never, once), .rejected, policy: policy) else {
            Issue.record("The second rejection is not the end.")
            return
        }
        #expect(next.rejections == 2 && next.failures == 8)
    }

    @Test("A rejection with an empty schedule is the end of the schedule")
    func rejectionWithoutSchedule() {
        let action = Self.finish(Self.inFlight(), .rejected, policy: RetryPolicy(schedule: []))
        #expect(action == .settle(.deadLettered(.retriesExhausted)))
    }

    // MARK: Back-pressure

    @Test("Back-pressure uses up nothing during the patience, and a failure each time after that")
    func patience() {
        let pressure = ResponseClass.backPressure(retryAfterSeconds: 10)
        let used = DeliveryProgress(attempts: 400, failures: 2, rejections: 2)
        let machine = Self.inFlight(.never, used)
        let last = Timestamp.second(86_400).advanced(byMilliseconds: -1)
        #expect(
            Self.finish(machine, pressure, at: last)
                == .retry(
                    DeliveryProgress(
                        attempts: 401, failures: 2, rejections: 2, notBefore: last.advanced(byMilliseconds: 10_000))))
        #expect(
            Self.finish(machine, pressure, at: .second(86_400))
                == .retry(
                    DeliveryProgress(attempts: 401, failures: 3, rejections: 2, notBefore: .second(86_400 + 1800))))
        let worn = Self.inFlight(.never, DeliveryProgress(attempts: 400, failures: 3))
        #expect(Self.finish(worn, pressure, at: .second(86_400)) == .settle(.deadLettered(.retriesExhausted)))
    }

    @Test("A lost connection uses up nothing during the patience, and a failure each time after that")
    func lostConnections() {
        let lost = ResponseClass.unreachable(.streamEnded)
        let machine = Self.inFlight(.never, DeliveryProgress(attempts: 400, failures: 2))
        let last = Timestamp.second(86_400).advanced(byMilliseconds: -1)
        #expect(Self.finish(machine, lost, at: last) == .retry(DeliveryProgress(attempts: 401, failures: 2)))
        #expect(
            Self.finish(machine, lost, at: .second(86_400)) == .retry(DeliveryProgress(attempts: 401, failures: 3)))
        let worn = Self.inFlight(.never, DeliveryProgress(attempts: 400, failures: 3))
        #expect(Self.finish(worn, lost, at: .second(86_400)) == .settle(.deadLettered(.retriesExhausted)))
    }

    // MARK: Expiration

    @Test("A delivery with a single attempt is not retried, unless the attempt was not sent", arguments: outcomes)
    func immediate(outcome: ResponseClass) {
        let action = Self.finish(Self.inFlight(.immediate), outcome)
        let expected: Machine.FinishAction =
            switch outcome {
            case .success: .settle(.delivered)
            case .unusable: .settle(.deadLettered(.endpointUnusable))
            case .egressRefused: .settle(.deadLettered(.egressRefused))
            case .payloadMissing: .settle(.deadLettered(.payloadMissing))
            case .formatFailed: .settle(.deadLettered(.formatFailed))
            case .refused: .settle(.deadLettered(.rejectedByReceiver))
            case .gone: .moveOn(DeliveryProgress(attempts: 1))
            case .notSent: .retry(DeliveryProgress(notBefore: .second(2)))
            case .notWritten: .retry(DeliveryProgress())
            default: .settle(.expired)
            }
        #expect(action == expected)
    }

    @Test("A retry after the expiration is not waited for", arguments: [4, 5, 6] as [Int64])
    func tooLate(end: Int64) {
        let retry = Machine.FinishAction.retry(DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))
        let expected = end > 5 ? retry : .settle(.expired)
        #expect(Self.finish(Self.inFlight(.at(.second(end))), .misdirected) == expected)
        #expect(Self.finish(Self.inFlight(.at(.second(end))), .success, at: .second(99)) == .settle(.delivered))
    }

    // MARK: Committed

    @Test("After its session has moved a delivery is retried at once, and nothing else changes", arguments: outcomes)
    func moved(outcome: ResponseClass) {
        for expiration in [.never, .at(.second(4)), .immediate] as [Expiration] {
            let machine = Self.inFlight(expiration)
            let (stayed, moved) = (Self.finish(machine, outcome), Self.finish(machine, outcome, hasMoved: true))
            guard case .retry(let next) = moved else {
                #expect(moved == stayed, "\(expiration)")
                continue
            }
            #expect(next.notBefore == nil)
            switch stayed {
            case .retry(var waiting):
                waiting.notBefore = nil
                #expect(waiting == next)
            default: #expect(stayed == .settle(.expired) && expiration == .at(.second(4)), "there would be no time")
            }
            let isLate = Self.finish(machine, outcome, at: .second(4), hasMoved: true) == .settle(.expired)
            #expect(isLate == (expiration == .at(.second(4)) && outcome.isAttempt))
        }
    }

    @Test("Settled stays settled")
    func settledStays() {
        var machine = Self.settled()
        machine.settled(.expired)
        #expect(machine.state == .settled(.delivered))
        machine.rescheduled(DeliveryProgress(attempts: 9))
        #expect(machine.state == .settled(.delivered))
        #expect(!machine.isWaiting)
    }

    @Test("A committed retry waits with the new progress")
    func rescheduled() {
        var machine = Self.inFlight()
        let progress = DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5))
        machine.rescheduled(progress)
        #expect(machine.isWaiting && machine.progress == progress)
        #expect(machine.start(at: .second(4)) == .wait(until: .second(5)))
        #expect(machine.start(at: .second(5)) == .send(attempt: 2))
    }

    @Test("A waiting delivery can be settled: it has expired, or its application was deleted")
    func settledWhileWaiting() {
        var machine = Self.machine()
        machine.settled(.expired)
        #expect(machine.start(at: .epoch) == .none)
    }
}
