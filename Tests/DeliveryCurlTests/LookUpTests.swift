import Dispatch
import Router
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DeliveryCurl

/// Names, and a resolver that says and does what a test wants.
@Suite(.longest)
struct LookUpTests {
    /// A resolver that counts its questions.
    private final class Resolver: Sendable {
        private let state = Mutex((asked: [String](), now: 0, peak: 0))
        private let answer: @Sendable (String, Int) -> HostLookUp

        /// - Parameter answer: Called with a name, and the number of names that were asked for before.
        init(_ answer: @escaping @Sendable (String, Int) -> HostLookUp) { self.answer = answer }

        var asked: [String] { state.withLock { $0.asked } }
        var peak: Int { state.withLock { $0.peak } }

        func callAsFunction(_ name: String) -> HostLookUp {
            let number = state.withLock { state in
                state.asked.append(name)
                state.now += 1
                state.peak = max(state.peak, state.now)
                return state.asked.count - 1
            }
            defer { state.withLock { $0.now -= 1 } }
            return answer(name, number)
        }
    }

    private func withTransport(
        slots: Int = 8, _ resolver: Resolver, _ body: (CurlTransport) async throws -> Void
    ) async throws {
        let transport = try CurlTransport(
            configuration: CurlConfiguration(egress: .grantingLoopback, slots: slots), lookUp: { resolver($0) })
        do { try await body(transport) } catch {
            await transport.shutdown(gracePeriodMilliseconds: 0)
            throw error
        }
        await transport.shutdown(gracePeriodMilliseconds: 0)
    }

