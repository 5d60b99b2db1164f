import HTTPTypes
import HummingbirdTesting
import NIOCore
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// Streams of events over sockets.
@Suite("Stream", .longest)
struct StreamTests {
    /// Runs `body` with a listening daemon that has the gallery, and its port.
    private func withPort(
        _ change: (inout TestDaemon.Options) -> Void = { _ in },
        _ body: @Sendable (TestDaemon, Int) async throws -> Void
    ) async throws {
        var options = TestDaemon.Options(isLive: true)
        change(&options)
        let hasNoKeys = options.keys.isEmpty
        try await withDaemon(options) { daemon in
            if hasNoKeys {
                try await daemon.putGallery(#"{"delivery":{"retrySchedule":[0],"lifeCycleEvents":false}}"#)
            }
            try await body(daemon, try #require(daemon.client.port))
        }
    }

    private static let gallery = TestDaemon.gallery

    /// An event made by the test itself.
    private static func event(
        _ sequence: Int64, _ application: String = "com.example.gallery", filling: Int = 0
    ) -> RouterEvent {
        RouterEvent(
            sequence: sequence, type: .gateDidProgress, time: Timestamp(milliseconds: 0),
            application: ApplicationID(unchecked: application),
            detail: .progress(
                ProgressReport(
                    operationID: "o", step: String(repeating: "x", count: filling), currentStepNumber: 1,
                    totalNumberOfSteps: 1, parameters: [], defaultMessage: "")))
    }

    /// Publishes the next `count` events.
    private static func publish(_ count: Int64, to feed: EventFeed, filling: Int = 0) {
        let last = feed.lastSequence
        feed.publish(
            (1...count).map { event(last + $0, filling: filling) }, at: Timestamp(milliseconds: 0))
    }

    // MARK: Received events

    @Test func eventsComeInOrder() async throws {
        try await withReceiver { receiver in
            try await withPort { daemon, port in
                let events = try await StreamConnection.follow(port) { stream in
                    #expect(stream.head.status == 200)
                    #expect(stream.head.headers["content-type"] == "text/event-stream")
                    #expect(stream.head.headers["cache-control"] == "no-store")
                    return try stream.events(7)
                } while: {
                    try await daemon.putSession("A", at: receiver.url())
                    try await daemon.call(
                        .patch, "\(Self.gallery)/sessions/A", #"{"activationState":"foregroundInactive"}"#)
                    _ = try await daemon.settled(try await daemon.post(#"{"word":"hidden-word"}"#).id)
                    try await daemon.call(.delete, "\(Self.gallery)/sessions/A")
                }
                #expect(
                    events.map(\.type) == [
                        "session.registered", "scene.willConnect", "scene.willEnterForeground",
                        "notification.accepted", "attempt.ended", "notification.delivered", "scene.didEnterBackground",
                    ])
                #expect(events.allSatisfy { $0.data["application"] == "com.example.gallery" })
                #expect(events.allSatisfy { $0.data["session"] == "A" })
                #expect(events.allSatisfy { $0.data["type"] == .string($0.type) && $0.data["id"] == .string($0.id) })
                let numbers = events.map { Int64($0.id.split(separator: "-").last ?? "") ?? 0 }
                #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
                #expect(events[3].data["state"] == "waiting")
                #expect(events[3].data["tier"] == "can")
                #expect(events[4].data.at("attempt", "status") == 204)
                #expect(events.allSatisfy { !"\($0)".contains("hidden-word") })
            }
        }
    }

    @Test func theFilterOfAStreamHolds() async throws {
        try await withPort { daemon, port in
            try await daemon.call(.put, "/v1/applications/com.example.other", #"{"displayName":"Other"}"#)
            let query = "?application=com.example.gallery&application=com.example.third&session=A&type=scene.*"
            let events = try await StreamConnection.follow(port, query) {
                try $0.events(2)
            } while: {
                for id in ["B", "A"] {
                    for application in ["com.example.other", "com.example.gallery"] {
                        let path = "/v1/applications/\(application)/sessions/\(id)"
                        try await daemon.call(.put, path, #"{"endpoint":{"url":"http://127.0.0.1:1/"}}"#)
                        try await daemon.call(.patch, path, #"{"activationState":"foregroundInactive"}"#)
                    }
                }
            }
            #expect(events.map(\.type) == ["scene.willConnect", "scene.willEnterForeground"])
            #expect(events.allSatisfy { $0.data["session"] == "A" && $0.data["application"] == "com.example.gallery" })
        }
    }

    @Test(arguments: [
        ("?applications=a", "unknown-parameter"), ("?type=scene.wilConnect", "invalid-parameter"),
        ("?type=x*", "invalid-parameter"), ("?type=", "invalid-parameter"),
        ("?application=a%20b", "invalid-application-id"), ("?session=a/b", "invalid-session-id"),
    ])
    func unknownParametersAreRefused(query: String, code: String) async throws {
        try await withDaemon { daemon in expectProblem(try await daemon.call(.get, "/v1/stream\(query)"), 400, code) }
    }

    @Test func headSaysWhatGetWould() async throws {
        try await withPort({ $0.feed.readers = 1 }) { daemon, _ in
            for _ in 0..<3 {
                let answer = try await daemon.call(.head, "/v1/stream")
                #expect(answer.status == 200)
            }
        }
    }

    // MARK: Resuming

    @Test func aClientThatReconnectsMissesNoEvent() async throws {
        try await withPort { daemon, port in
            let feed = daemon.host.feed
            let first = try await StreamConnection.follow(port) {
                try $0.events(3)
            } while: {
                Self.publish(5, to: feed)
            }
            Self.publish(2, to: feed)
            let rest = try await StreamConnection.open(port, headers: ["Last-Event-ID": first[2].id]) {
                try $0.events(4)
            }
            #expect(rest.map(\.type) == Array(repeating: "gate.didProgress", count: 4))
            let numbers = (first + rest).compactMap { Int64($0.id.split(separator: "-").last ?? "") }
            #expect(numbers == (0..<7).map { numbers[0] + $0 })
        }
    }

    /// A client that is shown few events has advanced further than the last of them.
    @Test func heartbeatsSayHowFarItIs() async throws {
        try await withPort({
            $0.feed.events = 64
            $0.streams.heartbeat = .milliseconds(5)
            $0.streams.heartbeatsInVain = 100_000
        }) { daemon, port in
            let feed = daemon.host.feed
            let isPublished = Tally()
            let place = try await StreamConnection.follow(port, "?type=session.*") { stream in
                while let event = try stream.next() {
                    #expect(event.type == "")
                    if isPublished.count == 1, event.id.hasSuffix("-\(feed.lastSequence)") { return event.id }
                }
                return ""
            } while: {
                for _ in 0..<40 { Self.publish(1, to: feed) }
                isPublished.add()
            }
            // Of the first forty events, sixteen have been overwritten by now.
            Self.publish(40, to: feed)
            let next = try await StreamConnection.open(port, headers: ["Last-Event-ID": place]) { try $0.events(1) }
            #expect(next.map(\.type) == ["gate.didProgress"])
        }
    }

    @Test func forgottenEventsAreAGap() async throws {
        try await withPort({ $0.feed.events = 4 }) { daemon, port in
            let feed = daemon.host.feed
            let first = try await StreamConnection.follow(port) {
                try $0.events(1)
            } while: {
                Self.publish(1, to: feed)
            }
            Self.publish(10, to: feed)
            let rest = try await StreamConnection.open(port, headers: ["Last-Event-ID": first[0].id]) {
                try $0.events(5)
            }
            #expect(rest.map(\.type) == ["gap"] + Array(repeating: "gate.didProgress", count: 4))
            #expect(rest[0].data["missed"] == 6)
            let other = String(first[0].id.reversed().drop { $0 != "-" }.reversed().dropLast().reversed()) + "-1"
            let elsewhere = try await StreamConnection.open(port, headers: ["Last-Event-ID": other]) {
                try $0.events(1)
            }
            #expect(elsewhere[0].type == "gap")
            #expect(elsewhere[0].data["missed"] == .null)
            let answer = try await daemon.call(.get, "/v1/stream", headers: ["last-event-id": "17"])
            expectProblem(answer, 400, "invalid-last-event-id")
        }
    }

    /// WHATWG HTML, 9.2.4: the last event id is the empty string at first, and a field `id` without a value resets it.
    @Test(arguments: ["", " "])
    func anEmptyIDIsNone(id: String) async throws {
        try await withPort { daemon, port in
            let feed = daemon.host.feed
            let events = try await StreamConnection.follow(port, headers: ["Last-Event-ID": id]) {
                try $0.events(1)
            } while: {
                Self.publish(1, to: feed)
            }
            #expect(events.map(\.type) == ["gate.didProgress"])
        }
    }

    // MARK: Clients that are slow, gone or too many

    /// The engine goes on; a slow client is told how many events it has missed when it reads again.
    @Test func slowClientsHoldNobody() async throws {
        try await withPort({ $0.feed.events = 64 }) { daemon, port in
            let feed = daemon.host.feed
            let mayRead = Tally()
            let gaps = try await StreamConnection.follow(port) { stream in
                mayRead.wait(for: 1)
                var missed: Int64 = 0
                while true {
                    let event = try stream.events(1)[0]
                    if event.type == "gap" { missed += event.data["missed"]?.asInt64 ?? 0 }
                    if missed > 0, event.id.hasSuffix("-\(feed.lastSequence)") { return missed }
                }
            } while: {
                for _ in 0..<400 { Self.publish(64, to: feed, filling: 1000) }
                let answer = try await daemon.call(.get, Self.gallery)
                #expect(answer.status == 200)
                mayRead.add()
            }
            #expect(gaps > 0)
        }
    }

    @Test func clientsThatTakeNothingAreLetGo() async throws {
        try await withPort({
            $0.feed.events = 64
            $0.feed.readers = 1
            $0.streams.heartbeat = .milliseconds(20)
        }) { daemon, port in
            let feed = daemon.host.feed
            let isLetGo = Tally()
            try await StreamConnection.follow(port) { _ in
                isLetGo.wait(for: 1)
            } while: {
                // The buffers of its connection hold some, whether or not it reads.
                while try await daemon.isFull(port) { Self.publish(64, to: feed, filling: 1000) }
                isLetGo.add()
            }
        }
    }

    @Test func clientsThatAreDoneMakeRoom() async throws {
        try await withPort({ $0.feed.readers = 1 }) { daemon, port in
            let isLetGo = Tally()
            try await StreamConnection.follow(port) { stream in
                stream.closeOurSide()
                isLetGo.wait(for: 1)
            } while: {
                while try await daemon.isFull(port) {}
                isLetGo.add()
            }
        }
    }

    @Test func thereIsRoomForSoMany() async throws {
        let keys = ["a", "b", "c"].map {
            APIKey(name: $0, key: "rk_\($0)", scopes: [.sessions], application: nil)
        }
        try await withPort({
            $0.keys = keys
            $0.feed.readers = 2
            $0.feed.readersPerCaller = 1
        }) { _, port in
            try await StreamConnection.open(port, headers: ["Authorization": "Bearer rk_a"]) { first in
                #expect(first.head.status == 200)
                func open(_ key: String) throws -> RawAnswer {
                    try StreamConnection.head(port, headers: ["Authorization": "Bearer \(key)"])
                }
                let second = try open("rk_a")
                #expect(second.summary == "429 too-many-streams")
                #expect(second.headers["retry-after"] == "10")
            }
        }
    }

    /// A stream may last longer than the time limits of requests.
    @Test func deadlinesOfRequestsAreNotForStreams() async throws {
        try await withPort({
            $0.edge.times.bodyGrace = .milliseconds(1)
            $0.edge.times.request = .milliseconds(1)
            $0.streams.heartbeat = .milliseconds(10)
            $0.streams.heartbeatsInVain = 100_000
        }) { _, port in
            try await StreamConnection.open(port) { stream in
                for _ in 0..<20 {
                    let event = try stream.next()
                    #expect(event != nil)
                }
            }
        }
    }

    // MARK: Tenants

    @Test func tenantsHearOfThemselves() async throws {
        let keys = [
            APIKey(
                name: "a", key: "rk_a", scopes: [.sessions], application: ApplicationID(unchecked: "com.example.a")),
            APIKey(name: "b", key: "rk_b", scopes: [.ingest], application: nil),
        ]
        try await withPort({ $0.keys = keys }) { daemon, port in
            let feed = daemon.host.feed
            let headers = ["Authorization": "Bearer rk_a"]
            let events = try await StreamConnection.follow(port, headers: headers) {
                try $0.events(2)
            } while: {
                let last = feed.lastSequence
                feed.publish(
                    ["com.example.a", "com.example.b", "com.example.a"].enumerated().map {
                        Self.event(last + Int64($0.offset) + 1, $0.element)
                    }, at: Timestamp(milliseconds: 0))
            }
            #expect(events.allSatisfy { $0.data["application"] == "com.example.a" })
            func ask(_ query: String, _ key: String) async throws -> Answer {
                try await daemon.call(.get, "/v1/stream\(query)", headers: ["authorization": "Bearer \(key)"])
            }
            expectProblem(try await ask("?application=com.example.b", "rk_a"), 404, "unknown-application")
            expectProblem(try await ask("", "rk_b"), 403, "scope-missing")
            expectProblem(try await daemon.call(.get, "/v1/stream"), 401, "key-missing")
        }
    }
}

extension TestDaemon {
    /// Whether the daemon has no room for another stream.
    fileprivate func isFull(_ port: Int) async throws -> Bool {
        try Task.checkCancellation()
        return try await RawConnection.to(port) { _ in
            try StreamConnection.head(port, headers: [:]).status == 503
        }
    }
}
