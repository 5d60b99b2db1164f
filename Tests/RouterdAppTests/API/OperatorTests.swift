import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The status for operators, and their request to resume a receiver.
@Suite("Status and lanes", .longest)
struct OperatorTests {
    @Test func theStatusAddsUp() async throws {
        try await withGallery { daemon, receiver in
            let empty = try await daemon.call(.get, "/v1/status").json
            #expect(abs(empty.at("clockAheadMilliseconds").asInt64 ?? .max) < 2000)
            #expect(empty.at("notifications", "accepted") == 0 && empty.at("planning", "nanosecondsP50") == .null)
            try await daemon.putSession("win-1", at: receiver.url(), conditions(can: "SELF == 'a'"))
            for content in ["a", "b"] { _ = try await daemon.settled(try await daemon.post(about: content).id) }
            let status = try await daemon.call(.get, "/v1/status").json
            #expect(status.at("applications") == 1 && status.at("sessions") == 1)
            #expect(status.at("notifications", "accepted") == 2 && status.at("notifications", "unaccounted") == 0)
            #expect(status.at("notifications", "delivered") == 1 && status.at("notifications", "deadLettered") == 1)
            #expect(status.at("planning", "count") == 2)
            #expect((status.at("planning", "nanosecondsP99").asInt64 ?? 0) > 0)
            #expect(status.at("version").asString == RouterdVersion.current)
        }
    }

    @Test func aLaneIsSeenAndGoesOnByHand() async throws {
        try await withGallery(application: #"{"delivery":{"retrySchedule":[3600]}}"#) { daemon, receiver in
            receiver.answer("/busy", with: 503, 204)
            try await daemon.putSession("a-b", at: receiver.url("/busy"))
            let first = try await daemon.post(about: "x")
            try await daemon.until { try await daemon.notification(first.id).json.at("attempts").asArray?.count == 1 }
            let lanes = try await daemon.call(.get, "/v1/lanes?application=com.example.gallery").json
            let lane = lanes.at("lanes").asArray?.first ?? .null
            #expect(lane.at("session") == "a-b" && lane.at("waiting") == 1 && lane.at("attempts") == 1)
            #expect(lane.at("nextAttemptAt") != .null && lane.at("disabled") == .null)
            #expect(lane.at("breaker", "state") == "closed" && lane.at("breaker", "reason") == .null)
            #expect(try await daemon.call(.get, "/v1/lanes?application=com.example.other").json.at("lanes") == [])
            let path = "/v1/lanes/a-b/resume"
            expectProblem(try await daemon.call(.post, path), 400, "invalid-parameter")
            expectProblem(
                try await daemon.call(.post, "\(path)?application=com.example.other"), 404, "unknown-application")
            expectProblem(
                try await daemon.call(.post, "/v1/lanes/x/resume?application=com.example.gallery"), 404,
                "unknown-session")
            let resumed = try await daemon.call(.post, "\(path)?application=com.example.gallery")
            #expect(resumed.status == 200 && resumed["session"] == "a-b")
            #expect(try await daemon.settled(first.id)["state"] == "delivered")
            try await daemon.until { try await daemon.call(.get, "/v1/lanes").json.at("lanes") == [] }
        }
    }

