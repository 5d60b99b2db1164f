import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Trials of conditions", .longest)
struct TrialTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let path = "\(TestDaemon.gallery)/sessions/photos/trial"
    private static let photo = #"{"notification-content-id":"photo/1"}"#
    private static let prefers = "prefersToActivateForTargetContentIdentifierPredicate"

    private func fill(_ daemon: TestDaemon) async throws {
        try await daemon.putGallery()
        try await daemon.putSession("photos", at: Self.url, conditions(prefers: "SELF BEGINSWITH 'photo/'"))
        try await daemon.putSession("rest", at: Self.url, #""activationState":"foregroundActive""#)
    }

    private func body(_ prefers: String, contentID: String = "photo/1") -> String {
        """
        {"activationConditions":{"\(Self.prefers)":"\(prefers)"},"notification":{"contentId":"\(contentID)"}}
        """
    }

    @Test func explanationIsTheDecisionAfterTheConditionsAreChanged() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            for (predicate, content) in [
                ("SELF == 'photo/2'", "photo/1"), ("SELF == 'album/1'", "album/1"), ("SELF == 'photo/2'", "photo/2"),
            ] {
                let trial = try await daemon.call(.post, "\(Self.path)?parts=true", body(predicate, contentID: content))
                #expect(trial.status == 200)
                let conditions = #"{"activationConditions":{"\#(Self.prefers)":"\#(predicate)"}}"#
                _ = try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/photos", conditions)
                let explained = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/explain?parts=true", #"{"notification-content-id":"\#(content)"}"#)
                for field in ["session", "tier", "reason"] {
                    #expect(trial["explanation", "decision", field] == explained["decision", field])
                }
                #expect(trial["explanation", "candidates"] == explained["candidates"])
                #expect(trial["compared"] == 0)
            }
        }
    }

    @Test func differencesOfTheLastNotificationsAreListed() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            for content in ["photo/1", "photo/2", "album/1"] { _ = try await daemon.post(about: content) }
            let trial = try await daemon.call(.post, "\(Self.path)?last=1000", body("SELF == 'photo/2'"))
            #expect(trial["compared"] == 3)
            let differences = try #require(trial["differences"].asArray)
            #expect(differences.map { $0.at("contentId") } == ["photo/1"])
            #expect(differences.first?.at("current").at("session") == "photos")
            #expect(differences.first?.at("proposed").at("session") == "rest")
            let two = try await daemon.call(.post, "\(Self.path)?last=2", body("SELF == 'photo/2'"))
            #expect(two["compared"] == 2 && two["differences"].asArray?.isEmpty == true)
        }
    }

    @Test func changesNothing() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            _ = try await daemon.settled(try await daemon.post(about: "photo/1").id)
            let before = try await daemon.session("photos").bytes
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain", #"{"notification-content-id":"photo/1"}"#)
            let trial = try await daemon.call(.post, "\(Self.path)?last=10", body("FALSEPREDICATE"))
            #expect(trial["explanation", "decision", "session"] == "rest")
            #expect(try await daemon.session("photos").bytes == before)
            let again = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain", #"{"notification-content-id":"photo/1"}"#)
            #expect(again["decision"] == explained["decision"])
            #expect(try daemon.store.census().accepted == 1)
        }
    }

    /// The sessions `photos` and `rest` on a device whose gate is open, and `kiosk` behind a closed one.
    private func withBroadcasts(_ body: @Sendable (TestDaemon) async throws -> Void) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(
                #"{"routing":{"broadcasts":true},"delivery":{"retrySchedule":[600]},"gates":{"onboarding":{}}}"#)
            try await daemon.putSession("photos", at: Self.url, #""device":"phone""#)
            try await daemon.putSession("rest", at: Self.url, #""device":"phone","activationState":"foregroundActive""#)
            try await daemon.putSession("kiosk", at: Self.url, #""device":"hall""#)
            for (step, body) in [("open", #"{"session":"rest"}"#), ("succeed", #"{"session":"rest","term":1}"#)] {
                #expect(try await daemon.call(.post, "\(TestDaemon.gallery)/gate/\(step)", body).status == 200)
            }
            try await body(daemon)
        }
    }

    /// The receivers that an explanation shows now, and those of a broadcast that is posted then.
    private func receivers(_ daemon: TestDaemon) async throws -> (explained: [BroadcastPart], posted: [BroadcastPart]) {
        let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain?broadcast=true", Self.photo)
        let posted = try await daemon.post(Self.photo, query: "?broadcast=true")
        return (BroadcastPart.explained(explained.json), BroadcastPart.posted(posted.json))
    }

    /// The receivers of a trial are those of the next post once the conditions are changed.
    @Test(arguments: [("SELF == 'photo/1'", ["rest", "photos", "kiosk"]), ("FALSEPREDICATE", ["rest", "kiosk"])])
    func receiversAreThoseOfTheNextBroadcast(predicate: String, sessions: [String]) async throws {
        try await withBroadcasts { daemon in
            let change = conditions(can: predicate)
            let trial = try await daemon.call(
                .post, "\(Self.path)?broadcast=true", #"{\#(change),"notification":{"contentId":"photo/1"}}"#)
            let tried = BroadcastPart.explained(trial["explanation"])
            #expect(tried.map(\.session) == sessions)
            #expect(tried.map(\.state) == sessions.map { $0 == "kiosk" ? "held" : "waiting" })
            #expect(try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/photos", "{\(change)}").status == 200)
            let next = try await receivers(daemon)
            #expect(tried == next.explained && tried == next.posted)
        }
    }

    /// The receivers under rules that are tried out are those of the next post once the rules are in use.
    @Test(arguments: [
        (#""veto""#, ["rest", "kiosk"]), (#""drop""#, ["rest", "kiosk"]),
        (#"{"redirect":"kiosk"}"#, ["rest", "kiosk"]), (#"{"holdSeconds":60}"#, ["rest", "photos", "kiosk"]),
    ])
    func receiversUnderRulesAreThoseOfTheNextBroadcast(then: String, sessions: [String]) async throws {
        try await withBroadcasts { daemon in
            let rules = #""rules":[{"name":"tried","when":"candidate.session == 'photos'","then":\#(then)}]"#
            let trial = try await daemon.call(
                .post, "/v1/rules/evaluate?broadcast=true",
                #"{"application":"com.example.gallery",\#(rules),"notification":{"contentId":"photo/1"}}"#)
            let tried = BroadcastPart.explained(trial.json)
            #expect(tried.map(\.session) == sessions)
            #expect(try await daemon.call(.put, "/v1/rules", "{\(rules)}").status == 200)
            let next = try await receivers(daemon)
            #expect(tried.map(\.state) == next.posted.map(\.state))
            #expect(tried == next.explained && tried == next.posted)
        }
    }

    /// A notification of a broadcast goes to its session or to none: another one has got its own.
    @Test func notificationsOfABroadcastAreComparedForTheirOwnSessions() async throws {
        try await withBroadcasts { daemon in
            #expect(try await daemon.post(Self.photo, query: "?broadcast=true").ids("notifications").count == 3)
            let body = #"{\#(conditions(can: "FALSEPREDICATE")),"notification":{"contentId":"photo/1"}}"#
            let trial = try await daemon.call(.post, "\(Self.path)?last=10", body)
            let differences = try #require(trial["differences"].asArray)
            #expect(trial["compared"] == 3 && differences.map { $0.at("current", "session") } == ["photos"])
            #expect(differences.first?.at("proposed", "outcome") == "undeliverable")
        }
    }

    /// A trial is refused where the post would be.
    @Test func trialsOfBroadcastsNeedThePermissionOfTheApplication() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"routing":{"requireContentId":true}}"#)
            try await daemon.putSession("photos", at: Self.url)
            let trial = #"{"activationConditions":{}}"#
            let rules = #"{"application":"com.example.gallery","rules":[]}"#
            for (path, body) in [(Self.path, trial), ("/v1/rules/evaluate", rules)] {
                expectProblem(try await daemon.call(.post, "\(path)?broadcast=true", body), 409, "broadcasts-off")
                expectProblem(try await daemon.call(.post, path, body), 422, "content-id-missing")
            }
        }
    }

    @Test func faultsPointAtTheirPlace() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            let fault = try await daemon.call(.post, Self.path, body("SELF == "))
            #expect(fault.status == 422)
            #expect(fault["side"] == "prefers")
            #expect(fault["caret"].asString?.contains("^") == true)
            #expect(fault["span", "offset"].asInt64 != nil)
            expectProblem(try await daemon.call(.post, Self.path, "{}"), 422, "missing-field")
            let unknown = "\(TestDaemon.gallery)/sessions/none/trial"
            expectProblem(try await daemon.call(.post, unknown, body("TRUEPREDICATE")), 404, "unknown-session")
        }
    }
}
