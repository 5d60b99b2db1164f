import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// Deliveries that expire in a lane, compared with a scan of every delivery.
@Suite("Lane expiry")
struct LaneExpiryTests {
    @Test("The next delivery to expire is the one that a scan of all of them finds", arguments: 0..<40)
    func asALookAtAll(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func draw(_ range: Range<Int64>) -> Int64 { .random(in: range, using: &generator) }
        var lane = Lane()
        var (now, sequence, ended) = (Timestamp.epoch, NotificationSequence(0), 0)
        var underWay: Set<NotificationSequence> = []
        // Their ends are being committed, and other operations may come between.
        var ending: [NotificationSequence] = []
        for _ in 0..<600 {
            switch draw(0..<10) {
            case 0..<4:
                sequence = NotificationSequence(sequence.value + 1)
                // Some expire late, so that the others leave before them.
                let end = now.advanced(byMilliseconds: draw(0..<4) == 0 ? 1_000_000 : draw(1..<400))
                lane.enqueue(
                    QueuedDelivery(.numbered(sequence, expiration: draw(0..<5) == 0 ? .never : .at(end)), payload: nil))
            case 4:
                if case .attempt(let delivery, _) = lane.offer(at: now, maxInFlight: 9) {
                    underWay.insert(delivery.notification.sequence)
                }
            case 5:
                guard let back = underWay.min() else { continue }
                underWay.remove(back)
                lane.reschedule(back, DeliveryProgress(attempts: 1))
            case 6: if let gone = lane.queue.first?.notification.sequence { lane.remove(gone) }
            case 7, 8: if !ending.isEmpty { lane.remove(ending.removeFirst()) }
            default: now = now.advanced(byMilliseconds: draw(0..<100))
            }
            underWay.formIntersection(lane.queue.map(\.notification.sequence))
            let times = lane.queue.filter { !$0.isEnding }.compactMap(\.machine.endsWaitingAt)
            switch lane.rest(at: now) {
            case .ended(let sequence):
                #expect(times.contains { $0 <= now })
                #expect(lane.delivery(sequence)?.machine.endsWaitingAt.map { $0 <= now } == true)
                #expect(lane.delivery(sequence)?.isEnding == true)
                ending.append(sequence)
                ended += 1
            case .wait(let time): #expect(time == times.min() && time > now)
            default: #expect(times.isEmpty)
            }
            #expect(lane.expiries.count <= 2 * lane.queue.count + RouterLimits.expiriesPassedOver)
        }
        #expect(ended > 0)
    }

    @Test("Entries of deliveries that leave before their time do not pile up")
    func nothingPilesUp() {
        var lane = Lane()
        lane.enqueue(QueuedDelivery(.numbered(0, expiration: .at(.second(1))), payload: nil))
        for number in 1...10_000 as ClosedRange<Int64> {
            let sequence = NotificationSequence(number)
            lane.enqueue(QueuedDelivery(.numbered(sequence, expiration: .at(.second(2))), payload: nil))
            lane.remove(sequence)
        }
        #expect(lane.expiries.count <= 2 + RouterLimits.expiriesPassedOver)
        #expect(lane.rest(at: .second(1)) == .ended(0))
    }
}
