import Dispatch
import RouterPlugin
import TestSupport
import Testing

@testable import RouterdApp

@Suite("Alarm") struct AlarmTests {
    @Test(
        "An alarm fires in time when the clock has stepped forward to just before its due time", .longest
    )
    func steppedClock() async {
        let queue = DispatchQueue(label: "alarm")
        let (rings, ring) = AsyncStream.makeStream(of: Void.self)
        nonisolated(unsafe) let alarm = Alarm()
        let due = Timestamp(milliseconds: 40 * 24 * 60 * 60 * 1000)
        queue.sync {
            alarm.set(to: due, at: Timestamp(milliseconds: 0), on: queue) { ring.yield() }
            alarm.set(to: due, at: Timestamp(milliseconds: due.milliseconds - 1), on: queue) { ring.yield() }
        }
        for await _ in rings { break }
        queue.sync { alarm.set(to: nil, at: due, on: queue) {} }
    }
}
