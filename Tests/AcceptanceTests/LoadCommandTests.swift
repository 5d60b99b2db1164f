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
            #expect(report["firstAttemptMilliseconds"]?["count"]?.asInt64 == accepted)
            #expect(report["misrouted"] == 0 && report["overtaken"] == 0 && report["model"] == "open")
            let status = try await daemon.call(.get, "/v1/status")
            #expect(status["notifications", "delivered"].asInt64 == accepted)
        }
        let html = try directory.read("report.html")
        #expect(html.hasPrefix("<!DOCTYPE html>") && html.contains("accepted for good receivers came, in order."))
    }

    /// A daemon of the run's own, beside receivers that fail: the good ones get everything, in order.
    @Test func badReceiversDoNotDisturbTheOthers() async throws {
        let load = try await Program([
            "bench", "load", "--own", "--rate", "200", "--seconds", "1", "--sessions", "20", "--json",
            "--bad", "500=10,slow=10,hang=5,410=5", "--shape", "bursts",
        ]).ended()
        #expect(load.status == 0, "\(load.errors) \(load.output)")
        let report = try JSONValue(parsing: Array(load.output.utf8))
        let (accepted, bad) = (report["accepted"]?.asInt64 ?? 0, report["acceptedForBadReceivers"]?.asInt64 ?? 0)
        #expect(accepted > 100 && bad > 10 && bad < accepted / 2)
        #expect(report["delivered"]?.asInt64 == accepted - bad && report["conserved"] == true)
        #expect(report["misrouted"] == 0 && report["overtaken"] == 0)
    }

    @Test func clientsOfAClosedModelWaitForTheirAnswers() async throws {
        let load = try await Program([
            "bench", "load", "--own", "--clients", "4", "--seconds", "1", "--sessions", "5", "--json",
        ]).ended()
        #expect(load.status == 0, "\(load.errors) \(load.output)")
        let report = try JSONValue(parsing: Array(load.output.utf8))
        #expect(report["model"] == "closed" && report["clients"] == 4 && report["overtaken"] == 0)
        #expect(report["accepted"]?.asInt64 ?? 0 > 4 && report["accepted"] == report["delivered"])
    }

    @Test(arguments: [
        ["--bad", "quick=1"], ["--find-max", "p99"], ["--clients", "0"], ["--clients", "1", "--find-max", "p99=1s"],
    ])
    func wrongUseIsTold(arguments: [String]) async throws {
        let load = try await Program(["bench", "load"] + arguments).ended()
        #expect(load.status == 2 && load.errors.contains(arguments[arguments.count - 2]), "\(load.errors)")
    }

    @Test func aDaemonThatIsNotThereIsToldAtOnce() async throws {
        let load = try await Program.run("bench", "load", "--server", "http://127.0.0.1:9", "--seconds", "1")
        #expect(load.status == 1)
        #expect(load.errors.hasPrefix("http://127.0.0.1:9 cannot be reached: "), "\(load.errors)")
    }

    @Test func aCommandThatDoesNotWaitCannotKnow() async throws {
        try await withServedDaemon { daemon in
            let load = try await Program([
                "bench", "load", "--server", daemon.address, "--rate", "20000", "--seconds", "0.2", "--sessions", "1",
                "--drain-seconds", "0",
            ]).ended()
            #expect(load.status == 1)
            #expect(load.output.contains("NOT CONSERVED"), "\(load.output)")
            #expect(load.output.contains("NO VERDICT, the generator was the bottleneck"), "\(load.output)")
        }
    }
}
