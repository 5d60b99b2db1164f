import Glibc
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The commands by which an operator inspects a daemon and resumes its lanes.
@Suite("Operator's commands", .longest)
struct OperatorCommandTests {
    private static func words(_ output: String) -> [String] {
        output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    }

    private static func environment(_ daemon: ServedDaemon) -> [String: String] {
        ["ROUTERD_SERVER": daemon.address, "ROUTERD_APPLICATION": "com.example.gallery"]
    }

    @Test func sendMakesThePayloadAndWaits() async throws {
        try await withReceiver { receiver in
            try await withServedDaemon { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: receiver.url())
                func send(_ words: String..., input: String = "") async throws -> Program.Ended {
                    try await Program(["send"] + words, input: input, environment: Self.environment(daemon)).ended()
                }
                let made = try await send(
                    "--content-id", "photo/1", "--alert", "New", "--priority", "5", "--collapse-id", "c", "--expires",
                    "600", "--wait")
                #expect(made.status == 0, "\(made.errors)")
                let lines = made.output.split(separator: "\n")
                #expect(lines.count == 4 && lines[2] == "  attempt 1 at win-1: 204" && lines[3] == "delivered")
                let id = String(lines[0].split(separator: " ")[0])
                let kept = try await daemon.call(.get, "/v1/notifications/\(id)")
                #expect(kept["payload", "aps", "alert"] == "New")
                #expect(kept["targetContentIdentifier"] == "photo/1")
                #expect(kept["priority"] == 5 && kept["collapseId"] == "c" && kept["expiresAt"].asString != nil)
                let inline = try await send(#"{"notification-content-id":"photo/2"}"#, "--wait", "--json")
                #expect(inline.status == 0, "\(inline.errors)")
                #expect(try JSONValue(parsing: Array(inline.output.utf8)).at("state") == "delivered")
                #expect(try await send(input: #"{"notification-content-id":"photo/3"}"#).status == 0)
                let both = try await send("{}", "--alert", "x")
                #expect(both.status == 2 && both.errors.contains("not both"), "\(both.errors)")
                #expect(try await send("{}", "--priority", "7").status == 2)
                let negative = try await send("{}", "--expires", "-1")
                #expect(negative.status == 2 && negative.errors.contains("--expires must be 0 or more seconds."))
            }
        }
    }

