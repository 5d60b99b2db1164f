import Dispatch
import RouterPlugin

/// Rings once at the time that is next due, and uses nothing until then.
///
/// Not thread-safe: it is set on the queue that it rings on.
final class Alarm {
    private var timer: (any DispatchSourceTimer)?
    private var due: Timestamp?

    /// Rings at that time, or never, and no longer at the time that was set before.
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

    /// To be called when it rings: the same time may then be set again, should it have rung a little early.
    func hasRung() {
        timer = nil
    }
}
