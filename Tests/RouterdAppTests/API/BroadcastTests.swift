import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// A receiver of a broadcast, as an explanation or as the answer to the post shows it.
struct BroadcastPart: Equatable, Sendable {
    let session: String
    let tier: String
    let reason: String
    let state: String

    private init?(_ decision: JSONValue, _ state: JSONValue) {
        guard let session = decision.at("session").asString, let tier = decision.at("tier").asString,
            let reason = decision.at("reason").asString, let state = state.asString
        else { return nil }
        (self.session, self.tier, self.reason, self.state) = (session, tier, reason, state)
    }

    static func explained(_ explanation: JSONValue) -> [BroadcastPart] {
        (explanation.at("receivers").asArray ?? []).compactMap { Self($0, $0.at("state")) }
    }

    static func posted(_ answer: JSONValue) -> [BroadcastPart] {
        (answer.at("notifications").asArray ?? []).compactMap { Self($0.at("decision"), $0.at("state")) }
    }
}

/// One request that becomes a notification for each session that can have it.
@Suite("Broadcasts", .longest)
struct BroadcastTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let allowing = #"{"routing":{"broadcasts":true},"delivery":{"retrySchedule":[600]}}"#
    private static let broadcast = "?broadcast=true"
    private static let payload = #"{"notification-content-id":"photo/7", "n":  1}"#

    private func withSessions(
        _ application: String = allowing, _ body: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(application)
            try await daemon.putSession("A", at: Self.url, #""device":"phone""#)
            try await daemon.putSession("B", at: Self.url, #""device":"phone","# + conditions(prefers: "TRUEPREDICATE"))
            try await daemon.putSession("C", at: Self.url, conditions(can: "FALSEPREDICATE"))
            try await daemon.putSession("D", at: Self.url, #""device":"wall""#)
            try await body(daemon)
        }
    }

    @Test func eachSessionThatCanHasOneOfItsOwn() async throws {
        try await withGallery(application: #"{"routing":{"broadcasts":true}}"#) { daemon, receiver in
            for id in ["A", "B"] { try await daemon.putSession(id, at: receiver.url("/\(id)")) }
            try await daemon.putSession("C", at: receiver.url("/C"), conditions(can: "FALSEPREDICATE"))
            let answer = try await daemon.post(Self.payload, query: Self.broadcast)
            #expect(answer.status == 202 && answer.ids("notifications").count == 2)
            for (id, session) in zip(answer.ids("notifications"), ["A", "B"]) {
                let settled = try await daemon.settled(id)
                #expect(settled["state"] == "delivered" && settled["decision", "session"] == .string(session))
                #expect(try await receiver.webhooks(1, at: "/\(session)")[0].payload == Array(Self.payload.utf8))
            }
            #expect(try daemon.store.census().accepted == 2)
        }
    }

    @Test func theNotificationsAreShownTogether() async throws {
        try await withSessions { daemon in
            let answer = try await daemon.post(Self.payload, query: Self.broadcast)
            let ids = answer.ids("notifications")
            #expect(ids.count == 3)
            let sessions = answer["notifications"].asArray?.map { $0.at("decision", "session") }
            #expect(sessions == ["B", "A", "D"])
            for id in ids {
                let read = try await daemon.notification(id)
                #expect(read["broadcast", "id"] == .string(ids[0]))
                let parts = read["broadcast", "notifications"].asArray ?? []
                #expect(parts.map { $0["id"] } == ids.map { .string($0) })
                #expect(parts.map { $0["session"] } == ["B", "A", "D"])
            }
            let list = try await daemon.call(.get, "/v1/notifications")
            let first = list["notifications"].asArray?.first
            #expect(first?.at("broadcast", "id") == .string(ids[0]))
            #expect(first?.at("broadcast", "notifications") == .null)
            let plain = try await daemon.notification(try await daemon.post("{}").id)
            #expect(plain["broadcast"] == .null)
            let phone = try await daemon.post(Self.payload, query: "?broadcast=true&device=phone")
            #expect(phone.ids("notifications").count == 2)
        }
    }

    @Test func aRepetitionMakesNone() async throws {
        try await withSessions { daemon in
            let key = ["idempotency-key": "k"]
            let answer = try await daemon.post(Self.payload, headers: key, query: Self.broadcast)
            let again = try await daemon.post(Self.payload, headers: key, query: Self.broadcast)
            #expect(again.status == 200 && again.ids("notifications") == answer.ids("notifications"))
            #expect(again["notifications"].asArray?.allSatisfy { $0["duplicate"] == true } == true)
            #expect(try daemon.store.census().accepted == 3)
            expectProblem(try await daemon.post(Self.payload, headers: key), 409, "idempotency-conflict")
            expectProblem(
                try await daemon.post("{}", headers: key, query: Self.broadcast), 409, "idempotency-conflict")
        }
    }

    @Test func theApplicationHasToAllowIt() async throws {
        try await withSessions("{}") { daemon in
            #expect(try await daemon.call(.get, TestDaemon.gallery)["routing", "broadcasts"] == false)
            expectProblem(try await daemon.post(Self.payload, query: Self.broadcast), 409, "broadcasts-off")
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain\(Self.broadcast)", Self.payload)
            expectProblem(explained, 409, "broadcasts-off")
            #expect(try await daemon.post(Self.payload, query: "?broadcast=false").status == 202)
            try await daemon.putGallery(Self.allowing)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["routing", "broadcasts"] == true)
            let collapsing = try await daemon.post(
                Self.payload, headers: ["apns-collapse-id": "c"], query: Self.broadcast)
            expectProblem(collapsing, 422, "collapse-id-in-broadcast")
        }
    }

    @Test func withoutASessionTheAnswerIsThatOfAnyOther() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(Self.allowing)
            let answer = try await daemon.post(Self.payload, query: Self.broadcast)
            let entries = answer["notifications"].asArray ?? []
            #expect(answer.status == 202 && entries.count == 1)
            #expect(entries.first?["state"] == "deadLettered")
            #expect(entries.first?.at("decision", "tier") == "undeliverable")
        }
    }

    @Test func anExplanationShowsTheReceivers() async throws {
        try await withSessions { daemon in
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain\(Self.broadcast)&limit=1", Self.payload)
            #expect(explained["receivers"].asArray?.map { $0["session"] } == ["B", "A", "D"])
            #expect(explained["receivers"].asArray?.first?["reason"] == "prefers: TRUEPREDICATE")
            #expect(explained["candidates"].asArray?.count == 1 && explained["decision", "session"] == "B")
            let plain = try await daemon.call(.post, "\(TestDaemon.gallery)/explain", Self.payload)
            #expect(plain["receivers"] == .null)
        }
    }

    @Test func moreReceiversThanThereMayBeRefuseAllOfIt() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(Self.allowing)
            let lines = (0...RouterLimits.broadcastSessions).map {
                #"{"id":"s\#($0)","endpoint":{"url":"\#(Self.url)"}}"#
            }
            let sessions = "\(TestDaemon.gallery)/sessions"
            #expect(
                try await daemon.call(.post, "\(sessions):batch", lines.joined(separator: "\n")).status == 200)
            let refused = try await daemon.post(Self.payload, query: Self.broadcast)
            expectProblem(refused, 409, "too-many-receivers")
            #expect(try daemon.store.census().accepted == 0)
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain\(Self.broadcast)", Self.payload)
            expectProblem(explained, 409, "too-many-receivers")
            #expect(try await daemon.call(.delete, "\(sessions)/s7").status == 204)
            let answer = try await daemon.post(Self.payload, query: Self.broadcast)
            #expect(answer.ids("notifications").count == RouterLimits.broadcastSessions)
            let read = try await daemon.notification(answer.ids("notifications").last ?? "")
            #expect(read["broadcast", "notifications"].asArray?.count == RouterLimits.broadcastSessions)
        }
    }
}
