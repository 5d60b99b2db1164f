import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Order within a session, and independence between sessions.
@Suite("Lanes", .longest)
struct LaneTests {
    @Test func orderIsKeptAndASlowReceiverSlowsNobodyElse() async throws {
        try await withGallery { daemon, receiver in
            let count = 200
            // However long the receiver takes on a busy machine, its attempt must not time out and be repeated.
            try await daemon.putGallery(#"{"delivery":{"timeoutSeconds":300}}"#)
            receiver.hold("/slow")
            try await daemon.putSession("slow", at: receiver.url("/slow"), conditions(can: "SELF BEGINSWITH 's/'"))
            try await daemon.putSession("fast", at: receiver.url("/fast"), conditions(can: "SELF BEGINSWITH 'f/'"))
            var last = ""
            for number in 0..<count {
                try await daemon.post(about: "s/\(number)")
                last = try await daemon.post(about: "f/\(number)").id
            }
            // The whole fast lane arrives while the first notification of the other lane is still being answered.
            let fast = try await receiver.webhooks(count, at: "/fast")
            #expect(try await daemon.settled(last)["state"] == "delivered")
            #expect(receiver.webhooks(at: "/slow").count == 1)
            receiver.release("/slow")
            let slow = try await receiver.webhooks(count, at: "/slow")
            #expect(fast.map(\.contentID) == (0..<count).map { "f/\($0)" })
            #expect(slow.map(\.contentID) == (0..<count).map { "s/\($0)" })
        }
    }

    @Test func aRetryHoldsBackWhatIsBehindIt() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer(with: 204, 500, 204)
            try await daemon.putSession("win-1", at: receiver.url())
            for number in 0..<4 { try await daemon.post(about: "\(number)") }
            let came = try await receiver.webhooks(5)
            #expect(came.map(\.contentID) == ["0", "1", "1", "2", "3"])
        }
    }

    @Test func severalMayBeUnderWayIfTheApplicationSaysSo() async throws {
        try await withGallery(application: #"{"delivery":{"maxInFlightPerSession":3,"timeoutSeconds":300}}"#) {
            daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            var ids: [String] = []
            for number in 0..<5 { ids.append(try await daemon.post(about: "\(number)").id) }
            try await receiver.webhooks(3)
            let inFlight = try await daemon.call(.get, "/v1/notifications?state=inFlight").ids("notifications")
            #expect(Set(inFlight) == Set(ids.prefix(3)))
            receiver.release()
            try await receiver.webhooks(5)
        }
    }

    @Test func slotsBoundWhatIsUnderWayAltogether() async throws {
        var options = TestDaemon.Options()
        options.caps = DeliveryCaps(slots: 2)
        try await withGallery(options) { daemon, receiver in
            receiver.hold()
            for number in 0..<6 {
                try await daemon.putSession("s\(number)", at: receiver.url(), conditions(can: "SELF == '\(number)'"))
                try await daemon.post(about: "\(number)")
            }
            try await receiver.webhooks(2)
            #expect(try await daemon.call(.get, "/v1/notifications?state=inFlight").ids("notifications").count == 2)
            receiver.release()
            #expect(Set(try await receiver.webhooks(6).compactMap(\.contentID)).count == 6)
        }
    }

    @Test func postsAtTheSameTimeShareTransactions() async throws {
        try await withGallery { daemon, receiver in
            let count = 200
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            // The first commit waits for its disk; commands gather behind it.
            let before = daemon.store.commits.count
            let begun = daemon.store.begun.count
            daemon.store.close()
            let asked = Tally()
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                group.addTask { try await daemon.post(about: "first") }
                try await daemon.store.begun.reached(begun + 1)
                for number in 0..<count {
                    group.addTask {
                        asked.add()
                        return try await daemon.post(about: "\(number)")
                    }
                }
                try await asked.reached(count)
                daemon.store.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 202 })
            #expect(try daemon.store.census().accepted == count + 1)
            let commits = daemon.store.commits.count - before
            #expect(commits <= count / 4, "\(commits) transactions for \(count + 1) notifications")
        }
    }
}
