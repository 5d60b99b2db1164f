import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting

/// Commits that are shared, and records that retention deletes.
@Suite("Commits and retention", .longest)
struct RetentionTests {
    @Test func settledRecordsAreForgottenAndStillCounted() async throws {
        let options = TestDaemon.Options(retention: RetentionPolicy(ageMilliseconds: 0))
        try await withGallery(options) { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), conditions(can: "SELF == 'a'"))
            try await daemon.putSession("win-2", at: receiver.url("/gone"), conditions(can: "SELF == 'b'"))
            receiver.hold("/gone")
            let waiting = try await daemon.post(about: "b")
            let ids = [try await daemon.post(about: "a").id, try await daemon.post(about: "nobody's").id]
            try await daemon.until { try daemon.store.census().forgotten == 2 }
            for id in ids { expectProblem(try await daemon.notification(id), 404, "unknown-notification") }
            #expect(try await daemon.notification(waiting.id)["state"] == "inFlight")
            let counted = try await daemon.call(.get, "/v1/status").json.at("notifications")
            #expect(counted.at("accepted") == 3 && counted.at("forgotten") == 2 && counted.at("unaccounted") == 0)
            #expect(counted.at("delivered") == 1 && counted.at("deadLettered") == 1)
            receiver.release("/gone")
            try await daemon.until { try daemon.store.census().forgotten == 3 }
        }
    }

    /// The store is closed at the end of a stop, so the engine's own work has to wait for the next start.
    @Test func aStoppingEngineBeginsNoWorkOfItsOwn() async throws {
        let options = TestDaemon.Options(retention: RetentionPolicy(ageMilliseconds: 0))
        try await withGallery(options) { daemon, _ in
            await daemon.host.stopStarting()
            for _ in 0..<3 {
                #expect(try await daemon.post(about: "nobody's")["state"] == "deadLettered")
                // By now it is old enough, and the next request would find it due.
                _ = try await daemon.host.settledTime()
            }
            let census = try daemon.store.census()
            #expect(census.byState[.deadLettered] == 3 && census.forgotten == 0)
        }
    }

    /// A transport whose requests end when the test ends them.
    private final class Held: Transport {
        private let completions = Mutex<[@Sendable (TransferResult) -> Void]>([])
        let started = Tally()

        func start(_ request: WebhookRequest, completion: @escaping @Sendable (TransferResult) -> Void) {
            completions.withLock { $0.append(completion) }
            started.add()
        }

        func end(_ result: TransferResult) {
            for completion in completions.withLock({ $0 }) { completion(result) }
        }
    }

    /// While one commit waits for the disk, outcomes gather and share the next one.
    @Test func outcomesShareATransaction() async throws {
        let directory = try TemporaryDirectory()
        let store = WatchedStore(try SQLiteStore(path: directory.file(), configuration: .init(durability: .normal)))
        let (transport, count) = (Held(), 50)
        let host = try EngineHost(
            store: store, transport: transport, rules: [], caps: DeliveryCaps(slots: 2 * count, perOrigin: 2 * count),
            userAgent: "routerd/test", logger: .silent)
        await host.start()
        let key = SessionKey(application: ApplicationID(unchecked: "gallery"), session: SessionID(unchecked: "s"))
        let manifest = SceneManifest(
            sceneConfigurations: [SceneConfiguration(name: "Default", role: SceneRole.windowApplication)])
        let application = Application(
            id: key.application, manifest: manifest,
            delivery: DeliverySettings(timeoutSeconds: 15, maxInFlightPerSession: count, retrySchedule: []))
        var draft = SessionDraft(
            endpoint: EndpointDraft(url: "http://127.0.0.1:9/", keys: nil, freshSecret: Receiver.secret))
        let notification = IncomingNotification(contentID: nil, payload: Array("{}".utf8))
        let request = AcceptRequest(
            application: key.application, source: PluginID(unchecked: "test"), device: nil, notification: notification)
        _ = await host.submit([
            .putApplication(ApplicationDraft(application: application, delegate: nil, endpoints: [:]))
        ])
        _ = await host.submit([.putSession(key, draft)])
        _ = await host.submit((0..<count).map { _ in .accept(request) })
        try await transport.started.reached(count)
        store.close()
        let (begun, committed) = (store.begun.count, store.commits.count)
        draft.userInfo = ["changed": true]
        let change = draft
        async let gated = host.submit([.putSession(key, change)])
        try await store.begun.reached(begun + 1)
        transport.end(TransferResult(outcome: .response(ReceivedResponse(status: 204))))
        store.open()
        _ = await gated
        await host.drained()
        #expect(store.commits.count == committed + 2, "one was waiting, one has all outcomes")
        #expect(try store.census().byState == [.delivered: count])
        try store.base.close()
    }
}
