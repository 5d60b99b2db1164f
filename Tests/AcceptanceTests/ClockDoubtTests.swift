import Glibc
import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// The real daemon with rows that are much older than its clock: the same as a clock that is ahead.
@Suite("Doubted clock", .longest)
struct ClockDoubtTests {
    private static let day: Int64 = 24 * 60 * 60 * 1000

    @Test("a start 40 days after the newest row forgets nothing until the clock is confirmed")
    func confirmation() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        let time = SteadyClock().now.advanced(byMilliseconds: -40 * Self.day)
        let ids = (1...Int64(20)).map { NotificationID(unchecked: "ntf_\($0)") }
        for (place, id) in ids.enumerated() {
            let header = NotificationHeader(
                sequence: NotificationSequence(Int64(place + 1)), id: id,
                application: ApplicationID(unchecked: "com.example.gallery"), receivedAt: time)
            try store.commit([
                .insert(
                    NewNotification(
                        header, source: PluginID(unchecked: "routerd.source.push"), dedupeKeys: ["key \(place)"],
                        payload: .json(Array("{}".utf8)),
                        decision: Decision(tier: .undeliverable, session: nil, reason: ""),
                        placement: .settled(.deadLettered(.noEligibleSession))))
            ])
        }
        try store.close()
        let (program, port) = try await ServedDaemon.start(database: directory.file())
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            _ = try await program.line(beginning: "", containing: "the clock is far beyond the newest row of the store")
            for id in ids { #expect(try await daemon.notification(id.text).status == 200) }
            let status = try await Program.run("status", "--server", daemon.address)
            #expect(status.status == 0 && status.output.contains("clock.trusted"), "\(status)")
            let confirmed = try await Program.run("clock", "confirm", "--server", daemon.address)
            #expect(confirmed.status == 0 && confirmed.output == "the clock is trusted\n", "\(confirmed)")
            // Retention is on by default: 30 days.
            try await daemon.until { try await daemon.notification(ids[19].text).status == 404 }
            let after = try await daemon.call(.get, "/v1/status").json
            #expect(after.at("clock") == .null && after.at("notifications", "forgotten") == 20)
        }
        program.send(SIGTERM)
        #expect(try await program.ended().status == 0)
    }
}
