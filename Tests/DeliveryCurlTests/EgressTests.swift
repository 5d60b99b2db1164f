import CCurl
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DeliveryCurl

/// The guard on real connections. All of them go to loopback, whatever becomes of the guard: nothing here may ever
/// reach for another address, not even to see it refused.
@Suite("Egress guard", .longest)
struct EgressTests {
    /// How a URL can name loopback, and which loopback it is.
    static let spellings: [(host: String, server: HostileServer.Host)] = [
        ("127.0.0.1", .first), ("127.0.0.2", .second), ("localhost", .first), ("LocalHost", .first),
        ("2130706433", .first), ("0x7f.1", .first), ("0x7f000001", .first), ("0177.0.0.1", .first), ("127.1", .first),
        ("[::1]", .v6), ("[0:0:0:0:0:0:0:1]", .v6), ("[::ffff:127.0.0.1]", .first), ("[::ffff:7f00:1]", .first),
    ].filter { $0.1 != .v6 || HostileServer.hasV6 }

    private static let (mine, theirs) = (ApplicationID(unchecked: "mine"), ApplicationID(unchecked: "theirs"))

    private static func request(_ url: String, for application: ApplicationID? = mine) -> WebhookRequest {
        var request = WebhookRequest(to: url)
        request.application = application
        return request
    }

    private static func grant(
        _ network: String, for application: ApplicationID? = nil, ports: [ClosedRange<Int>] = []
    ) throws -> EgressGrant {
        EgressGrant(application: application, network: try IPNetwork(network), ports: ports)
    }

    @Test("Loopback is refused without a grant, however it is spelt, and reached with one", arguments: spellings)
    func spelling(_ spelling: (host: String, server: HostileServer.Host)) async throws {
        let server = try HostileServer(at: spelling.server) { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        }
        defer { server.stop() }
        let url = "http://\(spelling.host):\(server.port)/hook"
        let refused = try await withTransport(egress: EgressPolicy()) { await $0.send(Self.request(url)) }
        #expect(refused.failure?.kind == .egressRefused, "\(refused)")
        #expect(refused.failure?.message.hasSuffix("(rule loopback)") == true, "\(refused)")
        #expect(server.seen.connections == 0)
        let allowed = try await withTransport { await $0.send(Self.request(url)) }
        #expect(allowed.response?.status == 200, "\(allowed)")
        #expect(server.seen.requests.count == 1)
    }

