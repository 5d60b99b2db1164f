import Dispatch
import Foundation
import Logging
import RouterPlugin
import Synchronization

/// The worker of one observer: its queue, and a thread of its own, which sleeps until there is an event.
///
/// The worker is a thread and not a dispatch queue: queues whose blocks hang use up the threads of the pool, and none
/// would be left to answer requests.
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

    /// Passes an event to an idle observer; the returned semaphore is signalled when the observer has returned from it.
    func begin(_ event: RouterEvent) -> DispatchSemaphore {
        let work = Work(event: event)
        next.withLock { $0 = work }
        bell.signal()
        return work.hasReturned
    }

    /// Ends the thread when the observer is idle.
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

    /// Passes one event to the observer, and then the events queued behind it meanwhile.
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

    /// Logs one line for many failures.
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
