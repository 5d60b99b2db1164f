import RouterPlugin
import Testing

@testable import Router

/// The memory of a waiting delivery, of which there may be a million.
@Suite("The memory of waiting deliveries")
struct WaitingMemoryTests {
    private static func key(_ session: SessionID) -> SessionKey { SessionKey(application: .gallery, session: session) }

    private static func delivery(_ sequence: NotificationSequence, to session: SessionID, about content: String)
        -> QueuedDelivery
    {
        var notification = UnsettledNotification.numbered(sequence, to: session)
        notification.contentID = ContentID(unchecked: content)
        // A text of its own each time, too long to lie within the value.
        notification.decision.reason = ["the best of", "several sessions"].joined(separator: " ")
        return QueuedDelivery(notification, payload: nil)
    }

    private static func storage(_ text: String?) -> UnsafePointer<UInt8>? {
        text?.utf8.withContiguousStorageIfAvailable { $0.baseAddress } ?? nil
    }

    @Test("a delivery takes 224 bytes in its lane")
    func size() { #expect(MemoryLayout<QueuedDelivery>.stride <= 224) }

    @Test("deliveries of a lane share the storage of equal texts")
    func sharing() {
        var lane = Lane()
        for (number, name) in ["one", "one", "two"].enumerated() {
            lane.enqueue(
                Self.delivery(
                    NotificationSequence(Int64(number)), to: "A", about: "myapp://a-long-document/" + String(name)))
        }
        let contents = lane.queue.map { $0.notification.contentID?.text }
        #expect(contents == ["one", "one", "two"].map { "myapp://a-long-document/" + $0 })
        #expect(Self.storage(contents[0]) != nil && Self.storage(contents[0]) == Self.storage(contents[1]))
        let reasons = lane.queue.map { $0.notification.decision.reason }
        #expect(Self.storage(reasons[0]) != nil && Self.storage(reasons[0]) == Self.storage(reasons[2]))
    }

    @Test("texts that Swift holds for equal keep their own bytes")
    func spellings() {
        let spellings = ["a-long-document/caf\u{e9}", "a-long-document/cafe\u{301}"]
        var lane = Lane()
        for (number, content) in spellings.enumerated() {
            lane.enqueue(Self.delivery(NotificationSequence(Int64(number)), to: "A", about: content))
        }
        #expect(
            lane.queue.map { Array(($0.notification.contentID?.text ?? "").utf8) } == spellings.map { Array($0.utf8) })
    }

    @Test("a new lane takes the number of a lane that is gone")
    func numbers() {
        var planner = LanePlanner(caps: DeliveryCaps(slots: 9))
        for (sequence, session) in [(1, "A"), (2, "B"), (3, "C")] as [(NotificationSequence, SessionID)] {
            planner.enqueue(
                Self.delivery(sequence, to: session, about: "photo"), in: Self.key(session), sessionExists: true)
        }
        let number = planner.lanes[Self.key("A")]?.number
        #expect(planner.remove(1) != nil)
        planner.enqueue(Self.delivery(4, to: "D", about: "photo"), in: Self.key("D"), sessionExists: true)
        #expect(planner.lanes[Self.key("D")]?.number == number)
        let lanes = [1, 2, 3, 4].map { planner.lane(of: NotificationSequence($0)) }
        #expect(lanes == [nil, Self.key("B"), Self.key("C"), Self.key("D")])
        let taken = planner.takeLanes(of: .gallery)
        #expect(planner.lane(of: 2) == nil)
        if let taken { planner.put(taken) }
        #expect(planner.lane(of: 4) == Self.key("D") && planner.lane(of: 2) == Self.key("B"))
    }

    @Test("a field that returns to its usual value leaves no trace")
    func rareFields() {
        let usual = UnsettledNotification.numbered(1)
        var changed = usual
        changed.header.collapseID = "score"
        changed.decision.rerouteOf = "A"
        changed.heldUntil = .second(5)
        #expect(changed != usual && changed.isHeld && changed.collapseID == "score")
        #expect(changed.decision.rerouteOf == "A" && changed.decision.vetoes.isEmpty && changed.heldBy == nil)
        changed.header.collapseID = nil
        changed.decision.rerouteOf = nil
        changed.heldUntil = nil
        #expect(changed == usual && changed.hashValue == usual.hashValue)
    }

    @Test("progress keeps its counts, and no time apart from a time")
    func progress() {
        var progress = DeliveryProgress(attempts: 3, failures: 2, rejections: 1, notBefore: Timestamp(milliseconds: 0))
        #expect((progress.attempts, progress.failures, progress.rejections) == (3, 2, 1))
        #expect(progress.notBefore == Timestamp(milliseconds: 0))
        progress.notBefore = nil
        progress.attempts = Int.max
        #expect(progress.notBefore == nil && progress.attempts == Int(Int32.max))
    }
}
