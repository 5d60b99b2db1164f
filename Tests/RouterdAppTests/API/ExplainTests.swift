import HTTPTypes
import Plugins
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Explain", .longest)
struct ExplainTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let path = "\(TestDaemon.gallery)/explain"

    private func fill(_ daemon: TestDaemon) async throws {
        try await daemon.putGallery()
        try await daemon.putSession("nobody", at: Self.url, conditions(can: "FALSEPREDICATE"))
        try await daemon.putSession("able", at: Self.url, #""activationState":"foregroundActive""#)
        try await daemon.putSession("eager", at: Self.url, conditions(prefers: "SELF == 'a'", level: 1))
        try await daemon.putSession(
            "keen", at: Self.url, conditions(can: "FALSEPREDICATE", prefers: "SELF == 'a'", level: 2))
    }

    @Test func everyCandidateIsShownBestFirst() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            let answer = try await daemon.call(.post, Self.path, #"{"notification-content-id":"a"}"#)
            #expect(answer.status == 200)
            #expect(answer["decision", "session"] == "keen")
            #expect(answer["decision", "tier"] == "prefers")
            #expect(answer["targetContentIdentifier"] == "a")
            #expect(answer["sessionsInScope"] == 4)
            let candidates = try #require(answer["candidates"].asArray)
            let rows: [(session: JSONValue, tier: JSONValue, can: JSONValue, prefers: JSONValue, level: JSONValue)] = [
                ("keen", "prefers", false, true, 2), ("eager", "prefers", true, true, 1),
                ("able", "can", true, false, 0), ("nobody", .null, false, false, 0),
            ]
            #expect(candidates.count == rows.count)
            for (candidate, row) in zip(candidates, rows) {
                #expect(candidate.at("session") == row.session)
                #expect(candidate.at("tier") == row.tier)
                #expect(candidate.at("can") == row.can)
                #expect(candidate.at("prefers") == row.prefers)
                #expect(candidate.at("preferenceLevel") == row.level)
            }
            #expect(candidates[2].at("activationState") == "foregroundActive")
        }
    }

    /// The candidates of a notification are those of a payload like it, as sessions are now.
    @Test func aNotificationIsExplainedAsItWouldBeDecidedNow() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            let payload = #"{"notification-content-id":"a"}"#
            let sent = try await daemon.post(payload, headers: ["apns-priority": "5"])
            let path = "/v1/notifications/\(sent.id)/explain"
            #expect(sent["decision", "session"] == "keen")
            let first = try await daemon.call(.get, "\(path)?limit=3")
            let alike = try await daemon.call(.post, "\(Self.path)?priority=5&limit=3", payload)
            #expect(first["candidates"] == alike["candidates"] && first["candidates"].asArray?.count == 3)
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/keen")
            let second = try await daemon.call(.get, path)
            #expect(second["decision", "session"] == "eager")
            #expect(try await daemon.notification(sent.id)["decision", "reason"] == sent["decision", "reason"])
            expectProblem(
                try await daemon.call(.get, "/v1/notifications/ntf_none/explain"), 404, "unknown-notification")
        }
    }

    @Test func withoutContentIDPredicatesAreNotAsked() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            let answer = try await daemon.call(.post, Self.path, "{}")
            #expect(answer["decision", "session"] == "able")
            for candidate in answer["candidates"].asArray ?? [] {
                #expect(candidate.at("tier") == "can" && candidate.at("can") == .null)
            }
        }
    }

    @Test func limitAndDeviceNarrow() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            try await daemon.putSession("phone-1", at: Self.url, #""device":"phone""#)
            let two = try await daemon.call(.post, "\(Self.path)?limit=2", #"{"notification-content-id":"a"}"#)
            #expect(two["candidates"].asArray?.map { $0.at("session") } == ["keen", "eager"])
            #expect(two["sessionsInScope"] == 5)
            let phone = try await daemon.call(.post, "\(Self.path)?device=phone", #"{"notification-content-id":"a"}"#)
            #expect(phone["candidates"].asArray?.map { $0.at("session") } == ["phone-1"])
            #expect(phone["sessionsInScope"] == 1)
        }
    }

    @Test func hasNoEffect() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let commits = daemon.store.commits.count
            let before = try await daemon.session("win-1").bytes
            let headers = ["idempotency-key": "k"]
            for _ in 0..<3 {
                let answer = try await daemon.call(.post, Self.path, "{}", headers: headers)
                #expect(answer["decision", "session"] == "win-1")
            }
            #expect(daemon.store.commits.count == commits)
            #expect(try daemon.store.census().accepted == 0)
            #expect(try await daemon.session("win-1").bytes == before)
            // The idempotency key was not used up.
            #expect(try await daemon.post("{}", headers: headers).status == 202)
        }
    }

    @Test func saysWhatRulesSay() async throws {
        let options = TestDaemon.Options(rules: [StateFloorRule(floor: .background, atOrBelowPriority: .low)])
        try await withDaemon(options) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("off", at: Self.url, conditions(prefers: "TRUEPREDICATE"))
            try await daemon.putSession("on", at: Self.url, #""activationState":"background""#)
            let headers = ["apns-priority": "1"]
            let answer = try await daemon.call(
                .post, Self.path, #"{"notification-content-id":"a"}"#, headers: headers)
            #expect(answer["decision", "session"] == "on")
            let veto = answer["decision", "vetoes"].asArray?.first
            #expect(veto?.at("session") == "off" && veto?.at("rule") == "routerd.rule.state-floor")
            let verdicts = answer["candidates"].asArray?.map { $0.at("verdicts").asArray?.first?.at("verdict") }
            #expect(verdicts == ["veto", "accept"])
            let accepted = try await daemon.post(about: "a", headers: headers)
            #expect(accepted["decision", "vetoes"] == answer["decision", "vetoes"], "the same is kept with it")
        }
    }

    @Test func tellsOfANewSession() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(
                #"{"manifest":{"sceneConfigurations":[{"name":"Main","endpoint":{"url":"http://127.0.0.1:9/"}}]}}"#)
            let answer = try await daemon.call(.post, Self.path, "{}")
            #expect(answer["decision", "tier"] == "newSession")
            #expect(answer["decision", "configuration"] == "Main")
            #expect(answer["candidates"] == [])
            #expect(try await daemon.call(.get, "\(TestDaemon.gallery)/sessions").ids("sessions") == [])
        }
    }
}
