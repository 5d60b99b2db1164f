import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting

@Suite("Trials of conditions", .timeLimit(.minutes(15)))
struct TrialTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let path = "\(TestDaemon.gallery)/sessions/photos/trial"
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
