import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("List of notifications", .longest)
struct NotificationListTests {
    private static let list = "/v1/notifications"

    /// Twenty settled notifications of two applications, newest first like the lists: their ids by content id.
    private func fill(_ daemon: TestDaemon, _ receiver: Receiver) async throws -> [(content: String, id: String)] {
        try await daemon.putSession(
            "even", at: receiver.url(), conditions(can: "SELF LIKE '*[02468]' OR SELF ENDSWITH '0'"))
        try await daemon.putSession("two", at: receiver.url(), conditions(can: "SELF IN {'c2', 'c4', 'c12'}"))
        #expect(try await daemon.call(.put, "/v1/applications/other", "{}").status == 201)
        var made: [(String, String)] = []
        for number in 0..<15 { made.append(("c\(number)", try await daemon.post(about: "c\(number)").id)) }
        for number in 15..<20 {
            let body = #"{"notification-content-id":"c\#(number)"}"#
            let answer = try await daemon.call(.post, "/v1/applications/other/notifications", body)
            made.append(("c\(number)", answer.id))
        }
        for (_, id) in made { _ = try await daemon.settled(id) }
        return made.reversed()
    }

    @Test func eachFilterNarrows() async throws {
        try await withGallery { daemon, receiver in
            let made = try await fill(daemon, receiver)
            func found(_ query: String) async throws -> [String] {
                let answer = try await daemon.call(.get, "\(Self.list)?\(query)")
                #expect(answer.status == 200, "\(query): \(answer.text)")
                return answer.ids("notifications")
            }
            func ids(_ contents: String...) -> [String] { made.filter { contents.contains($0.content) }.map(\.id) }
            #expect(try await found("") == made.map(\.id))
            #expect(try await found("application=other") == made.prefix(5).map(\.id))
            #expect(try await found("application=nobody") == [])
            #expect(try await found("session=two") == ids("c2", "c4", "c12"))
            #expect(try await found("contentId=c7") == ids("c7"))
            #expect(try await found("state=delivered") == ids("c0", "c2", "c4", "c10", "c12"))
            #expect(try await found("state=deadLettered&application=other").count == 5)
            #expect(try await found("state=waiting") == [])
            #expect(try await found("state=inFlight") == [])
            #expect(try await found("since=2020-01-01T00:00:00Z").count == 20)
            #expect(try await found("until=2020-01-01T00:00:00.000Z") == [])
            #expect(
                try await found("contentId=c4&session=two&state=delivered&application=com.example.gallery") == ids("c4")
            )
        }
    }

    @Test func timesBoundTheList() async throws {
        try await withGallery { daemon, receiver in
            let made = try await fill(daemon, receiver)
            let middle = try await daemon.notification(made[10].id)
            let time = try #require(middle["receivedAt"].asString)
            let since = try await daemon.call(.get, "\(Self.list)?since=\(time)&limit=1000").ids("notifications")
            let until = try await daemon.call(.get, "\(Self.list)?until=\(time)&limit=1000").ids("notifications")
            #expect(since.contains(middle.id) && !until.contains(middle.id), "since is included, until is not")
            #expect(since + until == made.map(\.id), "together they are all")
        }
    }

    @Test(arguments: [1, 3, 7, 20, 21])
    func isPagedWithoutGapOrRepeat(limit: Int) async throws {
        try await withGallery { daemon, receiver in
            let made = try await fill(daemon, receiver)
            var seen: [String] = []
            var cursor = ""
            repeat {
                let page = try await daemon.call(.get, "\(Self.list)?limit=\(limit)\(cursor)")
                #expect((1...limit).contains(page.ids("notifications").count))
                seen += page.ids("notifications")
                // Notifications posted meanwhile are newer, and therefore on no later page.
                try await daemon.post(about: "late")
                cursor = page["cursor"].asString.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty && seen.count <= 40
            #expect(seen == made.map(\.id))
        }
    }

    @Test func statesOfTheMomentAreTold() async throws {
        try await withGallery { daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "1")
            let second = try await daemon.post(about: "2")
            try await receiver.webhooks(1)
            #expect(try await daemon.notification(first.id)["state"] == "inFlight")
            #expect(try await daemon.notification(second.id)["state"] == "waiting")
            #expect(try await daemon.call(.get, "\(Self.list)?state=inFlight").ids("notifications") == [first.id])
            #expect(try await daemon.call(.get, "\(Self.list)?state=waiting").ids("notifications") == [second.id])
            receiver.release()
            #expect(try await daemon.settled(second.id)["state"] == "delivered")
            #expect(try await daemon.call(.get, "\(Self.list)?state=inFlight").ids("notifications") == [])
        }
    }

    @Test func listsShowNoPayloads() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.post(#"{"card":"4111111111111111"}"#)
            let answer = try await daemon.call(.get, Self.list)
            #expect(answer.ids("notifications").count == 1)
            #expect(!answer.text.contains("4111"))
        }
    }
}
