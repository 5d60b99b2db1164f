import DeliveryCurl
import Foundation
import Router
import TestSupport
import Testing

/// Exchanges with a receiver that behaves.
@Suite(.longest)
struct ExchangeTests {
    @Test("The body arrives byte for byte", arguments: [0, 1, 1023, 70_000, 262_144])
    func bodyArrives(size: Int) async throws {
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try await HostileServer.with { connection in
            guard let request = connection.readRequest() else { return }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
            connection.write(Array("\(head)Content-Length: \(request.body.count)\r\n\r\n".utf8) + request.body)
        } _: { server in
            let result = try await withTransport { transport in
                await transport.send(
                    WebhookRequest(to: server.url(), body: body, responseLimit: 1_000_000))
            }
            let response = try #require(result.response)
            #expect(response.status == 200)
            #expect(response.body == body)
            #expect(!response.bodyTruncated)
            #expect(response.contentType == "application/octet-stream")
            #expect(server.seen.requests.first?.body == body)
            #expect(server.seen.requests.first?.lines.first == "POST /hook HTTP/1.1")
        }
    }

    @Test func aPutIsAPutAndTheNextRequestIsNot() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            var put = WebhookRequest(to: server.url(), body: [1, 2, 3])
            put.method = .put
            let post = WebhookRequest(to: server.url(), body: [4])
            try await withTransport(slots: 1) { transport in
                for request in [put, post] { #expect(await transport.send(request).response?.status == 200) }
            }
            let requests = server.seen.requests
            #expect(requests.map { $0.lines.first } == ["PUT /hook HTTP/1.1", "POST /hook HTTP/1.1"])
            #expect(requests.map(\.body) == [[1, 2, 3], [4]])
        }
    }

    /// The long body is one for which libcurl would wait for a `100 Continue`.
    @Test func headersAreSentExactlyAndNothingElse() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let headers = [
                HeaderField("webhook-id", "msg_1"), HeaderField("webhook-signature", "v1,abc= v1,def="),
                HeaderField("X-Empty", ""), HeaderField("X-Blank", " \t "), HeaderField("X-Trimmed", "  a b\t"),
                HeaderField("X-Unicode", "Ä"), HeaderField("Content-Type", "application/json"),
            ]
            let plain = WebhookRequest(to: server.url(), body: [1, 2, 3])
            let long = WebhookRequest(
                to: server.url(), headers: headers, body: Array(repeating: 7, count: 1_500_000))
            try await withTransport(slots: 1) { transport in
                for request in [long, plain] { #expect(await transport.send(request).response?.status == 200) }
            }
            #expect(
                server.seen.requests.map(\.headers) == [
                    [
                        "Host: 127.0.0.1:\(server.port)", "webhook-id: msg_1", "webhook-signature: v1,abc= v1,def=",
                        "X-Empty:", "X-Blank:", "X-Trimmed: a b", "X-Unicode: Ä", "Content-Type: application/json",
                        "Content-Length: 1500000",
                    ],
                    ["Host: 127.0.0.1:\(server.port)", "Content-Length: 3"],
                ])
        }
    }

    @Test func connectionIsUsedAgain() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK", body: "ok") }
        } _: { server in
            let results = try await withTransport { transport in
                var results: [TransferResult] = []
                for _ in 0..<3 { results.append(await transport.send(WebhookRequest(to: server.url()))) }
                return results
            }
            #expect(results.map(\.metrics.reusedConnection) == [false, true, true])
            #expect(results.allSatisfy { $0.metrics.remoteAddress == "127.0.0.1:\(server.port)" })
            #expect(results.allSatisfy { $0.metrics.httpVersion == "1.1" })
            #expect(results.allSatisfy { $0.metrics.total > 0 && $0.metrics.firstByte <= $0.metrics.total })
            #expect(server.seen.connections == 1)
        }
    }

    /// RFC 9112, 9.2: it must not be taken for the answer to the next request.
    @Test(
        "Bytes on an idle kept connection are no answer",
        arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "x"])
    func unaskedAnswer(stray: String) async throws {
        let (written, said) = AsyncStream.makeStream(of: Void.self)
        let isAnswered = DispatchSemaphore(value: 0)
        let bystander = try HostileServer { connection in
            while connection.readRequest() != nil { connection.respond("204 No Content") }
        }
        defer { bystander.stop() }
        try await HostileServer.with { connection in
            guard connection.readRequest() != nil else { return }
            connection.respond("503 Service Unavailable")
            isAnswered.wait()
            connection.write(stray)
            said.yield()
            // Asked again, it does not answer.
            connection.waitForEnd()
        } _: { server in
            let results = try await withTransport(slots: 1) { transport in
                var results = [await transport.send(WebhookRequest(to: server.url()))]
                isAnswered.signal()
                _ = await written.first { _ in true }
                // A request that waits for this one has looked at the other connection too.
                #expect(await transport.send(WebhookRequest(to: bystander.url())).response?.status == 204)
                isAnswered.signal()
                results.append(await transport.send(WebhookRequest(to: server.url())))
                return results
            }
            #expect(results.map(\.response?.status) == [503, 503])
            #expect(results.map(\.metrics.reusedConnection) == [false, false])
            #expect(server.seen.connections == 2)
        }
    }

    /// A kept connection that breaks is no failure: libcurl sends the request again on its own, and it must
    /// not take the handle's last URL for this one's.
    @Test func repeatingOnADeadConnectionGoesToTheSameReceiver() async throws {
        let stranger = try HostileServer { connection in
            while connection.readRequest() != nil { connection.respond("200 OK", body: "stranger") }
        }
        defer { stranger.stop() }
        try await HostileServer.with { connection in
            while let request = connection.readRequest() {
                guard request.lines.first?.contains("/last") != true || connection.isFirstRequest else { return }
                connection.respond("200 OK", body: "right")
            }
        } _: { server in
            try await withTransport(slots: 1) { transport in
                for url in [stranger.url("/a"), server.url("/b"), server.url("/last")] {
                    let result = await transport.send(WebhookRequest(to: url))
                    #expect(result.response?.body == Array((url.contains("/a") ? "stranger" : "right").utf8))
                }
            }
            #expect(stranger.seen.requests.count == 1)
            #expect(
                server.seen.requests.compactMap { $0.lines.first?.split(separator: " ")[1] } == [
                    "/b", "/last", "/last",
                ])
            #expect(server.seen.connections == 2)
        }
    }

    @Test func aSlotForgetsItsLastURL() async throws {
        let script: HostileServer.Script = { connection in
            while connection.readRequest() != nil { connection.respond("302 Found", headers: ["Location: next"]) }
        }
        let one = try HostileServer(script)
        let other = try HostileServer(script)
        defer { for server in [one, other] { server.stop() } }
        try await withTransport(slots: 1) { transport in
            for (server, path) in [(one, "/a/b"), (other, "/c/d"), (one, "/e/f?g=h")] {
                let result = await transport.send(WebhookRequest(to: server.url(path)))
                let folder = path.prefix { $0 != "?" }.dropLast()
                #expect(result.response?.location == server.url("\(folder)next"))
            }
        }
        #expect(one.seen.requests.map { $0.lines.first } == ["POST /a/b HTTP/1.1", "POST /e/f?g=h HTTP/1.1"])
        #expect(other.seen.requests.map { $0.lines.first } == ["POST /c/d HTTP/1.1"])
    }

    @Test("Redirects are shown, not followed", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        let target = try HostileServer { _ in }
        defer { target.stop() }
        let result = try await exchange { connection in
            while connection.readRequest() != nil {
                connection.respond("\(status) Elsewhere", headers: ["Location: \(target.url("/new"))"])
            }
        }
        #expect(result.response?.status == status)
        #expect(result.response?.location == target.url("/new"))
        #expect(target.seen.connections == 0)
    }

    @Test(
        "Every status is a response",
        arguments: ["400 Bad", "401 No", "404 Not Found", "410 Gone", "422 No", "500 Oops", "502 Bad", "599 What"])
    func statuses(line: String) async throws {
        let result = try await exchange { connection in
            while connection.readRequest() != nil { connection.respond(line, body: "why") }
        }
        #expect(result.response?.status == Int(line.prefix(3)))
        #expect(result.response?.body == Array("why".utf8))
        #expect(result.response?.retryAfterSeconds == nil)
    }

    @Test(
        arguments: [
            ("429 Slow down", "Retry-After: 17", 17...17), ("503 Down", "retry-after:  0", 0...0),
            ("429 Slow down", "Retry-After: \(httpDate(in: -3600))", 0...0),
        ])
    func retryAfter(status: String, header: String, expected: ClosedRange<Int>) async throws {
        let result = try await exchange { connection in
            while connection.readRequest() != nil { connection.respond(status, headers: [header]) }
        }
        #expect(expected.contains(try #require(result.response?.retryAfterSeconds)))
    }

    /// The date is an hour away from when it is written; the test may take its time on a busy machine.
    @Test(arguments: [
        ("routerd-scope: session", true), ("Routerd-Scope:  session ", true), ("routerd-scope: receiver", false),
        ("routerd-scope: ", false), ("x-scope: session", false),
    ])
    func scopeOfAnAnswer(header: String, isForSession: Bool) async throws {
        let result = try await exchange { connection in
            while connection.readRequest() != nil { connection.respond("423 Locked", headers: [header]) }
        }
        #expect(result.response?.isForSession == isForSession)
    }

    @Test func retryAfterAsADate() async throws {
        let result = try await exchange { connection in
            while connection.readRequest() != nil {
                connection.respond("503 Down", headers: ["Retry-After: \(httpDate(in: 3600))"])
            }
        }
        #expect((3000...3601).contains(try #require(result.response?.retryAfterSeconds)))
    }

    @Test func responseWithoutBody() async throws {
        let result = try await exchange { connection in
            while connection.readRequest() != nil { connection.write("HTTP/1.1 204 No Content\r\n\r\n") }
        }
        #expect(result.response == ReceivedResponse(status: 204))
    }

    @Test func interimResponsesAreSkipped() async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 100 Continue\r\nRetry-After: 5\r\n\r\nHTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n")
            connection.respond("200 OK", body: "done")
        }
        #expect(result.response == ReceivedResponse(status: 200, body: Array("done".utf8)))
    }

    @Test func chunkedResponse() async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        }
        #expect(result.response?.body == Array("abcde".utf8))
    }

    @Test("A body is cut at the limit, and only beyond it", arguments: [(15, false), (16, false), (17, true)])
    func bodyLimit(size: Int, isTruncated: Bool) async throws {
        let result = try await exchange(responseLimit: 16) { connection in
            _ = connection.readRequest()
            connection.respond("200 OK", body: String(repeating: "x", count: size))
        }
        #expect(result.response?.status == 200)
        #expect(result.response?.body.count == min(size, 16))
        #expect(result.response?.bodyTruncated == isTruncated)
    }

    @Test func compressedBodyIsKeptAsItCame() async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.respond("200 OK", headers: ["Content-Encoding: gzip"], body: "not really")
        }
        #expect(result.response?.body == Array("not really".utf8))
    }
}

/// A date in the form of RFC 9110.
private func httpDate(in seconds: Int) -> String {
    var time = time(nil) + seconds
    var parts = tm()
    gmtime_r(&time, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
        strftime(buffer.baseAddress, 64, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(cString: Array(buffer))
    }
}
