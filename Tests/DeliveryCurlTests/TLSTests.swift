import DeliveryCurl
import Foundation
import Hummingbird
import HummingbirdHTTP2
import Router
import RouterPlugin
import TestSupport
import Testing

/// Receivers behind TLS, with certificates of an authority made for the run.
@Suite(.longest)
struct TLSTests {
    @Test func speaksHTTP2WhenTheServerDoes() async throws {
        let authority = try TestAuthority.shared.get()
        try await withHTTP2Server(authority) { port in
            try await withTransport(slots: 32, authority: authority.authority) { transport in
                let tally = Tally()
                let body = Array(String(repeating: "x", count: 100_000).utf8)
                for _ in 0..<100 {
                    let request = WebhookRequest(
                        to: "https://127.0.0.1:\(port)/echo",
                        headers: [HeaderField("webhook-id", "msg_1"), HeaderField("Content-Type", "text/plain")],
                        body: body, responseLimit: 200_000)
                    transport.start(request) { tally.note($0) }
                }
                await tally.wait(for: 100)
                #expect(tally.statuses == [200: 100], "\(tally.results.compactMap(\.failure))")
                #expect(tally.results.allSatisfy { $0.metrics.httpVersion == "2" })
                #expect(tally.results.allSatisfy { $0.response?.body == body })
                #expect(tally.results.allSatisfy { $0.response?.contentType == "text/plain" })
                #expect(tally.results.filter { !$0.metrics.reusedConnection }.count == 1)
                #expect(tally.results.contains { $0.metrics.tlsHandshake > $0.metrics.connect })
            }
        }
    }

    @Test func http2BodyIsCutAtTheLimit() async throws {
        let authority = try TestAuthority.shared.get()
        try await withHTTP2Server(authority) { port in
            try await withTransport(authority: authority.authority) { transport in
                for _ in 0..<3 {
                    let request = WebhookRequest(
                        to: "https://127.0.0.1:\(port)/echo", body: Array(repeating: 1, count: 200_000),
                        responseLimit: 1000)
                    let result = await transport.send(request)
                    #expect(result.response?.status == 200)
                    #expect(result.response?.body.count == 1000)
                    #expect(result.response?.bodyTruncated == true)
                }
            }
        }
    }

    @Test func fallsBackToHTTP1() async throws {
        let authority = try TestAuthority.shared.get()
        let server = try OpenSSLServer(authority, response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        defer { server.stop() }
        try await withTransport(authority: authority.authority) { transport in
            let result = await transport.send(WebhookRequest(to: "https://127.0.0.1:\(server.port)/"))
            #expect(result.response?.body == Array("ok".utf8), "\(result.outcome)")
            #expect(result.metrics.httpVersion == "1.1")
        }
    }

    /// Over HTTP/2 requests of several applications share one connection at the same time.
    @Test func anotherApplicationCannotShareAGrantedConnection() async throws {
        let authority = try TestAuthority.shared.get()
        let (mine, theirs) = (ApplicationID(unchecked: "mine"), ApplicationID(unchecked: "theirs"))
        let grant = EgressGrant(application: mine, network: try IPNetwork("127.0.0.1"))
        try await withHTTP2Server(authority) { port in
            let policy = EgressPolicy(grants: [grant])
            try await withTransport(slots: 32, authority: authority.authority, egress: policy) { transport in
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<32 {
                        group.addTask {
                            var request = WebhookRequest(to: "https://127.0.0.1:\(port)/echo")
                            request.application = number.isMultiple(of: 2) ? mine : theirs
                            let result = await transport.send(request)
                            if request.application == mine {
                                #expect(result.response?.status == 200, "\(result)")
                            } else {
                                #expect(result.failure?.kind == .egressRefused, "\(result)")
                            }
                        }
                    }
                }
            }
        }
    }

