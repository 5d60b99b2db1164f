import HTTPTypes
import HummingbirdTesting
import NIOCore
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The ingest edge of a listening daemon, over connections that send arbitrary bytes.
@Suite("Ingest edge", .longest)
struct EdgeTests {
    /// Runs `body` with the port of a daemon that has the gallery; expects it to be healthy afterwards, and to have
    /// accepted this many notifications.
    private func withPort(
        _ change: (inout EdgeSettings) -> Void = { _ in }, keys: [APIKey] = [], accepting count: Int = 0,
        _ body: @Sendable (TestDaemon, Int) async throws -> Void
    ) async throws {
        var options = TestDaemon.Options(keys: keys, isLive: true)
        change(&options.edge)
        try await withDaemon(options) { daemon in
            if keys.isEmpty { try await daemon.putGallery() }
            try await body(daemon, try #require(daemon.client.port))
            #expect(try daemon.store.census().accepted == count)
            let health = try await RawConnection.exchange(Self.lastHealth, with: try #require(daemon.client.port))
            #expect(health.map(\.summary) == ["200"])
        }
    }

    private static let post = "\(RawCase.head)Content-Length: 2\r\n\r\n{}"
    private static let health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let lastHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    // MARK: Requests

    @Test func everyCaseIsAnswered() async throws {
        try await withPort(accepting: 1) { _, port in
            for row in RawCase.all {
                let answers = try await RawConnection.exchange(row.text, with: port)
                #expect(answers.map(\.summary) == row.answers, "\(row.name)")
                #expect(answers.last?.headers["connection"] == "close", "\(row.name)")
            }
        }
    }

    /// HTTP/1.0 has no chunks: an answer without a length ends with the connection (RFC 9112, 6.3).
    @Test func longAnswersToOldClientsEndWithTheConnection() async throws {
        try await withPort { _, port in
            let body = String(repeating: "[]\n", count: 3 * DaemonLimits.batchLines)
            let target = "\(TestDaemon.gallery)/notifications:batch"
            let head = "POST \(target) HTTP/1.0\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            let bytes = try await RawConnection.to(port) { connection in
                connection.send(head + body)
                return try connection.bytesToTheEnd()
            }
            let lines = bytes.split(separator: UInt8(ascii: "\n")).map { line in
                String(decoding: line.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
            }.filter { !$0.isEmpty }
            let fields = lines.prefix { !$0.hasPrefix("{") }.map { $0.lowercased() }
            #expect(fields.first == "http/1.0 200 ok" && fields.contains("connection: close"), "\(fields)")
            #expect(!fields.contains { $0.hasPrefix("transfer-encoding") })
            let answers = lines.dropFirst(fields.count)
            #expect(answers.count == 3 * DaemonLimits.batchLines)
            #expect(answers.allSatisfy { $0.hasPrefix(#"{"status":400,"#) && $0.hasSuffix("}") })
        }
    }

    @Test func awaitedBodiesAreAskedFor() async throws {
        try await withPort(accepting: 1) { _, port in
            let statuses = try await RawConnection.to(port) { connection in
                connection.send("\(RawCase.head)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                var statuses = [try connection.answer().summary]
                connection.send("{}\(Self.lastHealth)")
                statuses += try connection.answersToTheEnd().map(\.summary)
                return statuses
            }
            #expect(statuses == ["100", "202", "200"])
        }
    }

    /// A client without permission is refused before it sends its body.
    @Test func bodiesOfStrangersAreNotAskedFor() async throws {
        let key = APIKey(name: "a", key: "rk_a", scopes: [.admin], application: nil)
        try await withPort(keys: [key]) { _, port in
            let text = "\(RawCase.head)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            let answers = try await RawConnection.exchange(text, with: port)
            #expect(answers.map(\.summary) == ["401 key-missing"])
        }
    }

    /// A body that stops is incomplete, even if it could be a whole one.
    @Test(arguments: ["Content-Length: 3\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"])
    func halfARequestIsNone(rest: String) async throws {
        try await withPort { _, port in
            let answers = try await RawConnection.to(port) { connection in
                connection.send(RawCase.head + rest)
                connection.closeOurSide()
                return try connection.answersToTheEnd()
            }
            #expect(answers.map(\.summary) == ["400 malformed-request"])
            try await RawConnection.to(port) { connection in
                connection.send(RawCase.head + rest)
                connection.reset()
            }
        }
    }

    @Test func aClientThatHasSentAllMayCloseItsSide() async throws {
        try await withPort(accepting: 1) { _, port in
            let answers = try await RawConnection.to(port) { connection in
                connection.send(Self.post)
                connection.closeOurSide()
                return try connection.answersToTheEnd()
            }
            #expect(answers.map(\.summary) == ["202"])
        }
    }

    // MARK: Time limits

    @Test func headsHaveToCome() async throws {
        try await withPort({ $0.times.head = .seconds(1) }) { _, port in
            let answers = try await RawConnection.exchange("GET /healthz HT", with: port)
            #expect(answers.map(\.summary) == ["408 request-timeout"])
            #expect(answers.first?.headers["connection"] == "close")
        }
    }

    @Test func bodiesHaveToCome() async throws {
        try await withPort({ $0.times.bodyGrace = .seconds(1) }) { _, port in
            let answers = try await RawConnection.exchange("\(RawCase.head)Content-Length: 3\r\n\r\n{}", with: port)
            #expect(answers.map(\.summary) == ["408 request-timeout"])
        }
    }

    /// A body that comes a byte at a time, about fifty a second.
    struct Drip: Sendable {
        let name: String
        let length: Int
        var bytesPerSecond = 1_000_000
        var request = Int64(60)
        let answer: String
    }

    private static let drips = [
        Drip(name: "its grace is over, and bytes buy nothing", length: 9000, answer: "408 request-timeout"),
        Drip(name: "slower than the least rate", length: 9000, bytesPerSecond: 100, answer: "408 request-timeout"),
        Drip(
            name: "fast enough, and for too long", length: 9000, bytesPerSecond: 1, request: 2,
            answer: "408 request-timeout"),
        Drip(name: "fast enough, beyond its grace", length: 100, bytesPerSecond: 10, answer: "202"),
    ]

    /// A steady trickle of bytes is not enough, and slowness alone is no reason to refuse.
    @Test(arguments: drips)
    func bodiesMayDripAtALeastRate(_ drip: Drip) async throws {
        let change = { (settings: inout EdgeSettings) in
            settings.times.bodyGrace = .seconds(1)
            settings.times.bodyBytesPerSecond = drip.bytesPerSecond
            settings.times.request = .seconds(drip.request)
        }
        let isTaken = drip.answer == "202"
        try await withPort(change, accepting: isTaken ? 1 : 0) { _, port in
            let start = ContinuousClock.now
            let (sent, answers) = try await RawConnection.to(port) { connection in
                connection.send("\(RawCase.head)Connection: close\r\nContent-Length: \(drip.length)\r\n\r\n")
                let body = "{\(String(repeating: " ", count: drip.length - 2))}"
                let sent = connection.drip(body, waitingMilliseconds: 20)
                return (sent, try connection.answersToTheEnd())
            }
            #expect(answers.map(\.summary) == [drip.answer], "\(drip.name)")
            #expect(answers.last?.headers["connection"] == "close")
            #expect(start.duration(to: .now) >= .seconds(1), "\(drip.name): before its grace was over")
            #expect(isTaken ? sent == drip.length : sent > 1 && sent < drip.length, "\(drip.name): \(sent) bytes")
        }
    }

    /// However fast the body arrives, it has to be complete at the time limit.
    @Test func requestsHaveToEnd() async throws {
        try await withPort({ $0.times.request = .seconds(1) }) { _, port in
            let text = "\(RawCase.head)Content-Length: 9999\r\n\r\n\(String(repeating: " ", count: 9998))"
            let answers = try await RawConnection.exchange(text, with: port)
            #expect(answers.map(\.summary) == ["408 request-timeout"])
        }
    }

    /// Without a request there is no answer.
    @Test func idleConnectionsAreClosed() async throws {
        try await withPort({ $0.times.idle = .seconds(3) }) { _, port in
            #expect(try await RawConnection.exchange("", with: port).isEmpty)
            let answers = try await RawConnection.exchange(Self.health, with: port)
            #expect(answers.map(\.summary) == ["200"])
        }
    }

    // MARK: Connection limits

    private static func expectRefusal(_ answers: [RawAnswer], _ summary: String) {
        #expect(answers.map(\.summary) == [summary])
        #expect(answers.first?.headers["retry-after"] == "1")
        #expect(answers.first?.headers["connection"] == "close")
    }

    @Test(arguments: [
        (total: 3, each: 9, refusal: "503 overloaded"), (total: 9, each: 3, refusal: "429 too-many-connections"),
    ])
    func connectionsAreLimited(_ row: (total: Int, each: Int, refusal: String)) async throws {
        let limit = { (settings: inout EdgeSettings) in
            settings.connections = row.total
            settings.connectionsPerAddress = row.each
        }
        // One connection is the test's client.
        try await withPort(limit, accepting: 1) { _, port in
            try await RawConnection.to(port) { first in
                first.send(Self.health)
                #expect(try first.answer().status == 200)
                let second = try RawConnection(port)
                second.send(Self.health)
                #expect(try second.answer().status == 200)

                let third = try RawConnection(port)
                third.send(Self.post)
                Self.expectRefusal(try third.answersToTheEnd(), row.refusal)
                let fourth = try RawConnection(port)
                fourth.send(Self.health)
                #expect(try fourth.answersToTheEnd().map(\.summary) == ["200"], "how it is may be asked")
                // Served connections are not affected.
                first.send(Self.post)
                #expect(try first.answer().status == 202)
            }
        }
    }

    @Test("Idle connections of one address do not keep another address out")
    func idleConnectionsGiveWay() async throws {
        try await withPort({ $0.connections = 12 }, accepting: 4) { _, port in
            try await RawConnection.to(port) { first in
                first.send(Self.health)
                #expect(try first.answer().status == 200)
                // With the test's client these are all.
                let idle = try (0..<10).map { _ in try RawConnection(port) }
                for connection in idle {
                    connection.send(Self.health)
                    #expect(try connection.answer().status == 200)
                }
                let others = try (0..<4).map { _ in
                    let other = try RawConnection(port, from: 2)
                    other.send(Self.post)
                    #expect(try other.answer().status == 202)
                    return other
                }
                #expect(others.count == 4)
                // The address that has them all is still refused one more.
                let one = try RawConnection(port)
                one.send(Self.post)
                Self.expectRefusal(try one.answersToTheEnd(), "503 overloaded")
            }
        }
    }

    /// The place of a connection that ends is free a moment after its client knows.
    @Test func placesAreTakenAgain() async throws {
        try await withPort({ $0.connections = 2 }) { _, port in
            let served = try await RawConnection.to(port) { connection in
                connection.closeOurSide()
                #expect(try connection.answersToTheEnd().isEmpty)
                var served = 0
                for _ in 0..<1000 where served < 20 {
                    let next = try RawConnection(port)
                    next.send("GET /v1/applications HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    next.closeOurSide()
                    if try next.answersToTheEnd().map(\.summary) == ["200"] { served += 1 }
                }
                return served
            }
            #expect(served == 20)
        }
    }

    @Test func addressesHaveARate() async throws {
        try await withPort({ $0.requestsPerSecondPerAddress = 2 }) { _, port in
            let text = String(repeating: "GET /v1/applications HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 100)
            let answers = try await RawConnection.exchange(text, with: port)
            let refused = try #require(answers.last)
            Self.expectRefusal([refused], "429 too-many-requests")
            #expect(answers.dropLast().allSatisfy { $0.status == 200 })
            #expect(try await RawConnection.exchange(Self.lastHealth, with: port).map(\.summary) == ["200"])
        }
    }

    @Test func bodiesAreHeldUpToALimit() async throws {
        try await withPort({ $0.bodyBytesHeld = 1000 }, accepting: 2) { _, port in
            // All come from one address, which leaves a quarter to the others.
            let long = "\(RawCase.head)Content-Length: 751\r\n\r\n"
            Self.expectRefusal(try await RawConnection.exchange(long, with: port), "503 overloaded")
            let chunks =
                "\(RawCase.head)Transfer-Encoding: chunked\r\n\r\n2ef\r\n\(String(repeating: " ", count: 751))"
            Self.expectRefusal(try await RawConnection.exchange(chunks, with: port), "503 overloaded")
            // Held bytes have been released.
            let padded = "{}\(String(repeating: " ", count: 748))"
            let fits = "\(RawCase.head)Content-Length: 750\r\n\r\n\(padded)"
            let last = "\(RawCase.head)Connection: close\r\nContent-Length: 750\r\n\r\n\(padded)"
            let answers = try await RawConnection.exchange(fits + last, with: port)
            #expect(answers.map(\.summary) == ["202", "202"])
        }
    }
}
