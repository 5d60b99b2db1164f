import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Applications whose predicates take many steps.
@Suite("Long decisions", .longest)
struct LongDecisionTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let other = "/v1/applications/com.example.other"
    /// Sessions that are asked one by one, for more steps together than a turn has.
    private static let count = RouterLimits.stepsPerTurn / 512 + 100

    /// The gallery with sessions of which none can have "x", and behind them the session `last` that can.
    private func fill(_ daemon: TestDaemon) async throws {
        try await daemon.putGallery()
        let lines = (0..<Self.count).map { number in
            let conditions = conditions(can: "SELF > 'z\(number)'")
            let endpoint = #""endpoint":{"url":"\#(Self.url)","secret":"\#(Receiver.secret)"}"#
            return #"{"id":"s\#(number)","activationState":"foregroundInactive",\#(endpoint),\#(conditions)}"#
        }
        let answer = try await daemon.call(
            .post, "\(TestDaemon.gallery)/sessions:batch", lines.joined(separator: "\n"))
        #expect(try answer.lines.allSatisfy { $0.at("status").asInt64 == 201 })
        try await daemon.putSession("last", at: Self.url, conditions(can: "SELF == 'x'"))
    }

    @Test func notificationsAreDecidedInTheirOrder() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            try await daemon.call(.put, Self.other, "{}")
            async let batch = daemon.call(
                .post, "\(TestDaemon.gallery)/notifications:batch",
                (0..<4).map { #"{"notification-content-id":"x","number":\#($0)}"# }.joined(separator: "\n"))
            async let other = daemon.call(.post, "\(Self.other)/notifications", "{}")
            let lines = try await batch.lines
            #expect(lines.map { $0.at("decision", "session") } == Array(repeating: "last", count: 4))
            #expect(try await other.status == 202)
            let ids = lines.compactMap { $0.at("id").asString }
            let path = "/v1/notifications?application=com.example.gallery"
            #expect(try await daemon.call(.get, path).ids("notifications") == ids.reversed())
        }
    }

    @Test func questionsThatTakeSeveralTurnsAreAnswered() async throws {
        try await withDaemon { daemon in
            try await fill(daemon)
            let asked = #""notification":{"contentId":"x"}"#
            let decided = try await daemon.post(about: "x")["decision"]
            #expect(decided.at("session") == "last")
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain?limit=1", #"{"notification-content-id":"x"}"#)
            #expect(explained["decision"] == decided)
            #expect(explained["candidates"].asArray?.map { $0.at("session") } == ["last"])
            let evaluated = try await daemon.call(
                .post, "/v1/rules/evaluate", #"{"application":"com.example.gallery",\#(asked)}"#)
            #expect(evaluated["decision", "session"] == "last")
            let rules = try await daemon.call(.post, "/v1/rules/diff?last=10", "rules: [{name: a, then: drop}]")
            #expect(rules["compared"] == 1)
            #expect(rules["differences"].asArray?.map { $0.at("proposed", "outcome") } == ["dropped"])
            let trial = try await daemon.call(
                .post, "\(TestDaemon.gallery)/sessions/last/trial?last=10",
                #"{"activationConditions":{"canActivateForTargetContentIdentifierPredicate":"SELF == 'y'"},\#(asked)}"#)
            #expect(trial["explanation", "decision", "session"] == .null)
            #expect(trial["differences"].asArray?.map { $0.at("current", "session") } == ["last"])
        }
    }

    @Test func predicatesThatCouldTakeTooManyStepsAreRefused() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            func put(_ terms: Int) async throws -> Answer {
                let predicate = (0..<terms).map { "SELF LIKE '*a?b\($0)?*'" }.joined(separator: " OR ")
                return try await daemon.putSession("s", at: Self.url, conditions(can: predicate))
            }
            let refused = try await put(400)
            expectProblem(refused, 409, "predicates-too-costly")
            #expect(refused["detail"].asString?.contains("\(RouterLimits.stepsPerPredicate) steps") == true)
            #expect(try await daemon.session("s").status == 404)
            #expect(try await put(300).status == 201)
        }
    }
}
