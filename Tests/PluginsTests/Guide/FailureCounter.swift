import RouterPlugin
import Synchronization

/// Counts the notifications of each application that were given up.
struct FailureCounter: SceneObserver {
    static let kind = SceneObserverKind(
        id: PluginID(unchecked: "com.example.observer.failure-counter"), version: "1.0.0",
        summary: "Counts the notifications of each application that were given up."
    ) { (configuration) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(configuration, declared: [])
        return FailureCounter()
    }

    var id: PluginID { Self.kind.id }
    private let counts = Counts()

    private final class Counts: Sendable { let failures = Mutex<[ApplicationID: Int]>([:]) }

    func observe(_ event: RouterEvent) {
        guard event.type == .notificationDeadLettered else { return }
        counts.failures.withLock { $0[event.application, default: 0] += 1 }
    }
}
