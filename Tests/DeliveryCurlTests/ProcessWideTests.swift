import DeliveryCurl
import Foundation
import Router
import TestSupport
import Testing

/// Effects on the process as a whole, each in a process of its own.
@Suite(.longest)
struct ProcessWideTests {
    @Test func proxiesInTheEnvironmentAreIgnored() async {
        await #expect(processExitsWith: .success) {
            let dead = "http://127.0.0.1:\(try HostileServer.closedPort())"
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                setenv(name, dead, 1)
            }
            let result = try await exchange { connection in
                while connection.readRequest() != nil { connection.respond("200 OK") }
            }
            #expect(result.response?.status == 200)
        }
    }

    @Test func closedTransportLeavesNoDescriptorAndNoThread() async {
        await #expect(processExitsWith: .success) {
            let server = try HostileServer { connection in
                while connection.readRequest() != nil { connection.respond("200 OK") }
            }
            let hanging = try HostileServer { $0.waitForEnd() }
            // The first round makes what the process makes once.
            try await useUp(server, hanging)
            let before = openEventDescriptors()
            let peak = try await useUp(server, hanging)
            #expect(peak.connections >= 5)
            #expect(peak.events == before + 2)
            #expect(openEventDescriptors() == before)
            #expect(openConnections(to: [server.port, hanging.port]) == 0)
            for _ in 0..<5 { try await useUp(server, hanging) }
            // The kernel may list a thread a moment longer than it can be joined.
            #expect(transportThreads() < 3)
        }
    }

    @Test func theThreadTakesNoSignalOfABrokenPipe() async throws {
        try await withTransport { transport in
            let isBlocked = await withCheckedContinuation { continuation in
                transport.start(WebhookRequest(to: "nonsense")) { _ in
                    var signals = sigset_t()
                    pthread_sigmask(SIG_BLOCK, nil, &signals)
                    continuation.resume(returning: sigismember(&signals, SIGPIPE) == 1)
                }
            }
            #expect(isBlocked)
        }
    }

    @Test func aSignalOfABrokenPipeDoesNotKill() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            for _ in 0..<20 {
                let result = try await exchange(body: String(repeating: "x", count: 2_000_000)) { connection in
                    connection.resetAtEnd()
                }
                #expect(result.failure != nil)
            }
        }
    }
}

/// Uses a transport with answered, hanging and cut off requests, and returns what the process had open then.
@discardableResult
private func useUp(
    _ server: HostileServer, _ hanging: HostileServer
) async throws -> (connections: Int, events: Int) {
    let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 5))
    let tally = Tally()
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<4 { transport.start(WebhookRequest(to: hanging.url())) { tally.note($0) } }
    for _ in 0..<4 {
        transport.start(WebhookRequest(to: server.url())) { result in
            tally.note(result)
            arrival.yield()
        }
    }
    let cancelled = Task { await transport.send(WebhookRequest(to: hanging.url())) }
    var iterator = arrivals.makeAsyncIterator()
    for _ in 0..<4 { await iterator.next() }
    let open = (openConnections(to: [server.port, hanging.port]), openEventDescriptors())
    cancelled.cancel()
    _ = await cancelled.value
    await transport.shutdown(gracePeriodMilliseconds: 50)
    #expect(tally.count == 8)
    return open
}

private func descriptors() -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap { Int32($0) }
}

/// epoll instances and eventfds, of which a transport has one each.
private func openEventDescriptors() -> Int {
    descriptors().filter { descriptor in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        return target?.contains("eventpoll") == true || target?.contains("eventfd") == true
    }.count
}

/// Sockets of the side that connected.
private func openConnections(to ports: [Int]) -> Int {
    descriptors().filter { descriptor in
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        return code == 0 && ports.contains(Int(UInt16(bigEndian: address.sin_port)))
    }.count
}

private func transportThreads() -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.filter { task in
        (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8))?.hasPrefix("curl-loop") == true
    }.count
}