    @Test func aGrantIsForItsApplicationAndItsPorts() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let policy = EgressPolicy(grants: [
                try Self.grant("127.0.0.1", for: Self.mine, ports: [server.port...server.port]),
                try Self.grant("127.0.0.1", for: Self.theirs, ports: [1...1023]),
            ])
            try await withTransport(egress: policy) { transport in
                #expect(await transport.send(Self.request(server.url())).response?.status == 200)
                for other in [Self.theirs, nil] {
                    let result = await transport.send(Self.request(server.url(), for: other))
                    #expect(result.failure?.kind == .egressRefused, "\(result)")
                }
            }
            #expect(server.seen.requests.count == 1)
        }
    }

    /// libcurl would send the second request over the first one's connection without opening a socket.
    @Test func anotherApplicationCannotUseAGrantedConnection() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let policy = EgressPolicy(grants: [try Self.grant("127.0.0.0/8", for: Self.mine)])
            try await withTransport(slots: 1, egress: policy) { transport in
                #expect(await transport.send(Self.request(server.url())).response?.status == 200)
                let rider = await transport.send(Self.request(server.url(), for: Self.theirs))
                #expect(rider.failure?.kind == .egressRefused, "\(rider)")
                #expect(rider.failure?.message.contains("127.0.0.1 is a loopback address") == true)
                #expect(await transport.send(Self.request(server.url())).response?.status == 200)
            }
            #expect(server.seen.requests.count == 2)
            #expect(server.seen.connections == 2, "the rider had the first one in its hands, which then had to end")
        }
    }

    /// The connection leads where one application may go, and the name leads where another may go too.
    @Test(arguments: [1, 8])
    func aConnectionOfAnotherApplicationDoesNotStandInTheWay(slots: Int) async throws {
        let script: HostileServer.Script = { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        }
        let first = try HostileServer(at: .first, script)
        defer { first.stop() }
        let second = try HostileServer(at: .second, port: first.port, script)
        defer { second.stop() }
        let policy = EgressPolicy(grants: [
            try Self.grant("127.0.0.1", for: Self.mine), try Self.grant("127.0.0.2", for: Self.theirs),
        ])
        let configuration = CurlConfiguration(egress: policy, slots: slots)
        let transport = try CurlTransport(configuration: configuration) { _ in .addresses(["127.0.0.1", "127.0.0.2"]) }
        let url = "http://hooks.example:\(first.port)/"
        for _ in 0..<3 {
            for application in [Self.mine, Self.mine, Self.theirs] {
                let result = await transport.send(Self.request(url, for: application))
                #expect(result.response?.status == 200, "\(application): \(result)")
            }
        }
        await transport.shutdown(gracePeriodMilliseconds: 0)
        #expect(first.seen.requests.count == 6)
        #expect(first.seen.connections == 3, "the second of mine finds the first one's")
        #expect(second.seen.requests.count == 3)
    }

    /// A host may have several addresses; one that is refused does not stand in the way of another.
    @Test(.enabled(if: HostileServer.hasV6)) func theAllowedOneOfTwoAddressesIsUsed() async throws {
        try await HostileServer.with { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        } _: { server in
            let url = "http://localhost:\(server.port)/"
            let first = EgressPolicy(grants: [try Self.grant("127.0.0.1")])
            let taken = try await withTransport(egress: first) { await $0.send(Self.request(url)) }
            #expect(taken.response?.status == 200, "\(taken)")
            // No server listens at the allowed one: that is the receiver's failure, and may be over the next time.
            let second = EgressPolicy(grants: [try Self.grant("::1")])
            let failed = try await withTransport(egress: second) { await $0.send(Self.request(url)) }
            #expect(failed.failure?.kind == .connectFailed, "\(failed)")
            #expect(server.seen.connections == 1)
        }
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let target = try HostileServer(at: .second) { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        }
        defer { target.stop() }
        try await HostileServer.with { connection in
            while connection.readRequest() != nil {
                connection.respond("307 Temporary Redirect", headers: ["Location: http://127.0.0.2:\(target.port)/"])
            }
        } _: { server in
            let result = try await withTransport { await $0.send(Self.request(server.url())) }
            #expect(result.response?.status == 307)
            #expect(target.seen.connections == 0)
        }
    }

    /// A name that resolves to something else each time, by libcurl's own table of names.
    @Test func rebindingChangesNothing() async throws {
        let script: HostileServer.Script = { connection in
            guard connection.readRequest() != nil else { return }
            connection.respond("200 OK", headers: ["Connection: close"])
        }
        let first = try HostileServer(at: .first, script)
        defer { first.stop() }
        // At the same port, so that only the guard stands between it and the request.
        let second = try HostileServer(at: .second, port: first.port, script)
        defer { second.stop() }
        let policy = EgressPolicy(grants: [try Self.grant("127.0.0.1")])
        let slot = try EasySlot(number: 0, configuration: CurlConfiguration(egress: policy))
        let port = first.port
        let cases: [(addresses: String, isTaken: Bool)] = [
            ("127.0.0.1", true), ("127.0.0.2", false), ("127.0.0.2,127.0.0.1", true), ("127.0.0.2,127.0.0.3", false),
            ("[::ffff:127.0.0.1]", true), ("[::ffff:127.0.0.2]", false), ("127.0.0.1", true),
        ]
        for (addresses, isTaken) in cases {
            try slot.prepare(Self.request("http://hooks.example:\(port)/"))
            slot.handOver()
            let names = try #require(curl_slist_append(nil, "hooks.example:\(port):\(addresses)"))
            defer { curl_slist_free_all(names) }
            #expect(ccurl_setopt_list(slot.handle, CURLOPT_RESOLVE, names) == CURLE_OK)
            let result = slot.result(of: curl_easy_perform(slot.handle))
            _ = ccurl_setopt_list(slot.handle, CURLOPT_RESOLVE, nil)
            #expect((result.response?.status == 200) == isTaken, "\(addresses): \(result)")
            if !isTaken { #expect(result.failure?.kind == .egressRefused, "\(addresses): \(result)") }
        }
        #expect(first.seen.requests.count == 4)
        #expect(second.seen.connections == 0)
    }

    @Test func withoutARequestNothingMayBeOpened() throws {
        let slot = try EasySlot(number: 0, configuration: CurlConfiguration(egress: .unguarded))
        #expect(!slot.mayOpen(.v4(127, 0, 0, 1), port: 80))
        #expect(!slot.mayBegin(at: .v4(127, 0, 0, 1), port: 80, from: 1024))
        try slot.prepare(WebhookRequest(to: "http://127.0.0.1:1/"))
        #expect(slot.mayOpen(.v4(127, 0, 0, 1), port: 80))
        slot.clear()
        #expect(!slot.mayOpen(.v4(127, 0, 0, 1), port: 80))
    }
}
