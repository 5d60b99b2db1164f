import Dispatch
import RouterPlugin

/// A wake-up timer: fires once at the next due time, and uses nothing until then.
///
/// Not thread-safe: it is set on the queue on which it fires.
final class Alarm {
    private static let toleranceMilliseconds = 100
    private var timer: (any DispatchSourceTimer)?
    private var due: Timestamp?
    private var wake = DispatchTime.distantFuture

    /// Fires at `due`, or never if it is nil; replaces the time set before.
    ///
    /// The clock of `now` may step forward: a timer that would fire too late by then is set anew.
    func set(
        to due: Timestamp?, at now: Timestamp, on queue: DispatchQueue, ring: @escaping @Sendable () -> Void
    ) {
        let delay = due.map { Int(clamping: max(0, $0.milliseconds - now.milliseconds)) }
        let wake = delay.map { DispatchTime.now() + .milliseconds($0) } ?? .distantFuture
        if timer != nil, due == self.due, self.wake <= wake + .milliseconds(Self.toleranceMilliseconds) { return }
        timer?.cancel()
        (timer, self.due, self.wake) = (nil, due, wake)
        guard due != nil else { return }
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(deadline: wake)
        source.setEventHandler(handler: ring)
        source.resume()
        timer = source
    }

    /// Call when the timer has fired: the same time may then be set again, should it have fired a little early.
    func hasRung() {
        timer = nil
    }
}
