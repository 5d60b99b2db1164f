import Dispatch
import Logging
import Router
import RouterPlugin

/// Two observers are told of events, while another thread reads how they do.
///
/// Law: an observer that is never late is told every event, in order.
struct ObserverRace {
    private static let events = 500

    /// Notes the events in an order that has to be theirs.
    private final class Witness: SceneObserver {
        let id: PluginID
        let last = Mutex(Int64(0))
        let faults = Count()
        let told = DispatchSemaphore(value: 0)

        init(_ id: String) { self.id = PluginID(unchecked: id) }

        func observe(_ event: RouterEvent) throws {
            let isNext = last.withLock { last in
                defer { last = event.sequence }
                return event.sequence == last + 1
            }
            if !isNext { faults.add() }
            told.signal()
        }
    }

    func run() -> [String] {
        let witnesses = [Witness("race.first"), Witness("race.second")]
        var limits = ObserverLimits()
        // Under the sanitizer an observer may take long to return.
        limits.milliseconds = 600_000
        let dispatcher = ObserverDispatcher(witnesses, limits: limits, logger: Logger(label: "race"))
        Race.inParallel([
            {
                for number in 1...Self.events {
                    let event = FeedRace.event(number)
                    dispatcher.tell([CommittedEvent(event: event, observers: witnesses.map(\.id))])
                }
            },
            { for _ in 0..<Self.events { _ = dispatcher.figures } },
            { for witness in witnesses { for _ in 0..<Self.events { witness.told.wait() } } },
        ])
        return witnesses.filter { $0.faults.value > 0 }.map { "\($0.id) was told events out of order" }
    }
}
