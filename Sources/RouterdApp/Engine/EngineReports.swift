import Logging
import Router
import RouterPlugin

/// Reports of the engine's host for operators: lines in the log, counters, and the times of decisions.
struct EngineReports {
    private let logger: Logger
    private var health: StoreHealth
    private var endpoints: EndpointReports
    private var events: DeliveryEventLog
    private var clockWatch = ClockWatch()
    /// Planning times of new notifications.
    private(set) var planningTimes = RecentTimes()
    /// Counts and durations for metrics.
    var meters = EngineMeters()

    /// - Parameters:
    ///   - clock: The daemon's clock, which may be held back from the start.
    ///   - fault: Where the store's last fault is shown.
    init(_ clock: SteadyClock, _ fault: RecentFault, logger: Logger) {
        self.logger = logger
        health = StoreHealth(logger: logger, fault)
        endpoints = EndpointReports(logger: logger)
        events = DeliveryEventLog(logger: logger)
        clockWatch.take(clock.now, wall: clock.wall)
    }

    /// The number of events of each kind since the start.
    var eventCounts: [DeliveryEventKind: Int] { events.counts }

    /// Logs why the daemon ends.
    mutating func giveUp(because error: StoreError) { health.gaveUp(because: error) }

    mutating func storeCommitted(_ changes: Int, in duration: Duration) {
        health.committed()
        meters.committed(changes, in: duration)
    }

    mutating func planned(in duration: Duration) {
        planningTimes.add(duration)
        meters.planned(in: duration)
    }

    mutating func add(_ report: EngineLoop.Report, at now: Timestamp) {
        switch report {
        case .events(let happened): events.add(happened)
        case .outcome(let result, of: let session, let statuses):
            meters.ended(result)
            endpoints.add(result, of: session, statuses, at: now)
        case .deletion(let session): endpoints.forget(session)
        case .storeFault(let error): health.refused(because: error, at: now)
        case .contradiction(let error): events.addContradiction(error)
        case .lost(let error):
            logger.error("an outcome could not be kept; the attempt is made again", metadata: ["error": "\(error)"])
        }
    }

    /// Takes the difference between the daemon's clock and the wall clock as known.
    mutating func clockWasSet(_ now: Timestamp, wall: Timestamp) { clockWatch.take(now, wall: wall) }

    /// Logs that the wall clock was set while the daemon runs.
    mutating func compare(_ now: Timestamp, wall: Timestamp) {
        guard let ahead = clockWatch.notice(now, wall: wall) else { return }
        logger.warning(
            "the clock of this machine was set: the daemon keeps its own until it is started anew",
            metadata: ["aheadMilliseconds": "\(ahead)"])
    }
}