    /// The deliveries of its lane have moved on, and the session is still listed.
    @Test func aSessionThatIsGoneIsSeen() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer("/gone", with: 410)
            try await daemon.putSession("win-1", at: receiver.url("/gone"))
            _ = try await daemon.settled(try await daemon.post(about: "a").id)
            let lanes = try await daemon.call(.get, "/v1/lanes").json.at("lanes").asArray ?? []
            #expect(lanes.count == 1 && lanes.first?.at("session") == "win-1" && lanes.first?.at("waiting") == 0)
            #expect(lanes.first?.at("disabled") == "gone" && lanes.first?.at("breaker", "state") == "disabled")
            #expect(try await daemon.call(.get, "/v1/lanes?application=com.example.other").json.at("lanes") == [])
        }
    }

    @Test func aBreakerIsSeenAndClosedByHand() async throws {
        let schedule = Array(repeating: "0", count: 60).joined(separator: ",")
        try await withGallery(application: #"{"delivery":{"retrySchedule":[\#(schedule)]}}"#) { daemon, receiver in
            for _ in 0..<60 { receiver.answer("/down", with: 500) }
            try await daemon.putSession("win-1", at: receiver.url("/down"))
            try await daemon.post(about: "a")
            func lane() async throws -> JSONValue {
                try await daemon.call(.get, "/v1/lanes").json.at("lanes").asArray?.first ?? .null
            }
            var open = JSONValue.null
            try await daemon.until {
                open = try await lane()
                return open.at("breaker", "state") == "open"
            }
            #expect(open.at("breaker", "reason") == "status-500" && open.at("breaker", "since") != .null)
            #expect(open.at("breaker", "nextProbeAt") != .null && open.at("waiting") != 0)
            let path = "/v1/lanes/win-1/resume?application=com.example.gallery"
            let attempts = open.at("attempts").asInt64 ?? 0
            #expect(try await daemon.call(.post, path).status == 200)
            // It is tried at once, and as it is still down the breaker opens again.
            try await daemon.until { (try await lane().at("attempts").asInt64 ?? 0) > attempts }
            let events = try await daemon.call(.get, "/v1/status").json.at("events")
            #expect((events.at("breakerOpened").asInt64 ?? 0) >= 1 && (events.at("breakerClosed").asInt64 ?? 0) >= 1)
        }
    }

    /// Waiting deliveries have been given up, and the next notification would wait.
    @Test func anEndpointThatIsDownIsSeenThoughNothingWaits() async throws {
        // The failure that opens the breaker is the last one of the schedule.
        let schedule = Array(repeating: "0", count: BreakerLimits.failuresInARow - 1).joined(separator: ",")
        try await withGallery(application: #"{"delivery":{"retrySchedule":[\#(schedule)]}}"#) { daemon, receiver in
            for _ in 0..<BreakerLimits.failuresInARow { receiver.answer("/down", with: 500) }
            try await daemon.putSession("win-1", at: receiver.url("/down"))
            try await daemon.putSession("win-2", at: receiver.url("/down"), conditions(can: "FALSEPREDICATE"))
            let end = try await daemon.settled(try await daemon.post(about: "a").id)
            #expect(end["state"] == "deadLettered" && end["reason"] == "retries-exhausted")
            let lanes = try await daemon.call(.get, "/v1/lanes").json.at("lanes").asArray ?? []
            #expect(lanes.count == 1 && lanes.first?.at("session") == "win-1" && lanes.first?.at("waiting") == 0)
            #expect(lanes.first?.at("breaker", "state") == "open")
            // The other session of the URL has no failure.
            let path = "/v1/lanes/win-1/resume?application=com.example.gallery"
            #expect(try await daemon.call(.post, path)["breaker"].at("state") == "closed")
            #expect(try await daemon.call(.get, "/v1/lanes").json.at("lanes") == [])
        }
    }

    @Test func lanesComeInPages() async throws {
        try await withGallery(application: #"{"delivery":{"retrySchedule":[3600]}}"#) { daemon, receiver in
            let names = (0..<7).map { "s\($0)" }
            for name in names {
                receiver.answer("/\(name)", with: 503)
                try await daemon.putSession(name, at: receiver.url("/\(name)"), conditions(can: "SELF == '\(name)'"))
                try await daemon.post(about: name)
            }
            var seen: [String] = []
            var cursor: String? = ""
            while let from = cursor {
                let query = from.isEmpty ? "limit=3" : "limit=3&cursor=\(from)"
                let page = try await daemon.call(.get, "/v1/lanes?\(query)").json
                seen += page.at("lanes").asArray?.compactMap { $0.at("session").asString } ?? []
                cursor = page.at("cursor").asString
                try #require(seen.count <= 7)
            }
            #expect(seen == names)
        }
    }

    @Test func percentilesAreOfTheLastTimes() {
        var times = RecentTimes()
        #expect(times.percentiles([0.5]) == nil)
        for number in 1...100 { times.add(.nanoseconds(number)) }
        #expect(times.percentiles([0, 0.5, 0.99, 1]) == [1, 50, 99, 100])
        times.add(.seconds(10))
        #expect(times.percentiles([1]) == [.max])
        for _ in 0..<4096 { times.add(.nanoseconds(7)) }
        #expect(times.percentiles([0, 1]) == [7, 7] && times.count == 4197)
    }
}
