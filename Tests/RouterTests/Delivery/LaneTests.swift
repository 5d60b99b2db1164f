import Router
import RouterPlugin
import Testing

@Suite("Lanes")
struct LaneTests {
    private static func lane(_ sequences: [NotificationSequence]) -> Lane {
        var lane = Lane()
        for sequence in sequences { lane.enqueue(QueuedDelivery(.numbered(sequence), payload: .json([1]))) }
        return lane
    }

    /// The numbers of the attempts that the lane offers one after another.
    private static func offers(_ lane: inout Lane, maxInFlight: Int, at now: Timestamp = .epoch) -> [Int64] {
        var offered: [Int64] = []
        while case .attempt(let delivery, _) = lane.offer(at: now, maxInFlight: maxInFlight) {
            offered.append(delivery.notification.sequence.value)
        }
        return offered
    }

    @Test("First in, first out, with as many attempts at once as the lane allows", arguments: [1, 3])
    func order(maxInFlight: Int) {
        var lane = Self.lane([1, 2, 3, 4, 5])
        var sent: [Int64] = []
        var underWay: [Int64] = []
        for _ in 0..<5 {
            let offered = Self.offers(&lane, maxInFlight: maxInFlight)
            sent += offered
            underWay += offered
            #expect(underWay.count <= maxInFlight && lane.inFlight == underWay.count)
            if let first = underWay.first { lane.remove(NotificationSequence(first)) }
            underWay = Array(underWay.dropFirst())
        }
        #expect(sent == [1, 2, 3, 4, 5])
        #expect(lane.inFlight == 0)
    }

    @Test("A delivery that returns takes its place in the order of acceptance")
    func reinsertion() {
        var lane = Self.lane([10, 20, 30])
        lane.enqueue(QueuedDelivery(.numbered(25), payload: nil))
        lane.enqueue(QueuedDelivery(.numbered(5), payload: nil))
        #expect(lane.queue.map(\.notification.sequence.value) == [5, 10, 20, 25, 30])
    }

