import Router
import RouterPlugin
import Testing

@Suite("The lane planner")
struct LanePlannerTests {
    private static func key(_ session: SessionID) -> SessionKey { SessionKey(application: .gallery, session: session) }

    /// Every session has an endpoint of its own.
    private static func terms(of key: SessionKey, _ maxInFlight: Int) -> LaneTerms? {
        LaneTerms(url: "https://\(key.session).example/", maxInFlight: maxInFlight)
    }

    /// All steps that the planner returns now.
    private static func steps(
        _ planner: inout LanePlanner, at now: Timestamp = .epoch, maxInFlight: Int = 1
    ) -> [LanePlanner.Step] {
        var steps: [LanePlanner.Step] = []
        while let step = planner.next(at: now, terms: { terms(of: $0, maxInFlight) }) { steps.append(step) }
        return steps
    }

    private static func attempts(
        _ planner: inout LanePlanner, at now: Timestamp = .epoch, maxInFlight: Int = 1
    ) -> [Int64] {
        steps(&planner, at: now, maxInFlight: maxInFlight).compactMap { step in
            if case .attempt(_, let delivery, _) = step { delivery.notification.sequence.value } else { nil }
        }
    }

    private static func planner(
        _ deliveries: [(SessionID, NotificationSequence)], maximumInFlight: Int = 99, payload: [UInt8]? = nil
    ) -> LanePlanner {
        var planner = LanePlanner(caps: DeliveryCaps(slots: maximumInFlight))
        for (session, sequence) in deliveries {
            planner.enqueue(
                QueuedDelivery(.numbered(sequence, to: session), payload: payload.map(MessagePayload.json)),
                in: key(session),
                sessionExists: true)
        }
        return planner
    }

    @Test("Lanes are served in turn, one attempt each")
    func fairness() {
        let busy = (1...6).map { ("A" as SessionID, NotificationSequence($0)) }
        var planner = Self.planner(busy + [("B", 7), ("C", 8), ("C", 9)])
        #expect(Self.attempts(&planner, maxInFlight: 3) == [1, 7, 8, 2, 9, 3])
    }

    @Test("A delivery recalled before a crash ends at once, though every slot is taken")
    func recalledEndsWithoutASlot() {
        var planner = Self.planner([("A", 1)], maximumInFlight: 1)
        #expect(Self.attempts(&planner) == [1])
        var recalled = UnsettledNotification.numbered(2, to: "B")
        recalled.recall = .cancelled
        planner.enqueue(QueuedDelivery(recalled, payload: nil), in: Self.key("B"), sessionExists: true)
        #expect(Self.steps(&planner) == [.ended(2)])
        #expect(Self.steps(&planner) == [])
    }