    @Test func aNameIsLookedUpForEachConnectionAndNotForEachRequest() async throws {
        let resolver = Resolver { _, number in .addresses([number == 0 ? "127.0.0.1" : "127.0.0.2"]) }
        let first = try HostileServer { connection in
            for _ in 0..<3 where connection.readRequest() != nil { connection.respond("200 OK") }
        }
        defer { first.stop() }
        let second = try HostileServer(at: .second, port: first.port) { connection in
            while connection.readRequest() != nil { connection.respond("201 Created") }
        }
        defer { second.stop() }
        try await withTransport(resolver) { transport in
            var results: [TransferResult] = []
            for _ in 0..<6 {
                results.append(await transport.send(WebhookRequest(to: "http://hooks.example:\(first.port)/")))
            }
            #expect(
                results.map(\.response?.status) == [200, 200, 200, 201, 201, 201],
                "\(results.compactMap(\.failure))")
            #expect(resolver.asked == ["hooks.example", "hooks.example"])
            #expect(first.seen.requests[0].headers.contains("Host: hooks.example:\(first.port)"))
            let metrics = results[0].metrics
            #expect(metrics.nameLookup > 0 && metrics.connect >= metrics.nameLookup && metrics.total >= metrics.connect)
        }
    }

    /// A request that went over a kept connection, and waited there for longer than a connection may take.
    @Test func aConnectionThatEndsLateIsReplaced() async throws {
        let resolver = Resolver { _, _ in .addresses(["127.0.0.1"]) }
        let end = DispatchSemaphore(value: 0)
        let server = try HostileServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.respond("200 OK")
            if connection.readRequest() != nil { end.wait() }
        }
        defer { server.stop() }
        try await HostileServer.with {
            $0.waitForEnd()
        } _: { silent in
            try await withTransport(resolver) { transport in
                let url = "http://hooks.example:\(server.port)/"
                #expect(await transport.send(WebhookRequest(to: url)).response?.status == 200)
                let tally = Tally()
                transport.start(WebhookRequest(to: url, connectTimeoutMilliseconds: 20_000)) { tally.note($0) }
                let later = await transport.send(WebhookRequest(to: silent.url(), timeoutMilliseconds: 20_100))
                #expect(later.failure?.kind == .timedOut, "\(later)")
                end.signal()
                await tally.wait(for: 1)
                #expect(tally.statuses == [200: 1], "\(tally.results)")
                #expect(server.seen.connections == 2)
                #expect(resolver.asked == ["hooks.example", "hooks.example"])
            }
        }
    }

    @Test func addressesAreTriedInTurn() async throws {
        let resolver = Resolver { _, _ in .addresses(["127.0.0.2", "127.0.0.1"]) }
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            try await withTransport(resolver) { transport in
                let result = await transport.send(WebhookRequest(to: "http://hooks.example:\(server.port)/"))
                #expect(result.response?.status == 200, "\(result.outcome)")
                #expect(result.metrics.remoteAddress == "127.0.0.1:\(server.port)")
            }
        }
    }

    @Test func theGuardSeesTheAddressesOfAName() async throws {
        let resolver = Resolver { _, _ in .addresses(["10.0.0.5"]) }
        try await withTransport(resolver) { transport in
            let result = await transport.send(WebhookRequest(to: "http://hooks.example:8080/"))
            #expect(result.failure?.kind == .egressRefused, "\(result.outcome)")
        }
    }

    @Test("Names that cannot be looked up")
    func failures() async throws {
        let resolver = Resolver { name, _ in
            name == "none.example" ? .failed("Name or service not known") : .noMeans("Too many open files")
        }
        try await withTransport(resolver) { transport in
            let none = await transport.send(WebhookRequest(to: "http://none.example/"))
            #expect(none.failure?.kind == .nameNotResolved && none.failure?.curlCode == 6)
            #expect(none.failure?.message == "Could not resolve host: none.example (Name or service not known)")
            let ours = await transport.send(WebhookRequest(to: "http://some.example/"))
            #expect(ours.failure?.kind == .noSocket, "It says nothing of the receiver: \(ours.outcome)")
        }
    }

    @Test("Look-ups without a waiting request keep their threads, and their number is bounded")
    func hanging() async throws {
        let gate = DispatchSemaphore(value: 0)
        let resolver = Resolver { name, _ in
            guard name.hasPrefix("hung") else { return .addresses(["127.0.0.1"]) }
            gate.wait()
            return .failed("too late")
        }
        try await HostileServer.with { connection in
            // Each request has a connection, and so a look-up, of its own.
            if connection.readRequest() != nil { connection.respond("200 OK", headers: ["Connection: close"]) }
        } _: { server in
            try await withTransport(slots: 16, resolver) { transport in
                func status(_ host: String, of application: String? = nil) async -> Int? {
                    var request = WebhookRequest(to: "http://\(host):\(server.port)/")
                    request.application = application.map(ApplicationID.init(unchecked:))
                    return await transport.send(request).response?.status
                }
                #expect(await status("known.example") == 200)
                let tally = Tally()
                for number in 0..<48 {
                    let url = "http://hung\(number).example:\(server.port)/"
                    transport.start(WebhookRequest(to: url, timeoutMilliseconds: 2000)) { tally.note($0) }
                }
                await tally.wait(for: 48)
                // Three threads are for names that were not found before, and the application that asks for all has two
                // of them; of the twelve for late look-ups it has six. The number that has begun when no request waits
                // any more is chance.
                let late = tally.results.filter { $0.failure?.kind == .nameNotResolved }
                #expect((2...8).contains(late.count))
                #expect(tally.failures[.noSocket] == 48 - late.count, "Look-ups without a thread were not tried.")
                #expect(late.allSatisfy { $0.failure?.hasRunOutOfTime == true && $0.metrics.total >= 2_000_000 })
                // The requests give their slots back before, though no more than sixteen are under way at a time: a few
                // after a quarter of their time, and the others at once when no thread comes back.
                #expect(tally.results.suffix(late.count).allSatisfy { $0.failure?.kind == .nameNotResolved })
                #expect(resolver.asked.count == 1 + late.count && resolver.peak == late.count)
                // A request without a name goes on, as does one with a name that was found before.
                #expect(await status("127.0.0.1") == 200)
                #expect(await status("known.example") == 200)
                #expect(resolver.asked.count == 1 + late.count + 1 && resolver.peak == late.count + 1)
                // So does another application, and every application when the threads have come back.
                #expect(await status("other.example", of: "other") == 200)
                for _ in late { gate.signal() }
                #expect(await status("quick.example") == 200)
            }
        }
    }

    @Test func shutdownDoesNotWaitForTheResolver() async throws {
        let gate = DispatchSemaphore(value: 0)
        let asked = DispatchSemaphore(value: 0)
        let resolver = Resolver { _, _ in
            asked.signal()
            gate.wait()
            return .failed("too late")
        }
        let tally = Tally()
        try await withTransport(resolver) { transport in
            transport.start(WebhookRequest(to: "http://hung.example/")) { tally.note($0) }
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    asked.wait()
                    continuation.resume()
                }
            }
        }
        #expect(tally.failures == [.shuttingDown: 1])
        gate.signal()
    }

    @Test(
        "Hosts that need a look-up",
        arguments: [
            ("hooks.example", true), ("127.0.0.1", false), ("[::1]", false), ("localhost", false),
            ("a.localhost", false), ("localhost.example", true), ("127.0.0.1.example", true),
        ])
    func isNeeded(host: String, isNeeded: Bool) {
        #expect(HostLookUp.isNeeded(for: host) == isNeeded)
    }

    @Test func theSystemsResolver() {
        guard case .addresses(let addresses) = HostLookUp.ask("localhost") else {
            Issue.record("localhost has no address")
            return
        }
        #expect(addresses.contains("127.0.0.1") || addresses.contains("[::1]"))
        guard case .failed = HostLookUp.ask(String(repeating: "a", count: 64) + ".invalid") else {
            Issue.record("a name that cannot be was found")
            return
        }
    }
}
