import Dispatch
import RouterPlugin

/// A wake-up timer: fires once at the next due time, and uses nothing until then.
///
/// Not thread-safe: it is set on the queue on which it fires.
final class Alarm {
    private var timer: (any DispatchSourceTimer)?
    private var due: Timestamp?

    /// Fires at `due`, or never if it is nil; replaces the time set before.
    func set(
        to due: Timestamp?, at now: Timestamp, on queue: DispatchQueue, ring: @escaping @Sendable () -> Void
    ) {
        if timer != nil, due == self.due { return }
        timer?.cancel()
        (timer, self.due) = (nil, due)
        guard let due else { return }
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(deadline: .now() + .milliseconds(Int(clamping: max(0, due.milliseconds - now.milliseconds))))
        source.setEventHandler(handler: ring)
        source.resume()
        timer = source
    }

    /// Call when the timer has fired: the same time may then be set again, should it have fired a little early.
    func hasRung() {
        timer = nil
    }
}
