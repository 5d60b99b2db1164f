import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The real daemon on a disk that takes no more: the kernel refuses its writes, and takes them again later.
@Suite("Disk", .longest)
struct DiskTests {
    @Test func aDiskThatRefusesIsSaidAndOutlived() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.hold("/held")
            receiver.answer("/busy", with: 429, headers: [.retryAfter: "3"])
            let (held, busy) = (receiver.url("/held"), receiver.url("/busy"))
            try await withServedDaemon(database: directory.file()) { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("held", at: held, conditions(can: "SELF == 'held'"))
                try await daemon.putSession("busy", at: busy, conditions(can: "SELF == 'busy'"))
                let ids = [try await daemon.post(about: "held").id, try await daemon.post(about: "busy").id]
                try await receiver.webhooks(1, at: "/held")
                try await daemon.until(ids[1]) { $0["attempts"].asArray?.count == 1 }

                let log = try FileManager.default.attributesOfItem(atPath: directory.file() + "-wal")[.size] as? Int
                try limitFiles(of: daemon.program, to: "\(try #require(log))")
                let refused = try await daemon.post(about: "held", headers: ["idempotency-key": "k"])
                expectProblem(refused, 503, "store-io-error")
                #expect(refused.headers[.retryAfter] == "1")
                expectProblem(try await daemon.call(.get, "/readyz"), 503, "store-io-error")
                // Accepted notifications are sent; their outcomes are kept in memory until they can be written.
                try await receiver.webhooks(2, at: "/busy")
                receiver.release("/held")
                for id in ids { #expect(try await daemon.notification(id)["state"] == "inFlight") }
                expectProblem(try await daemon.post(about: "held"), 503, "store-io-error")

                try limitFiles(of: daemon.program, to: "unlimited")
                for id in ids {
                    try await daemon.until(id) { $0["state"] == "delivered" }
                    let attempts = try await daemon.notification(id)["attempts"].asArray?.count
                    #expect(attempts == (id == ids[0] ? 1 : 2))
                }
                let accepted = try await daemon.post(about: "held", headers: ["idempotency-key": "k"])
                #expect(accepted.status == 202, "the refused notification was not kept")
                try await daemon.until(accepted.id) { $0["state"] == "delivered" }
                #expect(receiver.webhooks(at: "/held").count == 2 && receiver.webhooks(at: "/busy").count == 2)
                let status = try await daemon.call(.get, "/v1/status").json.at("notifications")
                #expect(status.at("accepted") == 3 && status.at("unaccounted") == 0)
                #expect(try await daemon.call(.get, "/readyz").status == 200)
                let check = try await Program.run("database", "check", "--database", directory.file())
                #expect(check.status == 0, "\(check.errors)")
                daemon.program.send(SIGTERM)
                let errors = try await daemon.program.ended().errors
                #expect(errors.components(separatedBy: "the store refuses changes").count == 2, "it is said once")
                #expect(errors.contains("the store takes changes again"))
            }
        }
    }

    /// No file of the program may grow beyond that size, whatever the program thinks of it.
    private func limitFiles(of program: Program, to size: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["prlimit", "--pid", "\(program.pid)", "--fsize=\(size):unlimited"]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}