    @Test("A delivery that waits for its retry holds back those behind it", arguments: [1, 3])
    func headOfLine(maxInFlight: Int) {
        var lane = Self.lane([1, 2])
        guard case .attempt(_, number: 1) = lane.offer(at: .epoch, maxInFlight: 1) else {
            Issue.record("Nothing is offered.")
            return
        }
        lane.reschedule(1, DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))
        #expect(lane.inFlight == 0)
        #expect(lane.offer(at: .second(4), maxInFlight: maxInFlight) == .wait(until: .second(5)))
        guard case .attempt(let delivery, number: 2) = lane.offer(at: .second(5), maxInFlight: maxInFlight) else {
            Issue.record("The retry is not offered.")
            return
        }
        #expect(delivery.notification.sequence == 1)
    }

    @Test("After a failure among several attempts under way, the others go on and no later delivery starts")
    func failureAmongSeveral() {
        var lane = Self.lane([1, 2, 3, 4])
        #expect(Self.offers(&lane, maxInFlight: 3) == [1, 2, 3])
        lane.reschedule(1, DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))
        #expect(lane.offer(at: .epoch, maxInFlight: 3) == .wait(until: .second(5)))
        lane.remove(2)
        #expect(lane.offer(at: .epoch, maxInFlight: 3) == .wait(until: .second(5)))
        #expect(Self.offers(&lane, maxInFlight: 3, at: .second(5)) == [1, 4])
    }

    /// A lane whose first delivery waits for its retry after this many attempts.
    private static func waiting(after attempts: Int) -> Lane {
        var lane = lane([1, 2, 3])
        for number in 1...attempts {
            _ = lane.offer(at: .epoch, maxInFlight: 1)
            let notBefore = number == attempts ? Timestamp.second(9) : nil
            lane.reschedule(1, DeliveryProgress(attempts: number, failures: number, notBefore: notBefore))
        }
        return lane
    }

    @Test(
        "A waiting delivery may be overtaken after the set number of attempts, and comes first again at its time",
        arguments: [(1, nil, false), (5, nil, false), (1, 2, false), (2, 2, true), (1, 1, true)] as [(Int, Int?, Bool)])
    func overtaking(attempts: Int, after: Int?, isOvertaken: Bool) {
        var lane = Self.waiting(after: attempts)
        guard isOvertaken else {
            #expect(lane.offer(at: .epoch, maxInFlight: 1, overtakenAfter: after) == .wait(until: .second(9)))
            return
        }
        guard case .attempt(let second, _) = lane.offer(at: .epoch, maxInFlight: 1, overtakenAfter: after) else {
            Issue.record("The second one waits.")
            return
        }
        #expect(second.notification.sequence == 2)
        lane.remove(2)
        guard case .attempt(let first, _) = lane.offer(at: .second(9), maxInFlight: 1, overtakenAfter: after) else {
            Issue.record("The first one waits beyond its time.")
            return
        }
        #expect(first.notification.sequence == 1)
    }

    @Test("Only a limited number is overtaken at a time; then order holds again")
    func overtakingIsBounded() {
        let count = Int64(RouterLimits.overtakenDeliveries)
        var lane = Self.lane((1...count + 2).map { NotificationSequence($0) })
        for sequence in 1...count + 1 {
            guard case .attempt(let delivery, _) = lane.offer(at: .epoch, maxInFlight: 1, overtakenAfter: 1) else {
                Issue.record("\(sequence) is not offered.")
                return
            }
            #expect(delivery.notification.sequence.value == sequence)
            lane.reschedule(
                delivery.notification.sequence, DeliveryProgress(attempts: 1, notBefore: .second(100 + sequence)))
        }
        #expect(lane.offer(at: .epoch, maxInFlight: 1, overtakenAfter: 1) == .wait(until: .second(101)))
    }

    @Test("A delivery that may not start is held, and ends if it expires meanwhile")
    func held() {
        var lane = Self.lane([1])
        lane.enqueue(QueuedDelivery(.numbered(2, expiration: .at(.second(7))), payload: nil))
        #expect(lane.offer(at: .epoch, maxInFlight: 1, isPermitted: false) == .held(until: .second(7)))
        #expect(lane.offer(at: .second(7), maxInFlight: 1, isPermitted: false) == .ended(2))
        #expect(lane.offer(at: .second(7), maxInFlight: 1, isPermitted: false) == .held(until: nil))
        #expect(Self.offers(&lane, maxInFlight: 1, at: .second(7)) == [1])
    }

    @Test("A lane is as urgent as its most urgent waiting delivery")
    func urgency() {
        var lane = Lane()
        #expect(lane.urgency == nil)
        for (sequence, priority) in [(1, Priority.low), (2, .high), (3, .normal)] as [(NotificationSequence, Priority)]
        {
            lane.enqueue(QueuedDelivery(.numbered(sequence, priority: priority), payload: nil))
        }
        #expect(lane.urgency == .high)
        _ = Self.offers(&lane, maxInFlight: 2)
        #expect(lane.urgency == .normal)
        lane.reschedule(2, DeliveryProgress(attempts: 1))
        #expect(lane.urgency == .high)
        lane.remove(2)
        lane.remove(3)
        #expect(lane.urgency == nil && lane.inFlight == 1)
    }

    @Test("An expired delivery is offered for its settlement once, and does not hold back others")
    func expired() {
        var lane = Lane()
        lane.enqueue(QueuedDelivery(.numbered(1, expiration: .at(.second(0))), payload: nil))
        lane.enqueue(QueuedDelivery(.numbered(2), payload: nil))
        #expect(lane.offer(at: .epoch, maxInFlight: 1) == .ended(1))
        #expect(lane.waiting(limit: 9).map(\.notification.sequence) == [2])
        #expect(Self.offers(&lane, maxInFlight: 1) == [2])
    }

    @Test("A closed lane offers nothing and lists the deliveries to move")
    func closed() {
        var lane = Self.lane([1, 2, 3])
        _ = Self.offers(&lane, maxInFlight: 1)
        lane.isClosed = true
        #expect(lane.needsDraining)
        #expect(lane.offer(at: .epoch, maxInFlight: 3) == .nothing)
        #expect(lane.waiting(limit: 9).map(\.notification.sequence) == [2, 3])
        #expect(lane.waiting(limit: 1).map(\.notification.sequence) == [2])
        lane.remove(2)
        lane.remove(3)
        #expect(!lane.needsDraining, "An attempt under way stays until its outcome is known.")
        lane.reschedule(1, DeliveryProgress(attempts: 1))
        #expect(lane.needsDraining)
    }

    @Test("A payload is handed over once; later it is read from the store")
    func payload() {
        var lane = Self.lane([1])
        guard case .attempt(let first, _) = lane.offer(at: .epoch, maxInFlight: 1) else {
            Issue.record("No attempt is offered.")
            return
        }
        #expect(first.payload == .json([1]))
        lane.reschedule(1, DeliveryProgress(attempts: 1))
        guard case .attempt(let second, _) = lane.offer(at: .epoch, maxInFlight: 1) else {
            Issue.record("No second attempt is offered.")
            return
        }
        #expect(second.payload == nil)
    }

    @Test("A delivery that is not in the lane changes nothing")
    func unknown() {
        var lane = Self.lane([1])
        #expect(lane.remove(9) == nil)
        lane.reschedule(9, DeliveryProgress(attempts: 7))
        #expect(lane.delivery(9) == nil && lane.delivery(1)?.machine.progress.attempts == 0)
    }
}
