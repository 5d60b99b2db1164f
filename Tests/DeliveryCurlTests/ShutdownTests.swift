import DeliveryCurl
import Dispatch
import Glibc
import Router
import Synchronization
import TestSupport
import Testing

/// The end of a transport: whatever its requests were doing, each completion is called exactly once.
@Suite(.longest)
struct ShutdownTests {
    @Test func runningRequestsMayFinishAndWaitingOnesAreHandedBack() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        try await HostileServer.with { connection in
            guard connection.readRequest() != nil else { return }
            arrival.yield()
            gate.wait()
            connection.respond("200 OK")
        } _: { server in
            let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 2))
            let tally = Tally()
            for _ in 0..<5 { transport.start(WebhookRequest(to: server.url())) { tally.note($0) } }
            var iterator = arrivals.makeAsyncIterator()
            for _ in 0..<2 { await iterator.next() }
            async let end: Void = transport.shutdown(gracePeriodMilliseconds: 30_000)
            await tally.wait(for: 3)
            #expect(tally.failures == [.shuttingDown: 3])
            // Closing, but not closed: a request that comes now is refused too.
            #expect(await transport.send(WebhookRequest(to: server.url())).failure?.kind == .shuttingDown)
            for _ in 0..<2 { gate.signal() }
            await end
            #expect(tally.failures == [.shuttingDown: 3])
            #expect(tally.statuses == [200: 2])
            #expect(server.seen.requests.count == 2)
        }
    }

    @Test func theGracePeriodEnds() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        try await HostileServer.with { connection in
            guard connection.readRequest() != nil else { return }
            arrival.yield()
            connection.waitForEnd()
        } _: { server in
            let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 2))
            let tally = Tally()
            for _ in 0..<2 { transport.start(WebhookRequest(to: server.url())) { tally.note($0) } }
            var iterator = arrivals.makeAsyncIterator()
            for _ in 0..<2 { await iterator.next() }
            await transport.shutdown(gracePeriodMilliseconds: 200)
            #expect(tally.failures == [.shuttingDown: 2])
            #expect(tally.results.allSatisfy { $0.failure?.message.contains("cut off") == true })
        }
    }

    @Test func startAfterTheEndFailsOnAnotherThread() async throws {
        let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback))
        await transport.shutdown(gracePeriodMilliseconds: 0)
        let caller = pthread_self()
        let tally = Tally()
        let isOnCaller = Mutex(false)
        // A sender may hold a lock that its completion takes.
        isOnCaller.withLock { _ in
            transport.start(WebhookRequest(to: "http://127.0.0.1:1/")) { result in
                let isSame = pthread_equal(pthread_self(), caller) != 0
                isOnCaller.withLock { $0 = isSame }
                tally.note(result)
            }
        }
        await tally.wait(for: 1)
        #expect(tally.failures == [.shuttingDown: 1])
        #expect(!isOnCaller.withLock { $0 })
    }

    @Test func closingTwiceIsAllowed() async throws {
        let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback))
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await transport.shutdown(gracePeriodMilliseconds: 10) } }
        }
        transport.close()
        transport.close()
        await transport.shutdown(gracePeriodMilliseconds: 10)
    }

    @Test func releasingTheTransportEndsIt() async throws {
        try await HostileServer.with { connection in
            connection.waitForEnd()
        } _: { server in
            let tally = Tally()
            var transport: CurlTransport? = try CurlTransport(
                configuration: CurlConfiguration(egress: .grantingLoopback, slots: 1))
            for _ in 0..<3 { transport?.start(WebhookRequest(to: server.url())) { tally.note($0) } }
            transport = nil
            // The thread was joined: there is nothing to wait for.
            #expect(tally.failures == [.shuttingDown: 3])
        }
    }

    @Test func theLastReferenceMayGoAwayInACompletion() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let tally = Tally()
            let holder = Mutex<CurlTransport?>(
                try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 1)))
            let transport = holder.withLock { $0 }
            transport?.start(WebhookRequest(to: server.url())) { result in
                holder.withLock { $0 = nil }
                tally.note(result)
            }
            for _ in 0..<2 { transport?.start(WebhookRequest(to: server.url())) { tally.note($0) } }
            await tally.wait(for: 3)
            #expect(tally.count == 3)
        }
    }

    @Test func closingFromACompletionReturnsAtOnce() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let transport = try CurlTransport(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 1))
            let tally = Tally()
            transport.start(WebhookRequest(to: server.url())) { result in
                transport.close()
                tally.note(result)
            }
            transport.start(WebhookRequest(to: server.url())) { tally.note($0) }
            await tally.wait(for: 2)
            await transport.shutdown(gracePeriodMilliseconds: 0)
            #expect(tally.statuses[200, default: 0] >= 1, "\(tally.results.map(\.outcome))")
            #expect(tally.count == 2)
        }
    }

    @Test func cancellingARunningRequestFreesItsSlot() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        try await HostileServer.with { connection in
            guard let request = connection.readRequest() else { return }
            if request.text == "hang" {
                arrival.yield()
                connection.waitForEnd()
            }
            connection.respond("200 OK")
        } _: { server in
            try await withTransport(slots: 1) { transport in
                let hanging = WebhookRequest(to: server.url(), body: Array("hang".utf8))
                let first = Task { await transport.send(hanging) }
                let second = Task { await transport.send(hanging) }
                var iterator = arrivals.makeAsyncIterator()
                await iterator.next()
                // One of them runs, the other waits; both go.
                second.cancel()
                first.cancel()
                let failures = [await first.value.failure, await second.value.failure]
                #expect(failures.allSatisfy { $0?.kind == .other && $0?.message.contains("cancelled") == true })
                #expect(await transport.send(WebhookRequest(to: server.url())).response?.status == 200)
            }
        }
    }

    @Test func cancelledBeforeItStarts() async throws {
        try await withTransport { transport in
            let server = try HostileServer { $0.waitForEnd() }
            defer { server.stop() }
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await transport.send(WebhookRequest(to: server.url()))
            }
            #expect(await task.value.failure?.message.contains("cancelled") == true)
        }
    }
}