    @Test func sendFailsWhereNoSessionCanHaveIt() async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[86400]}}"#)
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/", conditions(can: "FALSEPREDICATE"))
            for wait in [[], ["--wait"]] {
                let sent = try await Program(
                    ["send", "--content-id", "photo/1"] + wait, environment: Self.environment(daemon)
                ).ended()
                #expect(sent.status == 1)
                #expect(sent.output.contains(" deadLettered\n→ no session  because "), "\(sent.output)")
            }
            let late = try await Program(
                ["send", "--wait", "--wait-seconds", "1", "{}"], environment: Self.environment(daemon)
            ).ended()
            #expect(late.status == 1, "a payload without a content id waits for an endpoint that refuses connections")
            #expect(late.errors.contains("after 1 s; it stays with the daemon"), "\(late.errors)")
        }
    }

    @Test func theListNamesTheSessionOfNotificationsAndOfEvents() async throws {
        try await withReceiver { receiver in
            try await withServedDaemon { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: receiver.url())
                for command in [["send", "--content-id", "photo/1"], ["sessions", "activate", "win-1"]] {
                    let ended = try await Program(command, environment: Self.environment(daemon)).ended()
                    #expect(ended.status == 0, "\(ended.errors)")
                }
                let listed = try await Program(["notifications"], environment: Self.environment(daemon)).ended()
                let rows = Self.words(listed.output).map { $0.split(separator: " ") }
                #expect(rows.first?.dropFirst(3).prefix(3) == ["type", "application", "session"])
                #expect(rows.count > 2 && rows.dropFirst().allSatisfy { $0[5] == "win-1" }, "\(listed.output)")
                let json = try await Program(["notifications", "--json"], environment: Self.environment(daemon)).ended()
                let events = try JSONValue(parsing: Array(json.output.utf8)).at("notifications").asArray ?? []
                #expect(events.contains { $0["decision"] == nil } && events.contains { $0["decision"] != nil })
            }
        }
    }

    @Test func notificationsLanesAndReplaysAreShownAndMoved() async throws {
        try await withReceiver { receiver in
            try await withServedDaemon { daemon in
                try await daemon.putGallery(#"{"delivery":{"retrySchedule":[86400]}}"#)
                try await daemon.putSession("win-1", at: receiver.url())
                func run(_ words: String..., status: Int32 = 0) async throws -> [String] {
                    let ended = try await Program(words, environment: Self.environment(daemon)).ended()
                    #expect(ended.status == status, "\(words): \(ended.errors)")
                    return Self.words(ended.output)
                }
                receiver.answer(with: 503)
                let id = try await run("send", "--content-id", "photo/1")[0].split(separator: " ")[0]
                // The lane is there after the attempt too, since the next one is a day away.
                try await daemon.until(String(id)) { $0["attempts"].asArray?.count == 1 }
                let lanes = try await run("lanes")
                #expect(lanes[0].hasPrefix("application session waiting inFlight attempts nextAttemptAt"))
                #expect(lanes[1].hasPrefix("com.example.gallery win-1 1 "))
                let resumed = try await run("lanes", "resume", "win-1")
                #expect(resumed[0].hasPrefix("win-1 resumed: "), "\(resumed)")
                try await daemon.until(String(id)) { $0["state"] == "delivered" }
                let list = try await run("notifications", "list", "--state", "delivered")
                #expect(list.count == 2 && list[1].hasPrefix("\(id) "))
                #expect(try await run("notifications", "show", String(id)).joined().contains(#""state": "delivered""#))
                #expect(try await run("notifications", "cancel", String(id), status: 1).isEmpty)
                let again = try await run("notifications", "replay", String(id))
                #expect(again[0].hasSuffix(" waiting") && again[1].hasPrefix("→ win-1 "))
                #expect(try await run("replays", "start", "--state", "delivered", "--dry-run")[0].hasSuffix("again"))
                let replay = try await run("replays", "start", "--state", "delivered")[0].split(separator: " ")[0]
                #expect(try await run("replays").contains { $0.hasPrefix("\(replay) ") })
                #expect(try await run("replays", "show", String(replay)).joined().contains(#""matched": "#))
                let waited = try await run("replays", "start", "--state", "delivered", "--wait")
                #expect(waited.count == 2 && waited[1].hasPrefix("completed: "), "\(waited)")
                let status = try await run("status")
                #expect(status.contains("notifications.unaccounted 0") && status.contains("applications 1"))
                #expect(try await run("applications")[1].hasPrefix("com.example.gallery "))
                #expect(try await run("applications", "put", "com.example.Other", "{}").first == "{")
                #expect(try await run("applications", "delete", "com.example.Other") == ["com.example.Other deleted"])
            }
        }
    }

    @Test func explainAsksForAnotherTimeAndPriority() async throws {
        let directory = try TemporaryDirectory()
        let rules = """
            rules:
              - {id: routerd.rule.quiet-hours, start: "22:00", end: "07:00"}

            """
        let file = try directory.write(rules, to: "routerd.yaml")
        try await withServedDaemon(["--config", file]) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            func explain(_ words: String...) async throws -> String {
                let ended = try await Program(
                    ["explain", "--content-id", "photo/1"] + words, environment: Self.environment(daemon)
                ).ended()
                #expect(ended.status == 0, "\(ended.errors)")
                return ended.output
            }
            let night = try await explain("--priority", "5", "--at", "2026-01-02T23:30:00Z")
            #expect(night.contains("held until 2026-01-03T07:00:00"), "\(night)")
            #expect(night.contains("win-1  routerd.rule.quiet-hours: hold: "), "\(night)")
            let noon = try await explain("--priority", "5", "--at", "2026-01-02T12:00:00Z")
            #expect(noon.contains("→ win-1 ") && noon.contains("routerd.rule.quiet-hours: accept"), "\(noon)")
            let urgent = try await explain("--at", "2026-01-02T23:30:00Z")
            #expect(urgent.contains("→ win-1 "), "\(urgent)")
            let bad = try await Program(
                ["explain", "--content-id", "a", "--at", "tonight"], environment: Self.environment(daemon)
            ).ended()
            #expect(bad.status == 1 && bad.errors.hasPrefix("400 invalid-parameter: at must be a time"))
        }
    }

    @Test func aNewKeyLetsItsClientIn() async throws {
        let made = try await Program.run("keys", "new", "--name", "c i: \"x\"", "--scope", "ingest", "--scope", "admin")
        #expect(made.status == 0, "\(made.errors)")
        let lines = made.output.split(separator: "\n", maxSplits: 1)
        let key = try #require(lines[0].split(separator: " ").last).description
        #expect(key.hasPrefix("rk_") && key.count == 46)
        let directory = try TemporaryDirectory()
        let file = try directory.write(String(lines[1]), to: "routerd.yaml")
        try await withServedDaemon(["--config", file]) { daemon in
            let environment = ["ROUTERD_SERVER": daemon.address, "ROUTERD_KEY": key]
            #expect(try await Program(["status"], environment: environment).ended().status == 0)
            let without = try await Program(["status", "--server", daemon.address]).ended()
            #expect(without.status == 1 && without.errors.hasPrefix("401 key-missing: "))
        }
        let json = try await Program.run("keys", "new", "--name", "a", "--scope", "ingest", "--for", "x.y", "--json")
        #expect(try JSONValue(parsing: Array(json.output.utf8)).at("entry", "application") == "x.y")
        let wrong = try await Program.run("keys", "new", "--name", "a", "--scope", "root")
        #expect(wrong.status == 2 && wrong.errors.contains("--scope must be one of ingest, sessions, admin"))
    }

    @Test func theApplicationMustBeNamed() async throws {
        let ended = try await Program.run("sessions", "list")
        #expect(ended.status == 2 && ended.errors.contains("ROUTERD_APPLICATION"), "\(ended.errors)")
    }

    @Test(arguments: [["receive", "--listen"], ["bench", "echo", "--listen"]])
    func addressesAreToldInSentences(words: [String]) async throws {
        let odd = try await Program(words + ["foo"]).ended()
        let sentence = "--listen must be HOST:PORT, such as 127.0.0.1:8080; 'foo' is not one."
        #expect(odd.status == 2 && odd.errors.contains(sentence), "\(odd.errors)")
        #expect(!odd.errors.contains("Unusable"))
        try await withServedDaemon { daemon in
            let taken = try await Program(words + ["127.0.0.1:\(daemon.port)"]).ended()
            let sentence = "cannot listen on 127.0.0.1:\(daemon.port): another program listens there."
            #expect(taken.status == 1 && taken.errors.contains(sentence), "\(taken.errors)")
        }
    }
}
