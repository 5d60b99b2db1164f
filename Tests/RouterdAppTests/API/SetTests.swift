import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Sets of resources: applied as a whole or not at all, and again without effect.
@Suite("Sets")
struct SetTests {
    private static func actions(_ answer: Answer) -> [String] {
        (answer["changes"].asArray ?? []).map {
            "\($0["action"]?.asString ?? "") \($0["kind"]?.asString ?? "") \($0["id"]?.asString ?? "")"
        }
    }

    @Test func aSetIsAppliedInOneCommitAndThenChangesNothing() async throws {
        try await withDaemon { daemon in
            let before = daemon.store.commits.count
            let dry = try await daemon.call(.post, "/v1/apply?dryRun=true", TestSet.gallery)
            #expect(dry.status == 200 && dry["dryRun"] == true, "\(dry.text)")
            #expect(daemon.store.commits.count == before)
            let first = try await daemon.call(.post, "/v1/apply", TestSet.gallery)
            #expect(
                Self.actions(first) == [
                    "create Application com.example.gallery", "create Session win-1", "create Source hooks",
                ], "\(first.text)")
            #expect(daemon.store.commits.count == before + 1)
            #expect(first["changes"].asArray?[1]["secret"]?.asString?.hasPrefix("whsec_") == true)
            try await daemon.call(
                .patch, "\(TestDaemon.gallery)/sessions/win-1", #"{"activationState":"foregroundInactive"}"#)
            let again = try await daemon.call(.post, "/v1/apply", TestSet.gallery)
            #expect(again["changes"].asArray?.allSatisfy { $0["action"] == "unchanged" } == true, "\(again.text)")
            #expect(try await daemon.session("win-1")["activationState"] == "foregroundInactive")
        }
    }

