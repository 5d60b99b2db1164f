import DeliveryCurl
import Dispatch
import Router
import Synchronization
import TestSupport
import Testing

/// More requests than the transport runs at once.
@Suite(.longest)
struct CapacityTests {
    @Test func neverMoreRunThanThereAreSlots() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Int.self)
        let gate = DispatchSemaphore(value: 0)
        let present = Mutex((now: 0, peak: 0))
        try await HostileServer.with { connection in
            while connection.readRequest() != nil {
                let now = present.withLock { present in
                    present.now += 1
                    present.peak = max(present.peak, present.now)
                    return present.now
                }
                arrival.yield(now)
                gate.wait()
                present.withLock { $0.now -= 1 }
                connection.respond("200 OK")
            }
        } _: { server in
            try await withTransport(slots: 4) { transport in
                let tally = Tally()
                for _ in 0..<40 { transport.start(WebhookRequest(to: server.url())) { tally.note($0) } }
                var iterator = arrivals.makeAsyncIterator()
                for _ in 0..<4 { _ = await iterator.next() }
                for _ in 4..<40 {
                    gate.signal()
                    _ = await iterator.next()
                }
                for _ in 0..<4 { gate.signal() }
                await tally.wait(for: 40)
                #expect(tally.statuses == [200: 40])
            }
            #expect(present.withLock { $0.peak } == 4)
            #expect(server.seen.connections == 4)
        }
    }

    /// Time spent in our queue is not the receiver's: the last of these waits four times its own limit.
    @Test func waitingForASlotCostsNoTime() async throws {
        try await HostileServer.with { connection in
            var isFirst = true
            while connection.readRequest() != nil {
                if !isFirst { connection.respond("200 OK") }
                isFirst = false
            }
        } _: { server in
            try await withTransport(slots: 1) { transport in
                let tally = Tally()
                for _ in 0..<5 {
                    transport.start(WebhookRequest(to: server.url(), timeoutMilliseconds: 250)) { tally.note($0) }
                }
                await tally.wait(for: 5)
                // Each connection's first request is left without an answer, which closes it.
                #expect(tally.failures == [.timedOut: 5])
                #expect(server.seen.requests.count == 5)
            }
        }
    }

    @Test func thousandsCompleteExactlyOnce() async throws {
        try await HostileServer.with { connection in
            while let request = connection.readRequest() { connection.respond("200 OK", body: request.text) }
        } _: { server in
            try await withTransport(slots: 32) { transport in
                let tally = Tally()
                for number in 0..<2000 {
                    let request = WebhookRequest(to: server.url(), body: Array("\(number)".utf8))
                    transport.start(request) { result in
                        #expect(result.response?.body == Array("\(number)".utf8))
                        tally.note(result)
                    }
                }
                await tally.wait(for: 2000)
                #expect(tally.statuses == [200: 2000])
            }
            #expect(server.seen.requests.count == 2000)
            #expect(Set(server.seen.requests.map(\.text)).count == 2000)
            #expect(server.seen.connections <= 32)
        }
    }

    @Test func startsFromManyThreadsAllArrive() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            try await withTransport(slots: 16) { transport in
                let results = await withTaskGroup(of: TransferResult.self) { group in
                    for _ in 0..<200 { group.addTask { await transport.send(WebhookRequest(to: server.url())) } }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results.count == 200)
                #expect(results.allSatisfy { $0.response?.status == 200 })
            }
        }
    }

    @Test func aCompletionMayStartTheNextRequest() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            try await withTransport(slots: 1) { transport in
                let tally = Tally()
                @Sendable func chain(_ left: Int) {
                    transport.start(WebhookRequest(to: server.url())) { result in
                        if left > 1 { chain(left - 1) }
                        tally.note(result)
                    }
                }
                chain(50)
                await tally.wait(for: 50)
                #expect(tally.statuses == [200: 50])
            }
        }
    }

    @Test func aFullQueueRefuses() async throws {
        try await HostileServer.with { connection in
            connection.waitForEnd()
        } _: { server in
            let tally = Tally()
            try await withTransport(slots: 2, waitingLimit: 3) { transport in
                for _ in 0..<9 { transport.start(WebhookRequest(to: server.url())) { tally.note($0) } }
                await tally.wait(for: 4)
                #expect(tally.failures == [.other: 4])
            }
            #expect(tally.failures == [.other: 4, .shuttingDown: 5])
        }
    }

    @Test func oneHangingReceiverHoldsUpNoOtherOne() async throws {
        let hanging = try HostileServer { $0.waitForEnd() }
        defer { hanging.stop() }
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            try await withTransport(slots: 3) { transport in
                let hung = Tally()
                var patient = WebhookRequest(to: hanging.url())
                patient.timeoutMilliseconds = 600_000
                for _ in 0..<2 { transport.start(patient) { hung.note($0) } }
                for _ in 0..<20 {
                    #expect(await transport.send(WebhookRequest(to: server.url())).response?.status == 200)
                }
                #expect(hung.count == 0)
            }
        }
    }
}

extension SeenRequest {
    var text: String { String(decoding: body, as: UTF8.self) }
}