    /// As a balancer on the way does that has lost its table: the connection stands, and nothing comes of it any more.
    @Test func aForgottenConnectionIsNotUsedAgain() async throws {
        let authority = try TestAuthority.shared.get()
        try await withRelay(authority) { relay, transport, milliseconds in
            let url = "https://127.0.0.1:\(relay.port)/echo"
            #expect(await transport.send(WebhookRequest(to: url)).response?.status == 200)
            relay.forgetAll()
            let tally = Tally()
            transport.start(WebhookRequest(to: url, timeoutMilliseconds: milliseconds)) { tally.note($0) }
            let late = await transport.send(WebhookRequest(to: url, timeoutMilliseconds: 500))
            #expect(late.failure?.kind == .timedOut, "\(late)")
            // While one is under way there, each has a connection of its own.
            for _ in 0..<2 { #expect(await transport.send(WebhookRequest(to: url)).response?.status == 200) }
            guard tally.count == 0 else { return false }
            #expect(relay.connections == 3)
            await tally.wait(for: 1)
            #expect(tally.failures == [.timedOut: 1], "it has its time: \(tally.results)")
            for _ in 0..<2 { #expect(await transport.send(WebhookRequest(to: url)).response?.status == 200) }
            #expect(relay.connections == 4, "with the last one it has ended, and the next is kept")
            return true
        }
    }

    /// The time-out of a request with little time says nothing of a connection on which others have more.
    @Test func aTimeOutCutsOffNoOtherRequest() async throws {
        let authority = try TestAuthority.shared.get()
        try await withHTTP2Server(authority) { port in
            let relay = try Relay(to: port)
            defer { relay.stop() }
            let url = "https://127.0.0.1:\(relay.port)"
            try await withTransport(authority: authority.authority) { transport in
                #expect(await transport.send(WebhookRequest(to: url + "/echo")).response?.status == 200)
                let tally = Tally()
                transport.start(WebhookRequest(to: url + "/wait")) { tally.note($0) }
                let hasty = await transport.send(WebhookRequest(to: url + "/hang", timeoutMilliseconds: 300))
                #expect(hasty.failure?.kind == .timedOut, "\(hasty)")
                #expect(await transport.send(WebhookRequest(to: url + "/go")).response?.status == 200)
                #expect(relay.connections == 2)
                await tally.wait(for: 1)
                #expect(tally.statuses == [200: 1], "\(tally.results)")
                // It has answered, and is as good as any other.
                #expect(await transport.send(WebhookRequest(to: url + "/echo")).metrics.reusedConnection)
                #expect(relay.connections == 2)
            }
        }
    }

    @Test func aConnectionOnWhichOneRequestHangsIsKept() async throws {
        let authority = try TestAuthority.shared.get()
        try await withRelay(authority) { relay, transport, milliseconds in
            let url = "https://127.0.0.1:\(relay.port)"
            #expect(await transport.send(WebhookRequest(to: url + "/echo")).response?.status == 200)
            let tally = Tally()
            transport.start(WebhookRequest(to: url + "/hang", timeoutMilliseconds: milliseconds)) { tally.note($0) }
            var answersMeanwhile = 0
            while tally.count == 0 {
                #expect(await transport.send(WebhookRequest(to: url + "/echo")).response?.status == 200)
                answersMeanwhile += tally.count == 0 ? 1 : 0
            }
            guard answersMeanwhile > 0 else { return false }
            #expect(tally.failures == [.timedOut: 1], "\(tally.results)")
            #expect(await transport.send(WebhookRequest(to: url + "/echo")).response?.status == 200)
            #expect(relay.connections == 1)
            return true
        }
    }

    @Test func untrustedCertificateFails() async throws {
        let authority = try TestAuthority.shared.get()
        try await withHTTP2Server(authority) { port in
            // Without the test's authority, the system's apply.
            try await withTransport { transport in
                let result = await transport.send(WebhookRequest(to: "https://127.0.0.1:\(port)/echo"))
                #expect(result.failure?.kind == .tlsFailed)
                #expect(result.failure?.curlCode == 60)
            }
        }
    }

    @Test func wrongHostNameFails() async throws {
        let authority = try TestAuthority.shared.get()
        try await withHTTP2Server(authority) { port in
            try await withTransport(authority: authority.authority) { transport in
                let result = await transport.send(WebhookRequest(to: "https://localhost:\(port)/echo"))
                #expect(result.failure?.kind == .tlsFailed)
                #expect(result.failure?.curlCode == 60)
            }
        }
    }

    @Test func plainHTTPWhereTLSIsExpectedFails() async throws {
        try await HostileServer.with { connection in
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { server in
            try await withTransport { transport in
                let result = await transport.send(WebhookRequest(to: "https://127.0.0.1:\(server.port)/"))
                #expect(result.failure?.kind == .tlsFailed)
            }
        }
    }
}

/// Runs `body` with a server that speaks HTTP/2, a relay before it and a time for a request that gets no answer, in
/// milliseconds: more and more of it, until `body` says that the machine was quick enough to show something meanwhile.
private func withRelay(
    _ authority: TestAuthority, _ body: @escaping (Relay, CurlTransport, Int) async throws -> Bool
) async throws {
    try await withHTTP2Server(authority) { port in
        for milliseconds in [2000, 6000, 20_000, 60_000] {
            let relay = try Relay(to: port)
            defer { relay.stop() }
            let hasShown = try await withTransport(authority: authority.authority) { transport in
                try await body(relay, transport, milliseconds)
            }
            if hasShown { return }
        }
        Issue.record("The machine takes too long.")
    }
}

/// Runs `body` with the port of a server that speaks HTTP/2 and echoes.
private func withHTTP2Server(_ authority: TestAuthority, _ body: @escaping (Int) async throws -> Void) async throws {
    let configuration = try TLSConfiguration.makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(authority.certificate).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: authority.key, format: .pem)))
    let router = Hummingbird.Router()
    router.post("echo") { request, context in
        let buffer = try await request.body.collect(upTo: 1_000_000)
        var headers = HTTPFields()
        headers[.contentType] = request.headers[.contentType]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: buffer))
    }
    let (never, unused) = AsyncStream.makeStream(of: Never.self)
    defer { unused.finish() }
    router.post("hang") { _, _ in
        for await _ in never {}
        return Response(status: .ok)
    }
    let (gate, key) = AsyncStream.makeStream(of: Never.self)
    router.post("wait") { _, _ in
        for await _ in gate {}
        return Response(status: .ok)
    }
    router.post("go") { _, _ in
        key.finish()
        return Response(status: .ok)
    }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
        router: router, server: try .http2Upgrade(tlsConfiguration: configuration),
        configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in
            // The address as the channel describes itself: NIO's own type is not this target's to import.
            let text = "\(channel)"
            if let range = text.range(of: #"127\.0\.0\.1:\d+"#, options: .regularExpression) {
                port.yield(Int(text[range].split(separator: ":")[1]) ?? 0)
            }
            port.finish()
        })
    let server = Task { try await application.runService(gracefulShutdownSignals: []) }
    defer { server.cancel() }
    var iterator = ports.makeAsyncIterator()
    try await body(#require(await iterator.next()))
}

/// `openssl s_server`, which knows TLS and nothing of HTTP/2: the decrypted bytes come out of it, and bytes that are
/// written into it go to the client.
private struct OpenSSLServer {
    let port: Int
    private let process = Process()

    init(_ authority: TestAuthority, response: String) throws {
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-cert", authority.certificate, "-key", authority.key,
            "-alpn", "http/1.1", "-naccept", "1",
        ]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = ""
        while !(text.contains("ACCEPT") && text.hasSuffix("\n")) {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.executableLoad) }
            text += String(decoding: more, as: UTF8.self)
        }
        port = text.split(whereSeparator: { !$0.isNumber }).last.flatMap { Int($0) } ?? 0
        Thread.detachNewThread {
            var received = ""
            while !received.contains("{}") {
                let more = output.fileHandleForReading.availableData
                if more.isEmpty { return }
                received += String(decoding: more, as: UTF8.self)
            }
            input.fileHandleForWriting.write(Data(response.utf8))
            while !output.fileHandleForReading.availableData.isEmpty {}
        }
    }

    func stop() { process.terminate() }
}
