import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Timers")
struct TimerQueueTests {
    @Test("Earliest first, those of one time in the order in which they were set, none before its time")
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

    @Test("Of one kind the earliest counts, and is told once")
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

    @Test("As a sorted list", arguments: 0..<20 as Range<UInt64>)
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var timers = TimerQueue()
        var model: [(at: Int64, sequence: Int64)] = []
        for number in 0..<200 as Range<Int64> {
            if Bool.random(using: &generator) {
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
