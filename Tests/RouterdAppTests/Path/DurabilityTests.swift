import DeliveryCurl
import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// The behaviour when the disk fails, and over a restart.
@Suite("Durability", .longest)
struct DurabilityTests {
    /// However many requests arrive, reads of the engine have their turn between two transactions or so.
    @Test func readsDoNotWaitForTheLoadToEnd() async throws {
        try await withGallery { daemon, receiver in
            let batches = 12
            let draft = SessionDraft(endpoint: EndpointDraft(url: receiver.url(), keys: nil, freshSecret: "whsec_"))
            let application = ApplicationID(unchecked: "com.example.gallery")
            daemon.store.close()
            let before = daemon.store.commits.count
            let offered = Tally()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batch in 0..<batches {
                    let commands = (0..<RouterLimits.commandsPerTransaction).map { number in
                        let session = SessionID(unchecked: "s\(batch)-\(number)")
                        return Command.putSession(SessionKey(application: application, session: session), draft)
                    }
                    group.addTask {
                        offered.add()
                        _ = await daemon.host.submit(commands)
                    }
                }
                try await offered.reached(batches)
                try await daemon.store.begun.reached(before + 1)
                let asked = Tally()
                group.addTask {
                    asked.add()
                    let seen = await daemon.host.read { _ in daemon.store.commits.count }
                    #expect(seen - before <= batches / 2, "so many transactions went before the look")
                }
                try await asked.reached(1)
                daemon.store.open()
                try await group.waitForAll()
            }
            #expect(daemon.store.commits.count - before == batches)
        }
    }

    /// The engine's queue is held up by a commit for as long as the test likes.
    @Test func healthAndReadinessDoNotWaitForTheEngine() async throws {
        try await withGallery { daemon, receiver in
            daemon.store.close()
            let before = daemon.store.commits.count
            async let put = daemon.putSession("win-1", at: receiver.url())
            try await daemon.store.begun.reached(before + 1)
            #expect(try await daemon.call(.get, "/healthz").json == ["status": "ok"])
            #expect(try await daemon.call(.get, "/readyz").json == ["status": "ready"])
            #expect(daemon.store.commits.count == before)
            daemon.store.open()
            _ = try await put
        }
    }

    @Test func aFullDiskRefusesAndChangesNothing() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            #expect(try await daemon.call(.get, "/readyz").json == ["status": "ready"])
            let session = try await daemon.session("win-1").bytes
            daemon.store.fillDisk()
            let calls = [
                try await daemon.post(about: "a", headers: ["idempotency-key": "k"]),
                try await daemon.putGallery(#"{"displayName":"new"}"#),
                try await daemon.putSession("win-2", at: receiver.url()),
                try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/win-1", #"{"device":"x"}"#),
                try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/win-1"),
                try await daemon.call(.delete, TestDaemon.gallery),
            ]
            for answer in calls {
                expectProblem(answer, 503, "store-disk-full")
                #expect(answer.headers[.retryAfter] == "1")
            }
            let lines = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications:batch", "{}\n{}").lines
            #expect(lines.map { $0.at("error", "code") } == ["store-disk-full", "store-disk-full"])
            expectProblem(try await daemon.call(.get, "/readyz"), 503, "store-disk-full")
            #expect(try await daemon.call(.get, "/healthz").status == 200, "the process is well")

            // Reads go on, and show the old state.
            #expect(try await daemon.session("win-1").bytes == session)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["displayName"] == "")
            expectProblem(try await daemon.session("win-2"), 404, "unknown-session")
            #expect(try daemon.store.census().accepted == 0)
            #expect(receiver.all.isEmpty)

            // With free space again the repeated request is accepted as new, and readiness returns by itself.
            daemon.store.recoverDisk()
            let accepted = try await daemon.post(about: "a", headers: ["idempotency-key": "k"])
            #expect(accepted.status == 202)
            #expect(try await daemon.call(.get, "/readyz").status == 200)
            #expect(try await receiver.webhooks(1).count == 1)
        }
    }

    @Test func anOutcomeThatCouldNotBeKeptIsKeptLater() async throws {
        try await withGallery { daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "a")
            let second = try await daemon.post(about: "b")
            try await receiver.webhooks(1)
            daemon.store.fillDisk()
            receiver.release()
            try await daemon.store.refusals.reached(2)
            // The first notification was delivered, but is not reported so before that is committed; nor does the next
            // attempt start.
            #expect(try await daemon.notification(first.id)["state"] == "inFlight")
            #expect(receiver.all.count == 1)
            expectProblem(try await daemon.call(.get, "/readyz"), 503, "store-disk-full")
            daemon.store.recoverDisk()
            let settled = try await daemon.settled(first.id)
            #expect(settled["state"] == "delivered" && settled["attempts"].asArray?.count == 1)
            #expect(try await daemon.settled(second.id)["state"] == "delivered")
            #expect(receiver.all.map(\.contentID) == ["a", "b"], "neither was sent twice")
            #expect(try await daemon.call(.get, "/readyz").status == 200, "it recovers without a client's help")
        }
    }

    @Test func waitingDeliveriesGoInOrderAfterARestart() async throws {
        let directory = try TemporaryDirectory()
        let options = TestDaemon.Options(database: directory.file())
        let count = 20
        try await withReceiver { receiver in
            receiver.hold()
            let ids = try await withDaemon(options) { daemon in
                // An attempt that times out on a busy machine would be repeated.
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: receiver.url())
                var ids: [String] = []
                for number in 0..<count {
                    ids.append(try await daemon.post("{ \"notification-content-id\": \"\(number)\" }").id)
                }
                try await receiver.webhooks(1)
                return ids
            }
            receiver.release()
            try await withDaemon(options) { daemon in
                #expect(try await daemon.call(.get, TestDaemon.gallery).status == 200)
                #expect(try await daemon.session("win-1")["endpoint", "url"].asString == receiver.url())
                // The stop cut off the first attempt, which is made again; the other notifications arrive once.
                let came = try await receiver.webhooks(count + 1)
                #expect(came.map(\.contentID) == (["0"] + (0..<count).map(String.init)))
                #expect(came.first?.id == came.dropFirst().first?.id)
                #expect(came.allSatisfy { $0.isVerified })
                #expect(came.last?.payload == Array("{ \"notification-content-id\": \"19\" }".utf8))
                for id in ids { #expect(try await daemon.settled(id)["state"] == "delivered") }
                // Notifications accepted before the restart are known after it.
                let repeated = try await daemon.post(about: "x", headers: ["idempotency-key": "k"])
                #expect(repeated.status == 202)
            }
            try await withDaemon(options) { daemon in
                let repeated = try await daemon.post(about: "x", headers: ["idempotency-key": "k"])
                #expect(repeated.status == 200 && repeated["duplicate"] == true)
            }
        }
    }

    @Test func theSameDatabaseIsOpenedOnce() async throws {
        let directory = try TemporaryDirectory()
        var configuration = DaemonConfiguration()
        configuration.database = directory.file()
        let first = try Daemon(configuration, logger: .silent)
        let refused = #expect(throws: StoreError.self) { try Daemon(configuration, logger: .silent) }
        #expect(refused?.code == .inUse)
        await first.close()
        await (try Daemon(configuration, logger: .silent)).close()
    }

    @Test func aTransportThatStopsLeavesTheAttemptForLater() async throws {
        let directory = try TemporaryDirectory()
        let options = TestDaemon.Options(database: directory.file())
        try await withReceiver { receiver in
            receiver.hold()
            let id = try await withDaemon(options) { daemon in
                try await daemon.putGallery(#"{"delivery":{"retrySchedule":[],"timeoutSeconds":300}}"#)
                try await daemon.putSession("win-1", at: receiver.url())
                let id = try await daemon.post(about: "a").id
                try await receiver.webhooks(1)
                return id
            }
            let store = try SQLiteStore(path: directory.file())
            let kept = try #require(try store.notification(NotificationID(id)))
            #expect(kept.state == .waiting && kept.attempts.isEmpty, "it does not count as an attempt")
            try store.close()
        }
    }
}