    @Test("A lane with a thousand deliveries costs its neighbour one turn, however often the neighbour empties")
    func fairnessUnderLoad() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 1))
        for sequence in 1...1000 as ClosedRange<Int64> {
            let delivery = QueuedDelivery(.numbered(NotificationSequence(sequence)), payload: nil)
            planner.enqueue(delivery, in: Self.key("A"), sessionExists: true)
        }
        var served: [SessionID] = []
        for round in 0..<300 as Range<Int64> {
            // B's lane empties after each delivery and is created again while its name may still be in the turns.
            if planner.lanes[Self.key("B")] == nil {
                let delivery = QueuedDelivery(.numbered(NotificationSequence(2000 + round), to: "B"), payload: nil)
                planner.enqueue(delivery, in: Self.key("B"), sessionExists: true)
            }
            for step in Self.steps(&planner) {
                guard case .attempt(let key, let delivery, _) = step else { continue }
                served.append(key.session)
                planner.remove(delivery.notification.sequence)
            }
        }
        let turns = zip(served, served.dropFirst()).filter { $0 == $1 }
        #expect(served.count == 300)
        #expect(turns.count <= 1, "No lane is served twice in a row while the other waits.")
    }

    @Test("No more attempts are under way than the global limit, and a finished one frees its slot")
    func globalLimit() {
        var planner = Self.planner([("A", 1), ("B", 2), ("C", 3)], maximumInFlight: 2)
        #expect(Self.attempts(&planner) == [1, 2])
        #expect(planner.inFlight == 2)
        planner.remove(1)
        #expect(Self.attempts(&planner) == [3])
        planner.reschedule(2, DeliveryProgress(attempts: 1, notBefore: .second(9)))
        #expect(planner.inFlight == 1)
    }

    @Test("A waiting lane asks for one timer, and goes on when it fires")
    func timers() {
        var planner = Self.planner([("A", 1), ("A", 2)])
        _ = Self.attempts(&planner)
        planner.reschedule(1, DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))
        #expect(Self.steps(&planner) == [.wake(Self.key("A"), at: .second(5))])
        for _ in 0..<3 {
            planner.wake(Self.key("A"))
            #expect(Self.steps(&planner).isEmpty)
        }
        planner.wake(Self.key("A"))
        #expect(Self.attempts(&planner, at: .second(5)) == [1])
        planner.reschedule(1, DeliveryProgress(attempts: 2, failures: 2, notBefore: .second(305)))
        #expect(Self.steps(&planner, at: .second(5)) == [.wake(Self.key("A"), at: .second(305))])
    }

    @Test("An expired delivery is reported once, and the next one starts")
    func expired() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 9))
        let late = UnsettledNotification.numbered(1, expiration: .at(.epoch))
        planner.enqueue(QueuedDelivery(late, payload: nil), in: Self.key("A"), sessionExists: true)
        planner.enqueue(QueuedDelivery(.numbered(2), payload: nil), in: Self.key("A"), sessionExists: true)
        let steps = Self.steps(&planner)
        #expect(steps.count == 2 && steps.first == .ended(1))
        #expect(planner.inFlight == 1)
    }

    @Test("A closed lane starts no attempt, a reopened one goes on")
    func closing() {
        var planner = Self.planner([("A", 1), ("A", 2)])
        planner.close(Self.key("A"))
        #expect(Self.steps(&planner).isEmpty)
        planner.wake(Self.key("A"))
        #expect(Self.steps(&planner).isEmpty)
        planner.reopen(Self.key("A"))
        #expect(Self.attempts(&planner) == [1])
        planner.reopen(Self.key("A"))
        planner.close(Self.key("unknown"))
        planner.reopen(Self.key("unknown"))
        #expect(Self.attempts(&planner).isEmpty)
    }

    @Test("A lane that was closed when its timer fired goes on when it is reopened")
    func closedAtItsTime() {
        var planner = Self.planner([("A", 1)])
        _ = Self.attempts(&planner)
        planner.reschedule(1, DeliveryProgress(attempts: 1, notBefore: .second(5)))
        _ = Self.steps(&planner)
        planner.close(Self.key("A"))
        planner.wake(Self.key("A"))
        planner.reopen(Self.key("A"))
        #expect(Self.attempts(&planner, at: .second(5)) == [1])
    }

    @Test("A delivery for a deleted session is in a closed lane")
    func withoutReceiver() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 9))
        planner.enqueue(QueuedDelivery(.numbered(1), payload: nil), in: Self.key("A"), sessionExists: false)
        #expect(Self.steps(&planner).isEmpty)
        #expect(planner.lanes[Self.key("A")]?.needsDraining == true)
    }

    @Test("An empty lane is forgotten")
    func emptyLane() {
        var planner = Self.planner([("A", 1)])
        #expect(planner.lane(of: 1) == Self.key("A") && planner.count == 1)
        #expect(planner.remove(1)?.notification.sequence == 1)
        #expect(planner.lanes.isEmpty && planner.count == 0 && planner.lane(of: 1) == nil)
        #expect(planner.remove(1) == nil)
        #expect(Self.steps(&planner).isEmpty)
    }

    // MARK: Memory

    @Test("The count of payload bytes in memory includes every way in and out")
    func payloadBytes() {
        var planner = Self.planner([("A", 1), ("A", 2), ("B", 3)], payload: [1, 2, 3])
        #expect(planner.payloadBytes == 9)
        #expect(Self.attempts(&planner) == [1, 3])
        #expect(planner.payloadBytes == 3, "The transport has the payload now.")
        planner.reschedule(1, DeliveryProgress(attempts: 1))
        planner.remove(3)
        #expect(planner.payloadBytes == 3)
        planner.remove(2)
        planner.remove(1)
        #expect(planner.payloadBytes == 0)
    }

    @Test("Beyond the limit payloads stay in the store")
    func payloadLimit() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 1))
        let payload = [UInt8](repeating: 0, count: RouterLimits.payloadBytesInMemory / 2)
        for (sequence, bytes) in [(1, payload), (2, payload), (3, [7])] as [(Int64, [UInt8])] {
            let delivery = QueuedDelivery(.numbered(NotificationSequence(sequence)), payload: .json(bytes))
            planner.enqueue(delivery, in: Self.key("A"), sessionExists: true)
        }
        #expect(planner.payloadBytes == RouterLimits.payloadBytesInMemory)
        #expect(planner.delivery(2)?.payload != nil)
        #expect(planner.delivery(3)?.payload == nil)
    }
}
