import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Timers")
struct TimerQueueTests {
    @Test("Earliest first, timers of one time in the order in which they were set, none before its time")
    func order() {
        var timers = TimerQueue()
        #expect(timers.nextDue == nil && timers.pop(at: .distantFuture) == nil)
        timers.set(.hold(3), at: .second(3))
        timers.set(.hold(1), at: .second(1))
        timers.set(.lane(.gallery("A")), at: .second(1))
        timers.set(.lease(.gallery("A")), at: .second(1))
        #expect(timers.nextDue == .second(1))
        #expect(timers.pop(at: .millisecond(999)) == nil)
        #expect(timers.pop(at: .second(1)) == .hold(1))
        #expect(timers.pop(at: .second(9)) == .lane(.gallery("A")))
        #expect(timers.pop(at: .second(1)) == .lease(.gallery("A")))
        #expect(timers.nextDue == .second(3))
        #expect(timers.pop(at: .second(1)) == nil)
        #expect(timers.pop(at: .second(3)) == .hold(3))
        #expect(timers.nextDue == nil)
    }

    @Test("The earliest timer of a kind counts, and fires once")
    func twice() {
        var timers = TimerQueue()
        for second in [5, 9, 3, 3, 7] as [Int64] { timers.set(.hold(1), at: .second(second)) }
        #expect(timers.nextDue == .second(3))
        #expect(timers.pop(at: .second(9)) == .hold(1))
        #expect(timers.pop(at: .second(9)) == nil)
        #expect(timers.nextDue == nil, "nothing is left over")
        timers.set(.hold(1), at: .second(4))
        #expect(timers.pop(at: .second(4)) == .hold(1))
    }

    @Test("A cancelled timer does not fire, and can be set again, earlier or later", arguments: [2, 8] as [Int64])
    func cancelled(again: Int64) {
        var timers = TimerQueue()
        timers.set(.hold(1), at: .second(5))
        timers.set(.hold(2), at: .second(6))
        timers.cancel(.hold(1))
        timers.cancel(.hold(3))
        #expect(timers.nextDue == .second(6), "a removed timer is not due")
        timers.set(.hold(1), at: .second(again))
        #expect(timers.nextDue == .second(min(again, 6)))
        var told: [TimerQueue.Kind] = []
        while let kind = timers.pop(at: .second(9)) { told.append(kind) }
        #expect(told == (again < 6 ? [.hold(1), .hold(2)] : [.hold(2), .hold(1)]))
        #expect(timers.nextDue == nil && timers.count == 0)
    }

    @Test("Cancelled and rescheduled timers do not pile up")
    func room() {
        var timers = TimerQueue()
        for number in 0..<100 as Range<Int64> { timers.set(.hold(NotificationSequence(number)), at: .second(1)) }
        for number in 1_000..<100_000 as Range<Int64> {
            timers.set(.hold(NotificationSequence(number)), at: .second(number))
            timers.cancel(.hold(NotificationSequence(number)))
            timers.set(.retention, at: .second(200_000 - number))
        }
        #expect(timers.count <= 2 * 101 + RouterLimits.timersPassedOver)
        for _ in 0..<100 { #expect(timers.pop(at: .second(1)) != nil) }
        #expect(timers.nextDue == .second(100_001), "the live timer is there yet")
    }

    @Test("It behaves like a sorted list", arguments: 0..<20 as Range<UInt64>)
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var timers = TimerQueue()
        var model: [(at: Int64, sequence: Int64)] = []
        for number in 0..<200 as Range<Int64> {
            if !model.isEmpty, Int.random(in: 0..<8, using: &generator) == 0 {
                let place = Int.random(in: model.indices, using: &generator)
                timers.cancel(.hold(NotificationSequence(model.remove(at: place).sequence)))
            } else if Bool.random(using: &generator) {
                let at = Int64.random(in: 0..<50, using: &generator)
                timers.set(.hold(NotificationSequence(number)), at: .second(at))
                let place = model.firstIndex { $0.at > at } ?? model.endIndex
                model.insert((at, number), at: place)
            } else {
                let now = Int64.random(in: 0..<50, using: &generator)
                let isDue = model.first.map { $0.at <= now } ?? false
                let expected = isDue ? TimerQueue.Kind.hold(NotificationSequence(model.removeFirst().sequence)) : nil
                #expect(timers.pop(at: .second(now)) == expected)
            }
            #expect(timers.nextDue == model.first.map { .second($0.at) })
        }
    }
}
