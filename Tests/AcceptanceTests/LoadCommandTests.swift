import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting

/// `bench load` against a daemon that runs.
@Suite("Load command", .timeLimit(.minutes(15)))
struct LoadCommandTests {
    @Test func everythingAcceptedComes() async throws {
        let directory = try TemporaryDirectory()
        let page = directory.file("report.html")
        try await withServedDaemon { daemon in
            let load = try await Program([
                "bench", "load", "--server", daemon.address, "--rate", "200", "--seconds", "1", "--sessions", "9",
                "--json", "--report", page,
            ]).ended()
            #expect(load.status == 0, "\(load.errors)")
            let report = try JSONValue(parsing: Array(load.output.utf8))
            let accepted = try #require(report["accepted"]?.asInt64)
            #expect(accepted > 100 && report["offered"]?.asInt64 == accepted)
            #expect(report["delivered"]?.asInt64 == accepted && report["duplicates"] == 0)
            #expect(report["conserved"] == true && report["missing"] == 0 && report["unexpected"] == 0)
            #expect(report["deliveryMilliseconds"]?["count"]?.asInt64 == accepted)
            let status = try await daemon.call(.get, "/v1/status")
            #expect(status["notifications", "delivered"].asInt64 == accepted)
        }
        let html = try directory.read("report.html")
        #expect(html.hasPrefix("<!DOCTYPE html>") && html.contains("accepted notifications came."))
    }

    @Test func aDaemonThatIsNotThereIsToldAtOnce() async throws {
        let load = try await Program.run("bench", "load", "--server", "http://127.0.0.1:9", "--seconds", "1")
        #expect(load.status == 1)
        #expect(load.errors.hasPrefix("http://127.0.0.1:9 cannot be reached: "), "\(load.errors)")
    }

    @Test func whoDoesNotWaitCannotKnow() async throws {
        try await withServedDaemon { daemon in
            let load = try await Program([
                "bench", "load", "--server", daemon.address, "--rate", "20000", "--seconds", "0.2", "--sessions", "1",
                "--drain-seconds", "0",
            ]).ended()
            #expect(load.status == 1)
            #expect(load.output.contains("NOT CONSERVED"), "\(load.output)")
        }
    }
}
