import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// All lanes of an application are taken out of one planner and put into another.
@Suite("The lane planner: moving the lanes of an application")
struct MovingLanesTests {
    private static let url = "https://one.example/"

    private static func steps(
        _ planner: inout LanePlanner, at now: Timestamp = .epoch, maxInFlight: Int = 1
    ) -> [LanePlanner.Step] {
        var steps: [LanePlanner.Step] = []
        while let step = planner.next(at: now, terms: { _ in LaneTerms(url: url, maxInFlight: maxInFlight) }) {
            steps.append(step)
        }
        return steps
    }

    /// The attempts among the steps: the delivery, and the number of the attempt.
    private static func attempts(_ steps: [LanePlanner.Step]) -> [NotificationSequence: Int] {
        steps.reduce(into: [:]) { attempts, step in
            if case .attempt(_, let delivery, let number) = step { attempts[delivery.notification.sequence] = number }
        }
    }

    private static func enqueue(
        _ planner: inout LanePlanner, _ sequence: NotificationSequence, to session: SessionID,
        of application: ApplicationID = .gallery, expiration: Expiration = .never, recall: Recall? = nil
    ) {
        var notification = UnsettledNotification.numbered(
            sequence, to: session, of: application, expiration: expiration)
        notification.recall = recall
        planner.enqueue(
            QueuedDelivery(notification, payload: .json([1, 2, 3])),
            in: SessionKey(application: application, session: session), sessionExists: true)
    }

    /// A lane with an attempt under way and two deliveries behind it, and one that retries; and a lane of another application.
    private static func busy() -> LanePlanner {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 9))
        enqueue(&planner, 1, to: "A")
        enqueue(&planner, 2, to: "A")
        enqueue(&planner, 3, to: "A", expiration: .at(.second(60)))
        enqueue(&planner, 4, to: "B")
        enqueue(&planner, 5, to: "C", of: .other)
        #expect(attempts(steps(&planner)) == [1: 1, 4: 1, 5: 1])
        planner.reschedule(4, DeliveryProgress(attempts: 1, failures: 1, notBefore: .second(5)))
        #expect(steps(&planner) == [.wake(.gallery("B"), at: .second(5))])
        return planner
    }

    @Test("The taken lanes hold every delivery, in order, and none is left behind")
    func taken() throws {
        var planner = Self.busy()
        let taken = planner.takeLanes(of: .gallery)
        let lanes = try #require(taken)
        #expect(lanes.application == .gallery)
        #expect(lanes.lanes["A"]?.queue.map(\.notification.sequence) == [1, 2, 3])
        #expect(lanes.lanes["B"]?.queue.map(\.notification.sequence) == [4])
        #expect(Array(planner.lanes.keys) == [SessionKey(application: .other, session: "C")])
        #expect(planner.count == 1 && planner.lane(of: 1) == nil && planner.delivery(4) == nil)
        #expect(planner.payloadBytes == 0, "The payload of the other application is with its attempt.")
        let again = planner.takeLanes(of: .gallery)
        #expect(again == nil)
    }

    @Test("A delivery with an attempt under way is in doubt, and waits; waiting and retrying ones are unchanged")
    func inDoubt() throws {
        var planner = Self.busy()
        let before = (2...4).map { planner.delivery(NotificationSequence($0)) }
        let taken = planner.takeLanes(of: .gallery)
        let lanes = try #require(taken)
        let first = try #require(lanes.lanes["A"]?.queue.first)
        #expect(first.notification.isInDoubt && first.machine.state == .waiting && first.payload == nil)
        #expect(first.machine.progress == DeliveryProgress(), "The attempt has not been recorded.")
        #expect(lanes.lanes["A"]?.inFlight == 0)
        let others = [lanes.lanes["A"]?.delivery(2), lanes.lanes["A"]?.delivery(3), lanes.lanes["B"]?.delivery(4)]
        #expect(others == before && others.allSatisfy { $0?.notification.isInDoubt == false })
    }

    @Test("The other planner goes on: it repeats the attempt in doubt under its number, and the retry at its time")
    func goesOn() throws {
        var (planner, other) = (Self.busy(), LanePlanner(caps: DeliveryCaps(slots: 9)))
        let taken = planner.takeLanes(of: .gallery)
        other.put(try #require(taken))
        #expect(
            other.count == 4 && other.payloadBytes == 6, "The payloads of deliveries that were tried are in the store.")
        let steps = Self.steps(&other)
        #expect(Self.attempts(steps) == [1: 1])
        #expect(steps.contains(.wake(.gallery("B"), at: .second(5))))
        other.timeHasCome(for: .gallery("B"))
        #expect(Self.attempts(Self.steps(&other, at: .second(5))) == [4: 2])
        other.remove(1)
        #expect(Self.attempts(Self.steps(&other, at: .second(6))) == [2: 1])
        other.remove(2)
        other.remove(4)
        #expect(Self.steps(&other, at: .second(60)) == [.ended(3)])
        other.remove(3)
        #expect(other.lanes.isEmpty && other.payloadBytes == 0 && other.inFlight == 0)
    }

    @Test("Attempts under way leave their resources to the other applications of the node")
    func resourcesAreFree() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 9, perOrigin: 1))
        Self.enqueue(&planner, 1, to: "A")
        Self.enqueue(&planner, 2, to: "B")
        Self.enqueue(&planner, 3, to: "C", of: .other)
        #expect(Self.attempts(Self.steps(&planner)) == [1: 1])
        let taken = planner.takeLanes(of: .gallery)
        #expect(taken != nil)
        #expect(planner.inFlight == 0)
        #expect(Self.attempts(Self.steps(&planner)) == [3: 1])
        planner.remove(3)
        #expect(Self.steps(&planner).isEmpty && planner.lanes.isEmpty)
    }

    @Test("The outcome of an attempt that was under way has no effect in the first planner")
    func lateOutcome() {
        var planner = Self.busy()
        let taken = planner.takeLanes(of: .gallery)
        #expect(taken != nil)
        planner.reschedule(1, DeliveryProgress(attempts: 1))
        let removed = planner.remove(1)
        #expect(removed == nil)
        #expect(planner.inFlight == 1 && planner.count == 1)
    }

    @Test("A closed lane arrives closed, a leaving lane leaving, and neither starts a notification")
    func flags() throws {
        var (planner, other) = (Self.busy(), LanePlanner(caps: DeliveryCaps(slots: 9)))
        planner.close(.gallery("A"))
        planner.leave(.gallery("B"))
        let taken = planner.takeLanes(of: .gallery)
        other.put(try #require(taken))
        #expect(other.lanes[.gallery("A")]?.isClosed == true && other.lanes[.gallery("B")]?.isLeaving == true)
        #expect(Self.attempts(Self.steps(&other, at: .second(9))).isEmpty)
        #expect(other.lanes.filter(\.value.needsDraining).map(\.key).sorted() == [.gallery("A"), .gallery("B")])
    }

    @Test("An uncommitted end, by expiration or recall, is found again")
    func ends() throws {
        var (planner, other) = (LanePlanner(caps: DeliveryCaps(slots: 9)), LanePlanner(caps: DeliveryCaps(slots: 9)))
        Self.enqueue(&planner, 1, to: "A", expiration: .at(.epoch))
        Self.enqueue(&planner, 2, to: "B", recall: .cancelled)
        let ends: Set<LanePlanner.Step> = [.ended(1), .ended(2)]
        #expect(Set(Self.steps(&planner)) == ends)
        let taken = planner.takeLanes(of: .gallery)
        other.put(try #require(taken))
        #expect(Set(Self.steps(&other)) == ends)
    }
}
