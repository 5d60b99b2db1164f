import DeliveryCurl
import Glibc
import Router
import Synchronization
import TestSupport
import Testing

/// Receivers that are slow, broken, absent or up to no good. Each costs a slot until its limit, and nothing else.
@Suite(.longest)
struct HostileReceiverTests {
    @Test func answerAfterTheLimitTimesOut() async throws {
        let result = try await exchange(timeoutMilliseconds: 200) { connection in
            _ = connection.readRequest()
            connection.waitForEnd()
        }
        #expect(result.failure?.kind == .timedOut)
        #expect(result.failure?.curlCode == 28)
        #expect(result.metrics.total >= 200_000)
        #expect(result.metrics.httpVersion == nil)
    }

    @Test func drippingAnswerTimesOut() async throws {
        let result = try await exchange(timeoutMilliseconds: 300) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.write("x") { usleep(5000) }
        }
        #expect(result.failure?.kind == .timedOut)
    }

    @Test func drippingHeadersTimeOut() async throws {
        let result = try await exchange(timeoutMilliseconds: 300) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nX-Drip: ")
            while connection.write("x") { usleep(5000) }
        }
        #expect(result.failure?.kind == .timedOut)
    }

    @Test func connectingHasItsOwnLimit() async throws {
        let result = try await sendToFullServer { url in
            WebhookRequest(to: url, connectTimeoutMilliseconds: 250, timeoutMilliseconds: 30_000)
        }
        #expect(result.failure?.kind == .connectFailed, "Nothing was sent: \(String(describing: result.failure))")
        #expect(result.failure?.hasRunOutOfTime == true)
        #expect(result.failure?.message.isEmpty == false)
        #expect(result.metrics.total < 15_000_000)
    }

    @Test func handshakeCountsAsConnecting() async throws {
        try await HostileServer.with { connection in
            connection.waitForEnd()
        } _: { server in
            try await withTransport { transport in
                let request = WebhookRequest(
                    to: "https://127.0.0.1:\(server.port)/", connectTimeoutMilliseconds: 250,
                    timeoutMilliseconds: 30_000)
                let result = await transport.send(request)
                #expect(result.failure?.kind == .connectFailed, "\(String(describing: result.failure))")
                #expect(result.failure?.hasRunOutOfTime == true)
                #expect(result.metrics.total < 15_000_000)
            }
        }
    }

    /// The whole limit may be shorter than that of connecting.
    @Test func neverConnectedWithinTheWholeLimit() async throws {
        let result = try await sendToFullServer { WebhookRequest(to: $0, timeoutMilliseconds: 250) }
        #expect(result.failure?.kind == .connectFailed, "\(String(describing: result.failure))")
        #expect(result.failure?.hasRunOutOfTime == true)
    }

    /// The request is made again on a new connection, which the receiver does not accept any more.
    @Test func aRequestOnAKeptConnectionMayHaveArrived() async throws {
        let server = try HostileServer { connection in
            _ = connection.readRequest()
            connection.respond("200 OK")
            _ = connection.readRequest()
            connection.stopServer()
        }
        defer { server.stop() }
        try await withTransport { transport in
            #expect(await transport.send(WebhookRequest(to: server.url())).response?.status == 200)
            let result = await transport.send(WebhookRequest(to: server.url()))
            #expect(server.seen.requests.count == 2)
            #expect(result.failure?.curlCode == 7)
            #expect(result.failure?.kind == .connectionLost, "\(String(describing: result.failure))")
        }
    }

    /// The same, and the receiver does not answer any more.
    @Test func aRequestOnAKeptConnectionMayHaveArrivedWithoutAnAnswer() async throws {
        let isOpen = Atomic(true)
        let server = try HostileServer { connection in
            guard isOpen.exchange(false, ordering: .relaxed) else { return connection.waitForEnd() }
            _ = connection.readRequest()
            connection.respond("200 OK")
            _ = connection.readRequest()
        }
        defer { server.stop() }
        try await withTransport { transport in
            #expect(await transport.send(WebhookRequest(to: server.url())).response?.status == 200)
            let result = await transport.send(WebhookRequest(to: server.url(), timeoutMilliseconds: 250))
            #expect(result.failure?.kind == .timedOut, "\(String(describing: result.failure))")
            #expect(result.failure?.hasRunOutOfTime == true)
        }
    }

    @Test("The connection breaks", arguments: BreakingPoint.allCases, [true, false])
    func connectionBreaks(point: BreakingPoint, withReset: Bool) async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write(point.before)
            if withReset { connection.resetAtEnd() }
        }
        #expect(result.failure?.kind == .connectionLost, "\(String(describing: result.failure))")
    }

    @Test(
        "Answers that are not HTTP are refused",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "<html>hello</html>", "HTTP/9.7 200 OK\r\n\r\n",
        ])
    func garbage(answer: String) async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write(answer)
        }
        #expect(result.failure?.kind == .garbled, "\(String(describing: result.failure))")
    }

    @Test("Lengths that lie", arguments: ["Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2"])
    func badLength(header: String) async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n\(header)\r\n\r\nx")
        }
        #expect(result.failure != nil)
    }

    @Test func endlessBodyIsCutPromptly() async throws {
        let result = try await exchange(timeoutMilliseconds: 30_000, responseLimit: 4096) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n"
            while connection.write(chunk) {}
        }
        #expect(result.response?.status == 200)
        #expect(result.response?.body.count == 4096)
        #expect(result.response?.bodyTruncated == true)
        #expect(result.metrics.total < 15_000_000)
    }

    @Test func anInterimResponseAloneIsNoResponse() async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 100 Continue\r\n\r\n")
        }
        #expect(result.failure?.kind == .connectionLost, "\(String(describing: result.outcome))")
    }

    @Test("A switch of protocols without a request for it is an answer at once", arguments: [true, false])
    func switchOfProtocols(isLeftOpen: Bool) async throws {
        let result = try await exchange(timeoutMilliseconds: 30_000) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n")
            if isLeftOpen { connection.waitForEnd() }
        }
        #expect(result.response?.status == 101, "\(String(describing: result.outcome))")
        #expect(result.metrics.total < 15_000_000)
    }

    @Test func headerBombEndsTheTransfer() async throws {
        let result = try await exchange(timeoutMilliseconds: 30_000) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n")
            let line = "X-Bomb: " + String(repeating: "x", count: 4096) + "\r\n"
            while connection.write(line) {}
        }
        #expect(result.failure?.kind == .garbled, "\(String(describing: result.outcome))")
        #expect(result.failure?.message.contains("65536") == true)
    }

    @Test func oneEndlessHeaderEndsTheTransfer() async throws {
        let result = try await exchange(timeoutMilliseconds: 30_000) { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nX-Bomb: ")
            while connection.write(String(repeating: "x", count: 4096)) {}
        }
        #expect(result.failure?.kind == .garbled, "\(String(describing: result.outcome))")
        #expect(result.failure?.message.contains("65536") == true)
    }

    @Test func longHeadersAreCutInTheResult() async throws {
        let result = try await exchange { connection in
            _ = connection.readRequest()
            let long = String(repeating: "a", count: 20_000)
            connection.respond("302 Found", headers: ["Content-Type: text/\(long)", "Location: http://a/\(long)"])
        }
        #expect(result.response?.contentType?.utf8.count == 256)
        #expect(result.response?.location?.utf8.count == 2048)
    }

    @Test func noServerListens() async throws {
        let port = try HostileServer.closedPort()
        let result = try await withTransport { await $0.send(WebhookRequest(to: "http://127.0.0.1:\(port)/")) }
        #expect(result.failure?.kind == .connectFailed)
        #expect(result.failure?.curlCode == 7)
        #expect(!result.metrics.reusedConnection)
    }

    @Test func nameDoesNotResolve() async throws {
        // A label of 64 letters is too long for the DNS, so that no name server is asked.
        let url = "http://\(String(repeating: "a", count: 64)).invalid/"
        let result = try await withTransport {
            await $0.send(WebhookRequest(to: url, connectTimeoutMilliseconds: 30_000))
        }
        #expect(result.failure?.kind == .nameNotResolved)
        #expect(result.metrics.remoteAddress == nil)
    }

    @Test("Requests that must not be sent are refused", arguments: unsendable)
    func refusals(headers: [HeaderField], path: String, kind: TransferFailure.Kind) async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            try await withTransport(slots: 1) { transport in
                let request = WebhookRequest(to: server.url(path), headers: headers, body: [])
                let failure = await transport.send(request).failure
                #expect(failure?.kind == kind)
                #expect(failure?.message.contains("hidden") == false)
                // The slot is as good as new.
                #expect(await transport.send(WebhookRequest(to: server.url())).response?.status == 200)
            }
            #expect(server.seen.requests.count == 1)
        }
    }

    @Test func anUnreadableAuthorityFileIsNamedAsTLSFailure() async throws {
        try await withTransport(authority: "/nonexistent/authority.pem") { transport in
            let server = try HostileServer { $0.waitForEnd() }
            defer { server.stop() }
            let result = await transport.send(WebhookRequest(to: "https://127.0.0.1:\(server.port)/"))
            #expect(result.failure?.kind == .tlsFailed)
        }
    }
}

