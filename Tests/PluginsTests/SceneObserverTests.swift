import Dispatch
import Foundation
import Plugins
import RouterPlugin
import RouterTesting
import Synchronization
import Testing

struct EventLogObserverTests {
    private static func event(_ type: RouterEventType) -> RouterEvent {
        RouterEvent(
            sequence: 1, type: type, time: Timestamp(milliseconds: 0),
            application: ApplicationID(unchecked: "com.example.A"), session: SessionID(unchecked: "win-1"))
    }

    /// Runs `body` with the name of a file that is deleted afterwards.
    private static func withFile(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "routerd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory.appending(path: "events.jsonl").path)
    }

    @Test func aLineIsAppendedForEachEventOfTheTypes() throws {
        try Self.withFile { path in
            let observer = try EventLogObserver(
                configuration: parsed(#"{"path":"\#(path)","types":["scene.*","session.discarded"]}"#))
            for type in [RouterEventType.sceneWillConnect, .sessionChanged, .sessionDiscarded] {
                try observer.observe(Self.event(type))
            }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let time = "1970-01-01T00:00:00.000Z"
            #expect(
                text == """
                    {"type":"scene.willConnect","time":"\(time)","application":"com.example.A","session":"win-1"}
                    {"type":"session.discarded","time":"\(time)","application":"com.example.A","session":"win-1"}

                    """)
        }
    }

    @Test func aFileThatCannotBeWrittenIsAnError() throws {
        let observer = EventLogObserver(path: "/nonexistent/events.jsonl")
        #expect(throws: EventLogObserver.Unwritable.self) { try observer.observe(Self.event(.sceneWillConnect)) }
    }

    @Test(arguments: [
        ("{}", "missing-field", "/path"), (#"{"path":""}"#, "invalid-value", "/path"),
        (#"{"path":"a","types":["scene"]}"#, "invalid-value", "/types/0"),
        (#"{"path":"a","type":["scene.*"]}"#, "unknown-field", "/type"),
    ])
    func faultsAreNamed(configuration: String, code: String, pointer: String) {
        let error = #expect(throws: PluginConfigurationError.self) {
            try EventLogObserver(configuration: parsed(configuration))
        }
        #expect(error?.code == code)
        #expect(error?.pointer == pointer)
    }

    @Test(arguments: [1, 2] as [UInt64])
    func itConforms(seed: UInt64) throws {
        try Self.withFile { path in
            #expect(SceneObserverSuite.violations(of: EventLogObserver(path: path), seed: seed) == [])
        }
    }

    @Test func itIsAmongTheKinds() throws {
        let catalog = try SceneObserverCatalog(BuiltInPlugins.observerKinds)
        let observers = try catalog.observers(
            configuredBy: parsed(#"[{"id":"routerd.observer.event-log","path":"events.jsonl"}]"#))
        let registry = try PluginRegistry(sourceKinds: [], rules: [], observers: observers)
        #expect(registry.observers.map(\.id) == catalog.kinds.map(\.id))
        #expect(catalog.kinds.allSatisfy { $0.summary.hasSuffix(".") })
        let unknown = #expect(throws: PluginConfigurationError.self) {
            try catalog.observers(configuredBy: parsed(#"[{"id":"x.y"}]"#))
        }
        #expect(unknown?.message == "There is no such observer; the observers are: routerd.observer.event-log.")
        #expect(throws: PluginRegistryError.self) {
            try PluginRegistry(sourceKinds: [], rules: [], observers: observers + observers)
        }
    }
}

/// A suite that finds nothing proves nothing.
struct SceneObserverSuiteTests {
    private struct Observer: SceneObserver {
        struct Refusal: Error {}

        var id = PluginID(unchecked: "com.example.observer")
        let body: @Sendable (RouterEvent) throws -> Void

        func observe(_ event: RouterEvent) throws { try body(event) }
    }

    @Test func soundObserversConform() {
        let count = Counter()
        let observer = Observer { _ in count.events.withLock { $0 += 1 } }
        #expect(SceneObserverSuite.violations(of: observer, seed: 1) == [])
        #expect(count.events.withLock(\.self) >= RouterEventType.allCases.count)
    }

    private final class Counter: Sendable { let events = Mutex(0) }

    @Test func observersThatThrowHangOrHaveNoNameAreFound() {
        let picky = Observer { event in if event.type == .attemptEnded { throw Observer.Refusal() } }
        #expect(SceneObserverSuite.violations(of: picky, seed: 1) == ["errors: throws at attempt.ended"])
        let gone = Observer { event in if case .screen = event.detail { DispatchSemaphore(value: 0).wait() } }
        #expect(
            SceneObserverSuite.violations(of: gone, seed: 1, within: 50) == [
                "time: does not return from application.registered"
            ])
        let nameless = Observer(id: PluginID(unchecked: "observer")) { _ in }
        #expect(SceneObserverSuite.violations(of: nameless, seed: 1).first?.hasPrefix("id: ") == true)
    }

    /// The example of docs/PLUGINS.md.
    private struct FailureCounter: SceneObserver {
        let id = PluginID(unchecked: "com.example.failure-counter")
        private let counts = Counts()

        private final class Counts: Sendable { let failures = Mutex<[ApplicationID: Int]>([:]) }

        var failures: [ApplicationID: Int] { counts.failures.withLock(\.self) }

        func observe(_ event: RouterEvent) {
            guard event.type == .notificationDeadLettered else { return }
            counts.failures.withLock { $0[event.application, default: 0] += 1 }
        }
    }

    @Test func theExampleOfTheGuideConforms() {
        let observer = FailureCounter()
        #expect(SceneObserverSuite.violations(of: observer, seed: 1).isEmpty)
        #expect(observer.failures.values.reduce(0, +) > 0)
    }
}
