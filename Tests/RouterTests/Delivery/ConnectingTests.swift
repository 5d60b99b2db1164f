import RouterPlugin
import Testing

@testable import Router

/// The delivery of a lane that would tell its session to connect: the next one to start, and none that is gated.
@Suite("Lanes: the next connecting delivery")
struct ConnectingTests {
    private static func lane(_ events: [NotificationSequence: SceneEventKind], of sequences: [NotificationSequence])
        -> Lane
    {
        var lane = Lane()
        for sequence in sequences {
            var notification = UnsettledNotification.numbered(sequence)
            notification.event = events[sequence].map { SceneEvent($0) }
            lane.enqueue(QueuedDelivery(notification, payload: .json([1])))
        }
        return lane
    }

    private static func terms(isGated: Bool, connects: Bool = true) -> LaneTerms {
        LaneTerms(url: "https://a.example/", connects: connects, isGated: isGated)
    }

    @Test("A notification connects an unconnected session, unless the gate is closed")
    func notification() {
        let lane = Self.lane([:], of: [1, 2])
        #expect(lane.nextConnect(Self.terms(isGated: false), at: .epoch) == 1)
        #expect(lane.nextConnect(Self.terms(isGated: true), at: .epoch) == nil)
        #expect(lane.nextConnect(Self.terms(isGated: false, connects: false), at: .epoch) == nil)
    }

    @Test("An event passes gated notifications, and connects")
    func event() {
        let lane = Self.lane([2: .willConnect], of: [1, 2])
        #expect(lane.nextConnect(Self.terms(isGated: true), at: .epoch) == 2)
        // Before that event the session is not connected, so the notification connects it.
        #expect(lane.nextConnect(Self.terms(isGated: false), at: .epoch) == 1)
    }

    @Test("A notification that waits until the session has been told of the open gate does not connect")
    func opening() {
        let lane = Self.lane([2: .showApplicationScreen], of: [1, 2])
        #expect(lane.nextConnect(Self.terms(isGated: false), at: .epoch) == nil)
    }
}
