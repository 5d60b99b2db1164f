import Dispatch
import Foundation
import Logging
import RouterPlugin
import Synchronization

/// Where one observer is told: its line, and a thread of its own, which sleeps until there is something to tell.
///
/// A thread and not a dispatch queue: queues whose blocks hang leave none of the pool's threads to those who answer requests.
final class ObserverDesk: Sendable {
    private struct Work {
        let event: RouterEvent
        let hasReturned = DispatchSemaphore(value: 0)
    }

    let observer: any SceneObserver
    let line: Mutex<ObserverLine>
    private let next = Mutex<Work?>(nil)
    private let bell = DispatchSemaphore(value: 0)
    /// When its last failure was logged.
    private let lastReport = Mutex<Timestamp?>(nil)
    private let clock: SteadyClock
    private let logger: Logger

    init(_ observer: any SceneObserver, _ limits: ObserverLimits, _ clock: SteadyClock, _ logger: Logger) {
        self.observer = observer
        line = Mutex(ObserverLine(limits))
        self.clock = clock
        self.logger = logger
        let thread = Thread { self.work() }
        thread.name = "observer"
        thread.start()
    }

    /// Tells an observer that is idle; what is returned is signalled when it has returned from this event.
    func begin(_ event: RouterEvent) -> DispatchSemaphore {
        let work = Work(event: event)
        next.withLock { $0 = work }
        bell.signal()
        return work.hasReturned
    }

    /// Ends the thread when it is idle.
    func close() { bell.signal() }

    private func work() {
        while true {
            bell.wait()
            let work = next.withLock { next in
                defer { next = nil }
                return next
            }
            guard let work else { return }
            run(work)
        }
    }

    /// Tells one event, and those that have come behind it meanwhile.
    private func run(_ work: Work) {
        var event: RouterEvent? = work.event
        while let current = event {
            var fault: (any Error)?
            do { try observer.observe(current) } catch { fault = error }
            let now = clock.now
            if let fault { report(fault, at: now) }
            event = line.withLock { $0.returned(hasFailed: fault != nil, at: now) }
            work.hasReturned.signal()
        }
    }

    /// One line for many failures.
    private func report(_ fault: any Error, at now: Timestamp) {
        let isDue = lastReport.withLock { last in
            if let last, now.milliseconds - last.milliseconds < DaemonLimits.observerReportMilliseconds { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "an observer has failed; its failures are counted in the status",
            metadata: ["observer": "\(observer.id)", "error": "\(type(of: fault))"])
    }
}