    @Test func aChangeIsShownFieldByField() async throws {
        try await withDaemon { daemon in
            try await daemon.call(.post, "/v1/apply", TestSet.gallery)
            let changed = TestSet.gallery.replacing("timeoutSeconds: 20", with: "timeoutSeconds: 25")
            let diff = try await daemon.call(.post, "/v1/apply?dryRun=true", changed)
            let fields = diff["changes"].asArray?.first?["fields"]
            #expect(fields == [["field": "/delivery/timeoutSeconds", "before": 20, "after": 25]], "\(diff.text)")
            #expect(try await daemon.call(.get, TestDaemon.gallery)["delivery", "timeoutSeconds"] == 20)
            try await daemon.call(.post, "/v1/apply", changed)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["delivery", "timeoutSeconds"] == 25)
        }
    }

    private static let faults: [(find: String, put: String, line: Int64, column: Int64, document: String)] = [
        ("timeoutSeconds: 20", "timeoutSeconds: 0", 5, 30, "document 1"),
        ("BEGINSWITH 'photo/'", "BEGINS 'photo/'", 13, 53, "document 2"),
        ("kind: github", "kind: gitbuh", 20, 9, "document 3"),
        ("issue.number}\"", "issue.number\"", 22, 23, "document 3"),
        ("kind: Session", "kind: Sesion", 7, 7, "document 2"),
        ("application: com.example.gallery\nid: win-1", "application: no.such\nid: win-1", 11, 3, "document 2"),
    ]

    @Test(arguments: faults)
    func oneFaultChangesNothing(
        _ row: (find: String, put: String, line: Int64, column: Int64, document: String)
    ) async throws {
        try await withDaemon { daemon in
            #expect(TestSet.gallery.contains(row.find))
            let answer = try await daemon.call(.post, "/v1/apply", TestSet.gallery.replacing(row.find, with: row.put))
            #expect(answer.status == 422 && answer["code"] == "invalid-set", "\(answer.text)")
            let fault = answer["faults"].asArray?.first
            #expect(fault?["line"]?.asInt64 == row.line && fault?["column"]?.asInt64 == row.column, "\(answer.text)")
            #expect(fault?["file"]?.asString == row.document, "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/applications")["applications"] == [])
        }
    }

    @Test func pruningDeletesWhatTheSameSetOwned() async throws {
        try await withDaemon { daemon in
            try await daemon.call(.post, "/v1/apply?set=gallery", TestSet.gallery)
            try await daemon.putSession("own", at: "http://127.0.0.1:9/")
            let documents = TestSet.gallery.split(separator: "---\n").map(String.init)
            let rest = documents[0] + "---\n" + documents[2]
            let other = try await daemon.call(.post, "/v1/apply?set=other&prune=true", documents[0])
            #expect(Self.actions(other) == ["unchanged Application com.example.gallery"])
            let kept = try await daemon.call(.post, "/v1/apply?set=gallery", rest)
            #expect(Self.actions(kept).count == 2, "without prune nothing is deleted: \(kept.text)")
            let pruned = try await daemon.call(.post, "/v1/apply?set=gallery&prune=true", rest)
            #expect(Self.actions(pruned).last == "delete Session win-1", "\(pruned.text)")
            let sessions = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions")
            #expect(sessions.ids("sessions") == ["own"])
        }
    }

    @Test func theMembersOfASetSurviveARestart() async throws {
        let directory = try TemporaryDirectory()
        var options = TestDaemon.Options()
        options.database = directory.file()
        try await withDaemon(options) { daemon in _ = try await daemon.call(.post, "/v1/apply", TestSet.gallery) }
        try await withDaemon(options) { daemon in
            let documents = TestSet.gallery.split(separator: "---\n").map(String.init)
            let pruned = try await daemon.call(.post, "/v1/apply?prune=true", documents[0])
            #expect(
                Set(Self.actions(pruned)) == [
                    "unchanged Application com.example.gallery", "delete Session win-1", "delete Source hooks",
                ], "\(pruned.text)")
        }
    }

    @Test func jsonIsTakenToo() async throws {
        try await withDaemon { daemon in
            let answer = try await daemon.call(
                .post, "/v1/apply", #"{"kind":"Application","id":"a.b","spec":{"displayName":"22:00"}}"#)
            #expect(Self.actions(answer) == ["create Application a.b"], "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/applications/a.b")["displayName"] == "22:00")
            let twice = #"{"kind":"Application","id":"a.b"}"# + "\n---\n" + #"{"kind":"Application","id":"a.b"}"#
            #expect(try await daemon.call(.post, "/v1/apply", twice).status == 422)
        }
    }

    @Test func theRulesOfASetTakeThePlaceOfThoseInUse() async throws {
        try await withDaemon { daemon in
            #expect(
                try await daemon.call(.put, "/v1/rules", #"{"rules":[{"name":"old","then":"drop"}]}"#).status == 200)
            let before = daemon.store.commits.count
            let dry = try await daemon.call(.post, "/v1/apply?dryRun=true", TestSet.gallery + "---\n" + TestSet.rules)
            #expect(Self.actions(dry).suffix(3) == ["create Rule night", "create Rule team", "delete Rule old"])
            #expect(daemon.store.commits.count == before)
            let applied = try await daemon.call(.post, "/v1/apply", TestSet.gallery + "---\n" + TestSet.rules)
            #expect(applied["rulesVersion"] == 2, "\(applied.text)")
            #expect(daemon.store.commits.count == before + 1)
            let kept = try await daemon.call(.get, "/v1/rules")
            #expect(kept["rules"].asArray?.map { $0["name"] } == ["night", "team"] && kept["version"] == 2)
            #expect(kept["rules"].asArray?.last?["applications"] == ["com.example.gallery"])
            let again = try await daemon.call(.post, "/v1/apply", TestSet.rules)
            #expect(Self.actions(again) == ["unchanged Rule night", "unchanged Rule team"])
            #expect(again["rulesVersion"] == 2)
            let others = try await daemon.call(.post, "/v1/apply?prune=true", TestSet.gallery)
            #expect(others["rulesVersion"] == .null)
            #expect(try await daemon.call(.get, "/v1/rules")["version"] == 2)
        }
    }

    private static let ruleFaults: [(find: String, put: String, line: Int64, column: Int64)] = [
        ("when: \"priority < 10\"", "when: \"urgency < 10\"", 3, 14), ("id: team", "id: night", 6, 5),
        ("id: team", "id: a b", 6, 5), ("{x-team: blue}", "{connection: blue}", 8, 37),
        ("spec: {then", "spec: {name: x, then", 8, 14),
        ("spec: {then", "spec: {applications: [a.b], then", 8, 22),
    ]

    @Test(arguments: ruleFaults)
    func aFaultOfOneRuleChangesNothing(
        _ row: (find: String, put: String, line: Int64, column: Int64)
    ) async throws {
        try await withDaemon { daemon in
            let documents = TestSet.rules.replacing(row.find, with: row.put) + "---\n" + TestSet.gallery
            let answer = try await daemon.call(.post, "/v1/apply", documents)
            #expect(answer.status == 422 && answer["code"] == "invalid-set", "\(answer.text)")
            let fault = answer["faults"].asArray?.first
            #expect(fault?["line"]?.asInt64 == row.line && fault?["column"]?.asInt64 == row.column, "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/applications")["applications"] == [])
            #expect(try await daemon.call(.get, "/v1/rules")["version"] == 0)
        }
    }

    @Test func rulesOfTheConfigurationAloneAreNotApplied() async throws {
        var options = TestDaemon.Options()
        options.ruleSource = RuleSource(mayBePut: false)
        try await withDaemon(options) { daemon in
            let answer = try await daemon.call(.post, "/v1/apply", TestSet.rules)
            #expect(answer.status == 409 && answer["code"] == "rules-of-configuration")
        }
    }

    @Test func aSessionsEndpointIsTestedNow() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let answer = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/win-1/test")
            #expect(answer.status == 200 && answer["status"] == 204, "\(answer.text)")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.isVerified && String(decoding: webhook.body, as: UTF8.self).contains("scene.test"))
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
            try await daemon.putSession("gone", at: "http://127.0.0.1:9/")
            let refused = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/gone/test")
            #expect(refused.status == 200 && refused["error", "kind"] == "connect-failed", "\(refused.text)")
            #expect(try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/none/test").status == 404)
            _ = try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/tab", #"{"endpoint": {"stream": true}}"#)
            let stream = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/tab/test")
            #expect(stream.status == 409 && stream["code"] == "not-a-webhook", "\(stream.text)")
        }
    }
}
