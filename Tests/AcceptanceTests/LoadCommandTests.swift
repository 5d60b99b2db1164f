import Glibc
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `bench load` against a daemon that runs.
@Suite("Load command", .longest)
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
            let metrics = try await daemon.call(.get, "/metrics").text
            #expect(metrics.contains("\nrouterd_notifications_accepted_total \(accepted)\n"), "\(metrics)")
            #expect(metrics.contains("\nrouterd_notifications{state=\"delivered\"} \(accepted)\n"), "\(metrics)")
            let figures = try #require(report["daemon"])
            #expect(figures["accepted"]?.asInt64 == accepted && figures["unaccounted"] == 0)
            for stage in ["accept", "decide", "queue"] {
                #expect(figures["\(stage)Milliseconds"]?["count"]?.asInt64 == accepted, "\(stage) of \(figures)")
            }
            #expect(report["forged"] == 0 && report["failures"]?.asArray?.isEmpty == true)
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
            func arguments(_ sessions: Int) -> [String] {
                [
                    "bench", "load", "--server", daemon.address, "--rate", "100", "--seconds", "1", "--sessions",
                    "\(sessions)", "--drain-seconds", "600",
                ]
            }
            let first = try await Program(arguments(5) + ["--json"]).ended()
            let file = try directory.write(first.output, to: "old.json")
            let second = try await Program(arguments(5) + ["--compare", file]).ended()
            #expect(second.status == 0, "\(second.errors)")
            #expect(second.output.contains("p50 until the answer 202: ") && second.output.contains(" ms, difference "))
            #expect(second.output.contains("p99 until the answer 202: too few requests to compare"))
            let other = try await Program(arguments(6) + ["--compare", file, "--json"]).ended()
            let comparison = try JSONValue(parsing: Array(other.output.utf8))["comparison"]
            let differences = try #require(comparison?["differences"]?.asArray)
            #expect(!differences.isEmpty && differences.allSatisfy { $0["verdict"] == "no verdict" })
            #expect(comparison?["reservations"]?.asArray?.contains("sessions was 5, and is 6") == true)
            let empty = try directory.write("{}", to: "other.json")
            let refused = try await Program(arguments(5) + ["--compare", empty]).ended()
            #expect(refused.status == 1 && refused.errors.contains("is no report"), "\(refused.errors)")
        }
    }

    @Test("A run whose requests are refused has failed, and so has one beyond its bounds")
    func failedRuns() async throws {
        try await withServedDaemon { daemon in
            let arguments = [
                "bench", "load", "--server", daemon.address, "--rate", "100", "--sessions", "5", "--drain-seconds", "1",
            ]
            let load = try Program(arguments + ["--seconds", "3"])
            try await daemon.until {
                try await daemon.call(.get, "/v1/status")["notifications", "delivered"].asInt64 ?? 0 > 10
            }
            #expect(try await daemon.call(.delete, "/v1/applications/com.example.load").status < 300)
            let refused = try await load.ended()
            #expect(refused.status == 1, "\(refused.output)")
            #expect(refused.output.contains("FAILED: refused "), "\(refused.output)")
        }
        let own = ["bench", "load", "--own", "--rate", "100", "--seconds", "1"]
        let late = try await Program(own + ["--assert", "lost=0,p50=0.001ms"]).ended()
        #expect(late.status == 1 && late.output.contains("FAILED: p50=0.001ms: "), "\(late.output)")
        let kept = try await Program(own + ["--assert", "lost=0,forged=0,duplicates=0"]).ended()
        #expect(kept.status == 0, "\(kept.output)")
    }

    @Test("A second run with a daemon is not disturbed by sessions of the first one")
    func runsAfterOneAnother() async throws {
        try await withServedDaemon { daemon in
            let arguments = [
                "bench", "load", "--server", daemon.address, "--rate", "60", "--seconds", "1", "--sessions", "8",
                "--json",
            ]
            for more in [["--bad", "500=50"], ["--predicates", "documents"], []] {
                let load = try await Program(arguments + more).ended()
                let report = try JSONValue(parsing: Array(load.output.utf8))
                #expect(load.status == 0 && report["unexpected"] == 0 && report["misrouted"] == 0, "\(load.output)")
            }
        }
    }

    @Test("Notifications that a session takes from others are counted as misrouted")
    func misroutedNotifications() async throws {
        try await withServedDaemon { daemon in
            let load = try Program([
                "bench", "load", "--server", daemon.address, "--rate", "100", "--seconds", "3", "--sessions", "6",
                "--json",
            ])
            try await daemon.until {
                try await daemon.call(.get, "/v1/status")["notifications", "delivered"].asInt64 ?? 0 > 10
            }
            let list = "/v1/applications/com.example.load/sessions"
            let name = try #require(try await daemon.call(.get, list)["sessions"].asArray?.first?["id"]?.asString)
            let greedy = #"{"prefersToActivateForTargetContentIdentifierPredicate": "TRUEPREDICATE"}"#
            let patched = try await daemon.call(
                .patch, "\(list)/\(name)", #"{"activationConditions": \#(greedy)}"#)
            #expect(patched.status == 200, "\(patched.text)")
            let ended = try await load.ended()
            let report = try JSONValue(parsing: Array(ended.output.utf8))
            #expect(ended.status == 1 && report["conserved"] == true, "\(ended.output)")
            let misrouted = try #require(report["misrouted"]?.asInt64)
            #expect(misrouted > 10)
            #expect(report["failures"]?.asArray?.contains(.string("misrouted \(misrouted), at most 0")) == true)
        }
    }

    @Test("Predicates of all kinds among sessions that change their states: every webhook comes where brute force says")
    func changingSessions() async throws {
        let load = try await Program([
            "bench", "load", "--own", "--rate", "200", "--seconds", "2", "--sessions", "30", "--predicates", "mixed",
            "--churn", "50", "--generators", "3", "--json",
        ]).ended()
        #expect(load.status == 0, "\(load.errors) \(load.output)")
        let report = try JSONValue(parsing: Array(load.output.utf8))
        #expect(report["accepted"]?.asInt64 ?? 0 > 200 && report["misrouted"] == 0 && report["overtaken"] == 0)
        #expect(report["workload"] == "mixed" && report["generators"] == 3)
        #expect(report["setting"]?["syncMilliseconds"]?.asDouble ?? 0 > 0)
    }

    @Test("Sessions and contents of files")
    func recordedSessions() async throws {
        let directory = try TemporaryDirectory()
        func session(_ id: String, _ state: String, _ predicate: String) -> String {
            let can = #""canActivateForTargetContentIdentifierPredicate": "\#(predicate)""#
            return #"{"id": "\#(id)", "activationState": "\#(state)", "activationConditions": {\#(can)}, "#
                + #""endpoint": {"url": "http://127.0.0.1:9/"}}"# + "\n"
        }
        let sessions = try directory.write(
            session("a", "foregroundActive", "SELF BEGINSWITH 'x/'") + session("b", "unattached", "SELF CONTAINS 'y'"),
            to: "sessions.jsonl")
        let subjects = try directory.write("x/1\nx/y\nzy\nnone\n", to: "subjects.txt")
        let load = try await Program([
            "bench", "load", "--own", "--rate", "100", "--seconds", "1", "--recorded", sessions, "--subjects", subjects,
            "--json",
        ]).ended()
        let report = try JSONValue(parsing: Array(load.output.utf8))
        #expect(load.status == 0 && report["misrouted"] == 0, "\(load.errors) \(load.output)")
        let (accepted, nowhere) = (report["accepted"]?.asInt64 ?? 0, report["undeliverable"]?.asInt64 ?? 0)
        #expect(nowhere > 0 && report["delivered"]?.asInt64 == accepted - nowhere && report["sessions"] == 2)
    }

    @Test("The isolation of good receivers comes of one command")
    func isolation() async throws {
        let load = try await Program([
            "bench", "load", "--own", "--rate", "200", "--seconds", "1", "--sessions", "20", "--json", "--isolation",
            "--bad", "500=20,hang=10",
        ]).ended()
        #expect(load.status == 0, "\(load.errors) \(load.output)")
        let report = try JSONValue(parsing: Array(load.output.utf8))
        let differences = try #require(report["isolation"]?["differences"]?.asArray)
        #expect(differences.contains { $0["times"] == "deliveryMilliseconds" && $0["percentile"] == "p90" })
        #expect(report["acceptedForBadReceivers"]?.asInt64 ?? 0 > 10)
    }

    @Test("Requests that wait for a connection are late, and give no verdict")
    func fewConnections() async throws {
        let load = try await Program([
            "bench", "load", "--own", "--rate", "1500", "--seconds", "1", "--connections", "1", "--json",
            "--drain-seconds", "600",
        ]).ended()
        let report = try JSONValue(parsing: Array(load.output.utf8))
        #expect(report["connectionWaitMilliseconds"]?["p99"]?.asDouble ?? 0 > 1, "\(load.output)")
        #expect(report["noVerdict"]?.asString != nil)
    }

    @Test("A signal ends the run, which does not accuse the daemon", arguments: [SIGINT, SIGTERM, SIGHUP])
    func interruptedRuns(signal: Int32) async throws {
        try await withServedDaemon { daemon in
            let load = try Program([
                "bench", "load", "--server", daemon.address, "--rate", "100", "--seconds", "900", "--sessions", "5",
            ])
            try await daemon.until {
                try await daemon.call(.get, "/v1/status")["notifications", "delivered"].asInt64 ?? 0 > 10
            }
            load.send(signal)
            let ended = try await load.ended()
            #expect(ended.status == 128 + signal, "\(ended.errors)")
            #expect(ended.output.hasPrefix("INTERRUPTED") && ended.output.contains("everything accepted came"))
            #expect(!ended.output.contains("FAILED"), "\(ended.output)")
        }
    }

    @Test("The daemon of a command ends with the command's end of its input")
    func orphans() async throws {
        let directory = try TemporaryDirectory()
        let daemon = try await Program([
            "serve", "--listen", "127.0.0.1:0", "--database", directory.file(), "--end-with-input",
        ]).ended()
        #expect([0, -SIGTERM].contains(daemon.status), "\(daemon.errors)")
    }

    @Test(arguments: [
        ["--kill-at", "1"], ["--own", "--kill-at", "20"], ["--hgrm", "x", "--find-max", "p99=1s"],
        ["--bad", "quick=1"], ["--find-max", "p99"], ["--clients", "0"], ["--clients", "1", "--find-max", "p99=1s"],
        ["--assert", "p99"], ["--assert", "lost=0", "--find-max", "p99=1s,lost=0"], ["--generators", "0"],
        ["--payload-bytes", "400000"], ["--predicates", "odd"], ["--recorded", "x"], ["--churn", "-1"],
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
