import Dispatch
package import Logging
package import Router
package import RouterPlugin
import Synchronization

/// Calls observers with committed events.
///
///     EngineHost ──tell──▶ a queue of its own: event by event, in the order of registration
///                             ├──▶ line and thread of the first observer
///                             └──▶ line and thread of the second …
///
/// Observers run in registration order; each waits briefly for the one before. A slow observer works off a queue of its
/// own, and no other observer waits for it until it has caught up.
///
/// Thread-safe. An observer that never returns blocks its own thread, and nothing else.
package final class ObserverDispatcher: Sendable {
    /// The counters of an observer.
    package struct Figures: Sendable {
        package var id: PluginID
        package var told: Int
        package var failed: Int
        package var missed: Int
        package var hangs: Bool
    }

    private let desks: [PluginID: ObserverDesk]
    private let names: [PluginID]
    private let queue = DispatchQueue(label: "routerd.observers")
    /// How many events wait to be offered.
    private let waiting = Atomic(0)
    private let limits: ObserverLimits
    private let clock: SteadyClock
    private let logger: Logger

    package init(
        _ observers: [any SceneObserver], limits: ObserverLimits = ObserverLimits(),
        clock: SteadyClock = SteadyClock(), logger: Logger
    ) {
        desks = Dictionary(observers.map { ($0.id, ObserverDesk($0, limits, clock, logger)) }) { first, _ in first }
        names = observers.map(\.id)
        self.limits = limits
        self.clock = clock
        self.logger = logger
    }

    deinit { for desk in desks.values { desk.close() } }

    /// The counters of each observer, in the order of the configuration.
    package var figures: [Figures] {
        names.compactMap { name in
            desks[name]?.line.withLock {
                Figures(id: name, told: $0.told, failed: $0.failed, missed: $0.missed, hangs: $0.hangs)
            }
        }
    }

    /// Queues events for the observers and returns at once.
    package func tell(_ events: [CommittedEvent]) {
        let events = events.filter { !$0.observers.isEmpty }
        guard !events.isEmpty else { return }
        guard waiting.add(events.count, ordering: .relaxed).newValue <= limits.events else {
            waiting.subtract(events.count, ordering: .relaxed)
            for event in events { for name in event.observers { desks[name]?.line.withLock { $0.miss(1) } } }
            return
        }
        queue.async {
            for event in events {
                for name in event.observers { if let desk = self.desks[name] { self.tell(event.event, at: desk) } }
            }
            self.waiting.subtract(events.count, ordering: .relaxed)
        }
    }

    private func tell(_ event: RouterEvent, at desk: ObserverDesk) {
        switch desk.line.withLock({ $0.offer(event, at: clock.now) }) {
        case .later, .missed: break
        case .hangs:
            logger.error(
                "an observer takes too long; it misses events until it returns",
                metadata: ["observer": "\(desk.observer.id)"])
        case .tell:
            _ = desk.begin(event).wait(timeout: .now() + .milliseconds(limits.patienceMilliseconds))
        }
    }
}