enum BreakingPoint: CaseIterable {
    case atOnce, inStatusLine, inHeaders, afterHeaders, inBody, inChunk

    var before: String {
        switch self {
        case .atOnce: ""
        case .inStatusLine: "HTTP/1.1 20"
        case .inHeaders: "HTTP/1.1 200 OK\r\nContent-Le"
        case .afterHeaders: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
        case .inBody: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
        case .inChunk: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"
        }
    }
}

private let unsendable: [([HeaderField], String, TransferFailure.Kind)] = [
    ([HeaderField("X-A", "hidden\r\nX-B: 1")], "/", .other), ([HeaderField("X-A", "hidden\n")], "/", .other),
    ([HeaderField("X-A", "hidden\u{0}")], "/", .other), ([HeaderField("X-A\r\nhidden", "1")], "/", .other),
    ([HeaderField("hidden:", "1")], "/", .other), ([HeaderField("", "hidden")], "/", .other),
    ([HeaderField("Transfer-Encoding", "hidden")], "/", .other), ([HeaderField("host", "hidden")], "/", .other),
    ([], "/hidden path", .unusableURL), ([], "/hidden#there", .unusableURL),
]

/// Sends a request to a server that is not connected to: the kernel answers no more than fit into its backlog.
private func sendToFullServer(_ request: (_ url: String) -> WebhookRequest) async throws -> TransferResult {
    let server = try HostileServer(backlog: 0, isAccepting: false) { _ in }
    defer { server.stop() }
    let fillers = (0..<4).map { _ in connectWithoutWaiting(to: server.port) }
    defer { for filler in fillers { close(filler) } }
    let request = request(server.url())
    return try await withTransport { await $0.send(request) }
}

private func connectWithoutWaiting(to port: Int) -> Int32 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = HostileServer.loopback(port: port)
    withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
            _ = connect(socket, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    return socket
}
