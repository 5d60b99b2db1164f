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

    @Test("A daemon that is killed during the run loses nothing, and both ends of its absence are marked")
    func killedDaemon() async throws {
        let directory = try TemporaryDirectory()
        let load = try await Program([
            "bench", "load", "--own", "--rate", "100", "--seconds", "3", "--sessions", "5", "--json", "--kill-at", "1",
            "--hgrm", directory.file("times.hgrm"),
        ]).ended()
        #expect(load.status == 0, "\(load.errors) \(load.output)")
        let report = try JSONValue(parsing: Array(load.output.utf8))
        let marks = report["marks"]?.asArray ?? []
        #expect(marks.map { $0["text"] } == ["the daemon was killed", "the daemon listens again"])
        let times = marks.compactMap { $0["seconds"]?.asDouble }
        #expect(times.count == 2 && times[0] >= 1 && times[0] < times[1])
        #expect(report["conserved"] == true && report["accepted"] == report["delivered"])
        for name in ["times.hgrm", "times-first-attempt.hgrm", "times-delivery.hgrm"] {
            #expect(try directory.read(name).contains("1/(1-Percentile)"), "\(name)")
        }
    }

    @Test("The report of an earlier run is compared with, and another file is refused before the run")
    func comparedRuns() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon { daemon in
            let arguments = [
                "bench", "load", "--server", daemon.address, "--rate", "100", "--seconds", "1", "--sessions", "5",
            ]
            let first = try await Program(arguments + ["--json"]).ended()
            let file = try directory.write(first.output, to: "old.json")
            let second = try await Program(arguments + ["--compare", file]).ended()
            #expect(second.status == 0, "\(second.errors)")
            #expect(second.output.contains("p99 until the answer 202: ") && second.output.contains(" ms, difference "))
            let other = try directory.write("{}", to: "other.json")
            let refused = try await Program(arguments + ["--compare", other]).ended()
            #expect(refused.status == 1 && refused.errors.contains("is no report"), "\(refused.errors)")
        }
    }

    @Test(arguments: [
        ["--kill-at", "1"], ["--own", "--kill-at", "20"], ["--hgrm", "x", "--find-max", "p99=1s"],
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
