import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// A start with a clock that is far beyond the newest row: nothing is deleted before the clock is trusted.
///
/// The rows of these tests are old, which is the same as a clock that is ahead.
@Suite("A wrong clock deletes nothing", .longest)
struct ClockDoubtTests {
    private static let day: Int64 = 24 * 60 * 60 * 1000
    private static let retention = RetentionPolicy(ageMilliseconds: 30 * day)
    private static let gallery = ApplicationID(unchecked: "com.example.gallery")

    /// A database with one settled notification and one that waits for an hour at most, as of so many days ago.
    static func fill(_ path: String, daysAgo: Int64, endpoint: String) throws {
        let store = try SQLiteStore(path: path)
        let time = SteadyClock().now.advanced(byMilliseconds: -daysAgo * day)
        let session = SceneSession(
            key: SessionKey(application: gallery, session: SessionID(unchecked: "win-1")),
            role: SceneRole.windowApplication, configuration: "Default",
            endpoint: Endpoint(url: endpoint, keys: SigningKeys(Receiver.secret)), creationSequence: 1)
        func notification(_ number: Int64, _ placement: Placement) -> NewNotification {
            NewNotification(
                NotificationHeader(
                    sequence: NotificationSequence(number), id: NotificationID(unchecked: "ntf_\(number)"),
                    application: gallery, expiration: .at(time.advanced(byMilliseconds: Self.day)), receivedAt: time),
                source: PluginID(unchecked: "test"), dedupeKeys: ["key-\(number)"], payload: .json(Array("{}".utf8)),
                decision: Decision(tier: .can, session: session.key.session, reason: ""), placement: placement)
        }
        var application = Application(id: gallery, displayName: "Gallery")
        application.delivery.retrySchedule = [3600]
        try store.commit([
            .putApplication(application), .putSession(session),
            .insert(notification(1, .settled(.deadLettered(.noEligibleSession)))), .insert(notification(2, .lane)),
        ])
        try store.close()
    }

    @Test("retention and expirations wait for an operator")
    func operatorConfirms() async throws {
        let directory = try TemporaryDirectory()
        let log = CapturedLog()
        try await withReceiver { receiver in
            receiver.answer(with: 500)
            try Self.fill(directory.file(), daysAgo: 40, endpoint: receiver.url())
            let options = TestDaemon.Options(
                database: directory.file(), retention: Self.retention, logger: log.logger)
            try await withDaemon(options) { daemon in
                #expect(log.text.contains("warning the clock is far beyond the newest row of the store"))
                try await receiver.webhooks(1)
                try await daemon.until { try await daemon.notification("ntf_2")["attempts"].asArray?.count == 1 }
                #expect(try await daemon.notification("ntf_2")["state"] == "waiting")
                #expect(try await daemon.notification("ntf_1")["state"] == "deadLettered")
                let status = try await daemon.call(.get, "/v1/status").json
                #expect(status.at("clock", "trusted") == false)
                let held = status.at("clock", "heldBackMilliseconds").asInt64 ?? 0
                #expect(held / Self.day == 40 || held / Self.day == 39)
                #expect(abs(held + (status.at("clockAheadMilliseconds").asInt64 ?? 0)) < 2000)
                #expect(!log.text.contains("the clock of this machine was set"))
                // New rows have times that the next start can compare with.
                let fresh = try await daemon.post(about: "fresh").id
                let stored = try #require(try daemon.store.notification(NotificationID(fresh)))
                #expect(SteadyClock().now.milliseconds - stored.receivedAt.milliseconds > 39 * Self.day)

                let confirmed = try await daemon.call(.post, "/v1/clock/confirm")
                #expect(confirmed.status == 200 && confirmed.json.at("clock", "trusted") == true)
                try await daemon.until { try await daemon.notification("ntf_2")["state"] == "expired" }
                try await daemon.until { try daemon.store.census().forgotten >= 1 }
                expectProblem(try await daemon.notification("ntf_1"), 404, "unknown-notification")
                let after = try await daemon.call(.get, "/v1/status").json
                #expect(after.at("clock") == .null && abs(after.at("clockAheadMilliseconds").asInt64 ?? .max) < 2000)
                #expect(try await daemon.call(.post, "/v1/clock/confirm").status == 200, "once more is harmless")
            }
        }
    }

