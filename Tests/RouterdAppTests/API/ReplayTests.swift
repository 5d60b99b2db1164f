import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// Replays of the notifications that a filter selects.
@Suite("Replays by filter", .longest)
struct ReplayTests {
    private func replay(_ daemon: TestDaemon, _ body: String, key: String? = nil, as caller: String? = nil) async throws
        -> Answer
    {
        var headers = key.map { ["idempotency-key": $0] } ?? [:]
        headers["authorization"] = caller.map { "Bearer \($0)" }
        return try await daemon.call(.post, "/v1/replays", body, headers: headers)
    }

    /// A gallery in which `count` notifications were refused, and one was accepted.
    private func withRefused(
        _ count: Int, _ body: @Sendable (TestDaemon, Receiver) async throws -> Void
    ) async throws {
        try await withGallery(application: #"{"delivery":{"retrySchedule":[]}}"#) { daemon, receiver in
            try await daemon.putSession("A", at: receiver.url("/hook"))
            for number in 0..<count {
                receiver.answer(with: 404)
                let refused = try await daemon.post(#"{"notification-content-id":"x", "n":\#(number)}"#)
                #expect(try await daemon.settled(refused.id)["state"] == "deadLettered")
            }
            _ = try await daemon.settled(try await daemon.post(about: "taken").id)
            try await body(daemon, receiver)
        }
    }

    @Test func aRefusedDeliveryArrivesLater() async throws {
        try await withRefused(3) { daemon, receiver in
            let dry = try await replay(daemon, #"{"state":"deadLettered","dryRun":true}"#)
            #expect(
                dry.status == 200 && dry["matched"] == 3 && dry["dryRun"] == true
                    && dry["filter", "state"] == "deadLettered")
            #expect(try daemon.store.census().accepted == 4, "nothing is sent")
            #expect(try await daemon.call(.get, "/v1/replays").ids("replays") == [])

            let asked = try await replay(daemon, #"{"state":"deadLettered","perSecond":500}"#, key: "k")
            #expect(asked.status == 202 && asked["matched"] == 3 && asked["perSecond"] == 500)
            #expect(try await replay(daemon, #"{"state":"deadLettered","perSecond":500}"#, key: "k").id == asked.id)
            expectProblem(try await replay(daemon, #"{"state":"expired"}"#, key: "k"), 409, "idempotency-conflict")
            try await daemon.until { try daemon.store.census().byState[.delivered] == 4 }
            let webhooks = try await receiver.webhooks(7, at: "/hook")
            #expect(webhooks.suffix(3).map(\.payload) == webhooks.prefix(3).map(\.payload))
            let done = try await daemon.call(.get, "/v1/replays/\(asked.id)")
            #expect(done["state"] == "completed" && done["replayed"] == 3 && done["endedAt"].asString != nil)
            #expect(try await daemon.call(.get, "/v1/replays").ids("replays") == [asked.id])
        }
    }

    /// A settlement in a transaction that is not committed yet would be sent, and not be counted.
    @Test func aSettlementUnderWayIsWaitedFor() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("A", at: receiver.url("/hook"))
            _ = try await daemon.settled(try await daemon.post(about: "first").id)
            let begun = daemon.store.begun.count
            receiver.hold()
            let second = try await daemon.post(about: "second")
            try await daemon.store.begun.reached(begun + 1)
            daemon.store.close()
            receiver.release()
            try await daemon.store.begun.reached(begun + 2)
            async let dry = replay(daemon, #"{"state":"delivered","dryRun":true}"#)
            // Answered without the engine: in the meantime the request reaches the store, if it does not wait.
            for _ in 0..<500 where daemon.store.tallies.count == 0 { _ = try await daemon.call(.get, "/healthz") }
            daemon.store.open()
            #expect(try await dry["matched"] == 2)
            #expect(try await daemon.settled(second.id)["state"] == "delivered")
        }
    }

    @Test func oneUnderWayIsCancelled() async throws {
        try await withRefused(2) { daemon, _ in
            // Otherwise the replay may have ended before it is cancelled.
            daemon.store.fillDisk { changes in
                changes.contains { if case .putReplay(let replay) = $0 { replay.replayed == 2 } else { false } }
            }
            let asked = try await replay(daemon, #"{"contentId":"x","perSecond":1}"#)
            try await daemon.until {
                try await daemon.call(.get, "/v1/replays/\(asked.id)")["replayed"] == 1
            }
            let cancelled = try await daemon.call(.post, "/v1/replays/\(asked.id)/cancel")
            #expect(cancelled.status == 200 && cancelled["state"] == "cancelled" && cancelled["replayed"] == 1)
            expectProblem(try await daemon.call(.post, "/v1/replays/rpl_0/cancel"), 404, "unknown-replay")
            expectProblem(try await daemon.call(.get, "/v1/replays/rpl_0"), 404, "unknown-replay")
        }
    }

    @Test(arguments: [
        ("{}", 422, "missing-field"), (#"{"dryRun":true}"#, 422, "missing-field"),
        (#"{"state":"waiting"}"#, 422, "invalid-field"), (#"{"state":"gone"}"#, 400, "invalid-parameter"),
        (#"{"state":"expired","perSecond":0}"#, 422, "invalid-field"),
        (#"{"state":"expired","perSecond":1001}"#, 422, "invalid-field"),
        (#"{"state":"expired","cursor":"x"}"#, 400, "unknown-field"),
        (#"{"since":"yesterday"}"#, 400, "invalid-parameter"),
        (#"{"application":"nobody"}"#, 404, "unknown-application"),
        ("[]", 400, "not-an-object"),
    ])
    func faultsAreReported(_ body: String, _ status: Int, _ code: String) async throws {
        try await withGallery { daemon, _ in
            expectProblem(try await replay(daemon, body), status, code)
            #expect(try await daemon.call(.get, "/v1/replays").ids("replays") == [])
        }
    }
}
