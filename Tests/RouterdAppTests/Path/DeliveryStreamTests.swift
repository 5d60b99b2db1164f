import Glibc
import HTTPTypes
import HummingbirdTesting
import NIOCore
import NIOPosix
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Receivers that connect out, over sockets.
@Suite("Delivery streams", .longest)
struct DeliveryStreamTests {
    private static let path = "\(TestDaemon.gallery)/sessions/A/deliveries"

    private func withStream(
        _ delivery: String = #""retrySchedule":[0],"timeoutSeconds":300,"lifeCycleEvents":false"#,
        _ body: @Sendable (TestDaemon, Int) async throws -> Void
    ) async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            try await daemon.putGallery(#"{"delivery":{\#(delivery)}}"#)
            let put = try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/A",
                #"{"endpoint":{"stream":true},"activationState":"foregroundActive"}"#)
            #expect(put.status == 201 && put["endpoint"] == ["stream": true])
            try await body(daemon, try #require(daemon.client.port))
        }
    }

    @Test func aDeliveryIsBroughtAndAcknowledged() async throws {
        try await withStream { daemon, port in
            let events = try await StreamConnection.follow(port, Self.path) { stream in
                #expect(stream.head.headers["content-type"] == "text/event-stream")
                return try stream.events(1)
            } while: {
                try await daemon.post(#"{"notification-content-id":"doc/1"}"#)
            }
            let event = try #require(events.first)
            #expect(event.type == "delivery" && event.data["attempt"] == 1)
            #expect(event.data["envelope"]?["type"] == "scene.notification")
            #expect(event.data["envelope"]?["data"]?["payload"]?["notification-content-id"] == "doc/1")
        }
    }

    @Test func acknowledgementsAreKeptAndRepeated() async throws {
        try await withStream { daemon, port in
            let id = try await daemon.post("{}").id
            let polled = try await daemon.call(.get, "\(Self.path)?waitSeconds=30")
            #expect(polled.status == 200)
            let delivery = try #require(polled["deliveries"].asArray?.first?["id"]?.asString)
            #expect(delivery == "dlv_" + id.dropFirst(4))
            let ack = "\(Self.path)/\(delivery)/ack"
            let answer = #"{"session":{"activationState":"background"}}"#
            #expect(try await daemon.call(.post, ack, answer).status == 204)
            #expect(try await daemon.notification(id)["state"] == "delivered")
            #expect(try await daemon.session("A")["activationState"] == "background")
            #expect(try await daemon.call(.post, ack).status == 204, "again")
            let many = #"{"ids":["\#(delivery)"]}"#
            #expect(try await daemon.call(.post, "\(Self.path):ack", many).status == 204)
            let unknown = try await daemon.call(.post, "\(Self.path)/dlv_01J/ack")
            #expect(unknown.status == 404 && unknown["code"] == "unknown-delivery")
            #expect(try await daemon.call(.get, "\(Self.path)?waitSeconds=0").status == 204)
        }
    }

    @Test func aRefusalIsRetried() async throws {
        try await withStream { daemon, port in
            _ = try await daemon.post("{}")
            let first = try await daemon.call(.get, "\(Self.path)?waitSeconds=30")
            let delivery = try #require(first["deliveries"].asArray?.first?["id"]?.asString)
            func refuse(_ seconds: Int) async throws {
                let body = #"{"reason":"busy","retryAfterSeconds":\#(seconds)}"#
                #expect(try await daemon.call(.post, "\(Self.path)/\(delivery)/nack", body).status == 204)
            }
            let begin = ContinuousClock.now
            try await refuse(1)
            let second = try await daemon.call(.get, "\(Self.path)?waitSeconds=30")
            #expect(second["deliveries"].asArray?.first?["id"]?.asString == delivery)
            #expect(second["deliveries"].asArray?.first?["attempt"] == 2)
            #expect(ContinuousClock.now - begin >= .seconds(1))
            try await refuse(60)
            // A connection asks for it before the minute is over, but the receiver's pause stands.
            #expect(try await daemon.call(.get, "\(Self.path)?waitSeconds=0").status == 204)
        }
    }

    /// A receiver that was killed and started again must not wait for the end of its old poll.
    @Test func aPollWhoseClientHasGoneTakesNothing() async throws {
        try await withStream { daemon, port in
            try await RawConnection.to(port) { connection in
                connection.send("GET \(Self.path)?waitSeconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                while daemon.host.streams.count == 0 { sched_yield() }
                connection.closeOurSide()
                #expect((try? connection.bytesToTheEnd())?.isEmpty == true)
            }
            while daemon.host.streams.count > 0 { await Task.yield() }
            _ = try await daemon.post("{}")
            let lanes = try await daemon.call(.get, "/v1/lanes")
            let lane = try #require(lanes["lanes"].asArray?.first)
            #expect(lane["inFlight"] == 0 && lane["waitsFor"] == "consumer")
            let polled = try await daemon.call(.get, "\(Self.path)?waitSeconds=30")
            let delivery = try #require(polled["deliveries"].asArray?.first)
            #expect(delivery["attempt"] == 1)
            let id = try #require(delivery["id"]?.asString)
            #expect(try await daemon.call(.post, "\(Self.path)/\(id)/ack").status == 204)
        }
    }

    @Test func acknowledgementsNameWhatIsUnknown() async throws {
        try await withStream { daemon, _ in
            let path = "/v1/applications/com.example.Nowhere/sessions/A/deliveries/dlv_01KAXY00000000000000000000"
            for word in ["ack", "nack"] {
                let answer = try await daemon.call(.post, "\(path)/\(word)")
                #expect(answer.status == 404 && answer["code"] == "unknown-application")
            }
        }
    }

    /// The kernel's buffer takes heartbeats of a client whose machine is gone.
    @Test func theKernelEndsConnectionsToMachinesThatAreGone() async throws {
        try await withStream { _, port in
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: port).get()
            StreamSettings().limitSilence(of: channel)
            let option = NIOBSDSocket.Option(rawValue: CInt(TCP_USER_TIMEOUT))
            #expect(try await channel.getOption(.tcpOption(option)).get() == 60_000)
            try await channel.close()
        }
    }

    @Test func aSecondConnectionTakesOver() async throws {
        try await withStream { daemon, port in
            let events = try await StreamConnection.follow(port, Self.path) { stream in
                let superseded = try stream.events(1)
                #expect(try stream.next() == nil, "the stream has ended")
                return superseded
            } while: {
                try await StreamConnection.open(port, Self.path) { _ = try $0.next() }
            }
            #expect(events.map(\.type) == ["superseded"])
        }
    }

    @Test func anUnacknowledgedDeliveryComesAgain() async throws {
        try await withStream { daemon, port in
            _ = try await daemon.post("{}")
            let first = try await StreamConnection.open(port, Self.path) { try $0.events(1) }
            let second = try await StreamConnection.open(port, Self.path) { try $0.events(1) }
            #expect(first[0].id == second[0].id)
            #expect(first[0].data["attempt"] == 1 && second[0].data["attempt"] == 2)
        }
    }

    @Test(arguments: [false, true])
    func whatWaitsForAnAbsentReceiverGoesToAnotherOne(isSocket: Bool) async throws {
        var options = TestDaemon.Options(isLive: true)
        options.caps.presenceSeconds = 0
        try await withDaemon(options) { daemon in
            try await daemon.putGallery(#"{"delivery":{"timeoutSeconds":300,"lifeCycleEvents":false}}"#)
            let prefers = #""activationConditions":{"preferring":["doc/1"]}"#
            for (name, fields) in [("A", prefers), ("B", #""whileAway":"wait""#)] {
                let body = #"{"endpoint":{"stream":true},\#(fields)}"#
                #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/\(name)", body).status == 201)
            }
            let away = try await daemon.session("A")
            #expect(away["reachable"] == false && away["unreachableBecause"] == "not-connected")
            #expect(away["whileAway"] == .null)
            let kept = try await daemon.session("B")
            #expect(kept["whileAway"] == "wait")
            let id = try await daemon.post(#"{"notification-content-id":"doc/1"}"#).id
            let port = try #require(daemon.client.port)
            let other = "\(TestDaemon.gallery)/sessions/B/deliveries"
            let event = try await StreamConnection.open(port, other) { try $0.events(1) }
            #expect(event[0].id == "dlv_" + id.dropFirst(4))
            let decision = try await daemon.notification(id)["decision"]
            #expect(decision["session"] == "B" && decision["rerouteOf"] == "A")
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain", #"{"notification-content-id":"doc/1"}"#)
            #expect(explained["candidates"].asArray?.first?["reachable"] == false)
            let moved: JSONValue = ["ids": [.string(event[0].id)]]
            if isSocket {
                let message = try await WebSocketConnection.open(port, Self.path) { try $0.message().json }
                #expect(message == ["type": "moved", "ids": [.string(event[0].id)]])
            } else {
                let told = try await StreamConnection.open(port, Self.path) { try $0.events(1) }
                #expect(told[0].type == "moved" && told[0].data == moved)
            }
            let refused = try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/A", #"{"whileAway":"never"}"#)
            #expect(refused.status == 422 && refused["code"] == "invalid-field")
        }
    }

    @Test func aDiscardedSessionEndsItsStream() async throws {
        try await withStream { daemon, port in
            let events = try await StreamConnection.follow(port, Self.path) { stream in
                let ended = try stream.events(1)
                #expect(try stream.next() == nil, "the stream has ended")
                return ended
            } while: {
                let discarded = try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/A")
                #expect(discarded.status < 300)
            }
            #expect(events.map(\.type) == ["ended"])
        }
    }

    @Test func aPollOfNoTimeTakesWhatWaits() async throws {
        let delivery = #""retrySchedule":[0],"timeoutSeconds":300,"lifeCycleEvents":false,"maxInFlightPerSession":3"#
        try await withStream(delivery) { daemon, port in
            var ids: [String] = []
            for _ in 0..<3 {
                let id = try await daemon.post("{}").id
                ids.append("dlv_\(id.dropFirst(4))")
            }
            let polled = try await daemon.call(.get, "\(Self.path)?waitSeconds=0")
            #expect(polled["deliveries"].asArray?.compactMap { $0["id"]?.asString } == ids)
            let unknown = "dlv_01KAXY00000000000000000000"
            let body = #"{"ids":["\#(ids[2])","\#(unknown)","\#(ids[0])","\#(ids[1])","\#(ids[1])"]}"#
            let answer = try await daemon.call(.post, "\(Self.path):ack", body)
            #expect(answer.status == 404 && answer["detail"].asString?.contains(unknown) == true)
            for id in ids {
                #expect(try await daemon.notification("ntf_\(id.dropFirst(4))")["state"] == "delivered")
            }
        }
    }

    @Test func onlyStreamsAreStreamed() async throws {
        try await withStream { daemon, port in
            try await daemon.putSession("B", at: "http://127.0.0.1:9/")
            let refused = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions/B/deliveries?waitSeconds=0")
            #expect(refused.status == 409 && refused["code"] == "not-a-stream")
            let missing = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions/C/deliveries?waitSeconds=0")
            #expect(missing.status == 404)
            let delegate = try await daemon.putGallery(#"{"delegate":{"stream":true}}"#)
            #expect(delegate.status == 422)
        }
    }

    @Test(arguments: ["https://app.example", "https://app.example.evil", "null"])
    func onlyNamedOriginsMayRead(origin: String) async throws {
        var options = TestDaemon.Options()
        options.edge.allowedOrigins = ["https://app.example"]
        options.keys = [APIKey(name: "pages", key: "rk_pages", scopes: [.sessions], application: nil)]
        try await withDaemon(options) { daemon in
            let asked = try await daemon.call(
                .options, Self.path, headers: ["origin": origin, "access-control-request-method": "GET"])
            let answered = try await daemon.call(.get, Self.path, headers: ["origin": origin])
            let isNamed = origin == "https://app.example"
            #expect((asked.status == 204) == isNamed)
            #expect(answered.status == 401)
            #expect(answered.headers[.accessControlAllowOrigin] == (isNamed ? origin : nil))
            #expect(answered.headers[.vary] == "Origin")
        }
    }
}