    @Test("a restart does not trust a wrong clock because of rows that were written under it")
    func doubtOutlivesRestart() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.answer(with: 500)
            try Self.fill(directory.file(), daysAgo: 40, endpoint: receiver.url())
            for _ in 0..<2 {
                let options = TestDaemon.Options(database: directory.file(), retention: Self.retention)
                try await withDaemon(options) { daemon in
                    let answer = try await daemon.post(about: "fresh")
                    let status = try await daemon.call(.get, "/v1/status")
                    #expect(answer.status == 202 && status["clock", "trusted"] == false)
                    #expect(try daemon.store.census().forgotten == 0)
                }
            }
        }
    }

    @Test("a clock that is beyond the newest row by days is trusted")
    func ordinaryGap() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            try Self.fill(directory.file(), daysAgo: 6, endpoint: receiver.url())
            try await withDaemon(TestDaemon.Options(database: directory.file(), retention: Self.retention)) { daemon in
                let settled = try await daemon.settled("ntf_2")
                let status = try await daemon.call(.get, "/v1/status")
                #expect(settled["state"] == "expired" && status["clock"] == .null)
            }
        }
    }

    @Test("a daemon that has run for a day trusts its clock")
    func dayPasses() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.answer(with: 500)
            try Self.fill(directory.file(), daysAgo: 40, endpoint: receiver.url())
            let options = TestDaemon.Options(database: directory.file(), retention: Self.retention)
            try await withDaemon(options) { daemon in
                let doubt = try #require(await daemon.host.clockDoubt)
                let wall = SteadyClock().wall
                await daemon.host.confirmClockInTime(at: doubt.endsAt.advanced(byMilliseconds: -1), wall: wall)
                #expect(await daemon.host.clockDoubt != nil)
                await daemon.host.confirmClockInTime(at: doubt.endsAt, wall: wall)
                #expect(await daemon.host.clockDoubt == nil)
                try await daemon.until { try daemon.store.census().forgotten == 1 }
            }
        }
    }

    @Test("a clock that is set right is trusted")
    func clockIsSet() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.answer(with: 500)
            try Self.fill(directory.file(), daysAgo: 40, endpoint: receiver.url())
            try await withDaemon(TestDaemon.Options(database: directory.file())) { daemon in
                let doubt = try #require(await daemon.host.clockDoubt)
                let week = doubt.newest.advanced(byMilliseconds: 7 * Self.day)
                await daemon.host.confirmClockInTime(at: doubt.newest, wall: week.advanced(byMilliseconds: 1))
                #expect(await daemon.host.clockDoubt != nil)
                await daemon.host.confirmClockInTime(at: doubt.newest, wall: week)
                #expect(await daemon.host.clockDoubt == nil)
            }
        }
    }

    @Test("a key of one application confirms no clock")
    func keyOfOneApplication() async throws {
        let keys = [
            APIKey(name: "mine", key: "rk_mine", scopes: [.admin], application: Self.gallery),
            APIKey(name: "scenes", key: "rk_scenes", scopes: [.sessions], application: nil),
        ]
        try await withDaemon(TestDaemon.Options(keys: keys)) { daemon in
            let mine = try await daemon.call(.post, "/v1/clock/confirm", headers: bearer("rk_mine"))
            expectProblem(mine, 403, "key-of-one-application")
            #expect(try await daemon.call(.post, "/v1/clock/confirm", headers: bearer("rk_scenes")).status == 403)
        }
    }
}
