import Hummingbird
import HummingbirdTesting
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// The behaviour when memory and database have diverged: another program has written to the database.
@Suite("Contradictions", .longest)
struct ContradictionTests {
    /// Settles a notification without the daemon's knowledge.
    private static func settle(_ id: String, in store: some Store) throws {
        let sequence = try #require(try store.notification(NotificationID(id))).sequence
        try store.commit([.settle(sequence, .cancelled, at: Timestamp(milliseconds: 0))])
    }

    /// Memory cannot be trusted any more, and the engine's own work can be neither done nor dropped.
    @Test func aRefusedEventIsNotTriedForEver() async throws {
        let log = CapturedLog()
        try await withGallery(TestDaemon.Options(logger: log.logger)) { daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "a")
            try await daemon.post(about: "b")
            try await receiver.webhooks(1)
            try Self.settle(first.id, in: daemon.store)
            receiver.release()
            var contradictions = daemon.host.contradictions.makeAsyncIterator()
            #expect(await contradictions.next()?.code == .conflict)
            let status = try await daemon.call(.get, "/v1/status")
            #expect(status["events", "storeContradicted"] == 1)
            #expect(log.text.contains("critical the daemon ends"))
            // Requests of clients are answered; no more webhooks are sent, and the stop waits for none.
            try await daemon.putSession("win-2", at: receiver.url("/other"), conditions(prefers: "SELF == 'c'"))
            let third = try await daemon.post(about: "c")
            #expect(third.status == 202 && third["decision", "session"] == "win-2")
            #expect(try await daemon.notification(third.id)["state"] == "waiting")
            await daemon.host.drained()
            #expect(receiver.all.map(\.contentID) == ["a"])
        }
    }

    /// No other command of its transaction is refused, and the daemon goes on.
    @Test func aClientsChangeIsRefusedAlone() async throws {
        try await withGallery { daemon, receiver in
            for id in ["lost", "win-1"] { try await daemon.putSession(id, at: receiver.url()) }
            let keys = ["lost", "win-1"].map {
                SessionKey(
                    application: ApplicationID(unchecked: "com.example.gallery"), session: SessionID(unchecked: $0))
            }
            try daemon.store.commit([.deleteSession(keys[0])])
            let commands = keys.map { key in
                var patch = SessionPatch()
                patch.userInfo = .object(JSONObject())
                return Command.patchSession(key, patch)
            }
            let begun = daemon.store.begun.count
            let replies = try #require(await daemon.host.submit(commands))
            guard case .refused(.storeUnavailable(let error)) = replies[0], case .session = replies[1] else {
                Issue.record("\(replies)")
                return
            }
            #expect(error.code == .conflict)
            #expect(daemon.store.begun.count == begun + 3, "together, and then each alone")
            #expect(try await daemon.call(.get, "/v1/status")["events", "storeContradicted"] == 1)
            #expect(try await daemon.call(.get, "/readyz").status == 200)
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/lost")
            #expect(try await daemon.settled(try await daemon.post(about: "a").id)["state"] == "delivered")
        }
    }

    @Test func theDaemonEndsAndTheNextOneGoesOn() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.hold()
            var configuration = DaemonConfiguration()
            configuration.database = directory.file()
            configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
            let daemon = try Daemon(configuration, logger: .silent)
            let listening = Tally()
            let ids = try await withThrowingTaskGroup(of: StoreError?.self) { group in
                group.addTask {
                    await #expect(throws: StoreError.self) {
                        try await daemon.run(stoppingOn: []) { _ in listening.add() }
                    }
                }
                try await listening.reached(1)
                let application = Hummingbird.Application(router: daemon.api.router(), logger: .silent)
                let ids = try await application.test(.router) { client in
                    let caller = TestDaemon(
                        host: daemon.host, store: WatchedStore(daemon.store), client: PatientClient(client))
                    try await caller.putGallery()
                    try await caller.putSession("win-1", at: receiver.url())
                    return [try await caller.post(about: "a").id, try await caller.post(about: "b").id]
                }
                try await receiver.webhooks(1)
                try Self.settle(ids[0], in: daemon.store)
                receiver.release()
                for try await error in group { #expect(error?.code == .conflict) }
                return ids
            }
            try await withDaemon(TestDaemon.Options(database: directory.file())) { daemon in
                let second = try await daemon.settled(ids[1])
                let first = try await daemon.notification(ids[0])
                #expect(second["state"] == "delivered" && first["state"] == "cancelled")
                #expect(receiver.all.map(\.contentID) == ["a", "b"])
            }
        }
    }

    /// A retry would not bring the payload back, and the notifications behind it have their own.
    @Test func aNotificationWithoutItsPayloadIsGivenUp() async throws {
        let log = CapturedLog()
        let application = #"{"delivery":{"retrySchedule":[3600]}}"#
        try await withGallery(TestDaemon.Options(logger: log.logger), application: application) { daemon, receiver in
            receiver.answer(with: 500)
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "a")
            let second = try await daemon.post(about: "b")
            try await daemon.until { try await daemon.notification(first.id)["attempts"].asArray?.count == 1 }
            daemon.store.losePayloads()
            try await daemon.call(.post, "/v1/lanes/win-1/resume?application=com.example.gallery")
            let settled = try await daemon.settled(first.id)
            #expect(settled["state"] == "deadLettered" && settled["reason"] == "payload-missing")
            #expect(settled["attempts"].asArray?.last?.at("error", "kind") == "payload-missing")
            #expect(try await daemon.settled(second.id)["state"] == "delivered")
            #expect(receiver.all.map(\.contentID) == ["a", "b"], "nothing was sent of the one that is lost")
            #expect(try await daemon.call(.get, "/v1/status")["events", "payloadMissing"] == 1)
            #expect(log.text.contains("error a notification was given up"))
        }
    }
}
