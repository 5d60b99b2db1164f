import HTTPTypes
import HummingbirdTesting
import Logging
import NIOHTTP1
import Router
import RouterPlugin
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp
@testable import RouterdClient

/// The Swift client against a daemon in this process.
@Suite("Scene receiver", .longest)
struct SceneReceiverTests {
    private static let application = ApplicationID(unchecked: "com.example.gallery")
    private static let session = SessionID(unchecked: "agent 1")
    private static let gallery = #"{"delivery":{"retrySchedule":[0,0],"timeoutSeconds":300,"lifeCycleEvents":false}}"#

    /// Deliveries as they have arrived.
    private final class Seen: Sendable {
        let tally = Tally()
        private let deliveries = Mutex<[Delivery]>([])

        var all: [Delivery] { deliveries.withLock(\.self) }

        func add(_ delivery: Delivery) {
            deliveries.withLock { $0.append(delivery) }
            tally.add()
        }
    }

    private func withDaemonOnPort(
        _ options: TestDaemon.Options = TestDaemon.Options(isLive: true),
        _ body: @Sendable (TestDaemon, RouterdServer) async throws -> Void
    ) async throws {
        try await withDaemon(options) { daemon in
            try await daemon.putGallery(Self.gallery)
            let port = try #require(daemon.client.port)
            try await body(daemon, try RouterdServer("http://127.0.0.1:\(port)/"))
        }
    }

    private func receiver(on server: RouterdServer) -> SceneReceiver {
        var receiver = SceneReceiver(of: Self.session, in: Self.application, on: server)
        receiver.delays.first = .milliseconds(1)
        receiver.delays.longest = .milliseconds(20)
        return receiver
    }

    @Test func aDeliveryIsHandledAndItsAnswerChangesTheSession() async throws {
        try await withDaemonOnPort { daemon, server in
            let seen = Seen()
            let task = Task {
                try await connectScene(
                    Self.session, in: Self.application, on: server,
                    fields: ["activationConditions": ["preferring": ["doc/*"]]]
                ) { delivery in
                    seen.add(delivery)
                    return .answered(["session": ["userInfo": ["seen": 1]]])
                }
            }
            try await daemon.until { try await daemon.session("agent%201").status == 200 }
            let posted = try await server.post(
                ["notification-content-id": "doc/7"], to: Self.application, idempotencyKey: "one")
            let again = try await server.post(
                ["notification-content-id": "doc/7"], to: Self.application, idempotencyKey: "one")
            let id = try #require(posted["id"]?.asString)
            #expect(again["id"] == posted["id"])
            #expect(try await daemon.settled(id)["state"] == "delivered")
            let session = try await daemon.session("agent%201")
            #expect(session["userInfo"] == ["seen": 1] && session["endpoint"] == ["stream": true])
            let delivery = try #require(seen.all.first)
            #expect(seen.all.count == 1 && delivery.id == "dlv_\(id.dropFirst(4))" && delivery.attempt == 1)
            #expect(delivery.type == "scene.notification" && delivery.sequence == 1 && delivery.epoch > 0)
            #expect(delivery.payload == ["notification-content-id": "doc/7"])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    /// The session is there from another run: unattached, or connected until a moment ago.
    @Test(arguments: ["unattached", "foregroundActive"])
    func aSessionThatIsThereKeepsItsDataAndGetsItBack(state: String) async throws {
        try await withDaemonOnPort { daemon, server in
            try await daemon.putGallery(#"{"delivery":{"timeoutSeconds":300}}"#)
            let path = "\(TestDaemon.gallery)/sessions/agent%201"
            let kept = #""userInfo":{"map":"satellite"},"stateRestorationActivity":{"activityType":"edit"}"#
            try await daemon.call(
                .put, path, #"{"endpoint":{"stream":true},"device":"desk","activationState":"\#(state)",\#(kept)}"#)
            let seen = Seen()
            let task = Task {
                try await connectScene(
                    Self.session, in: Self.application, on: server,
                    fields: ["activationConditions": ["preferring": ["doc/*"]]]
                ) { delivery in
                    seen.add(delivery)
                    return .acknowledged
                }
            }
            try await daemon.until {
                let isActive = try await daemon.session("agent%201")["activationState"] == "foregroundActive"
                return isActive && seen.all.contains { $0.type == "scene.didBecomeActive" }
            }
            let first = try #require(seen.all.first)
            #expect(first.type == "scene.willConnect")
            #expect(first.envelope["data"]?["session"]?["userInfo"] == ["map": "satellite"])
            #expect(first.envelope["data"]?["userActivity"] == ["activityType": "edit"])
            let session = try await daemon.session("agent%201")
            #expect(session["userInfo"] == ["map": "satellite"] && session["device"] == "desk")
            let prefers = session["activationConditions", "prefersToActivateForTargetContentIdentifierPredicate"]
            #expect(prefers.asString?.contains("doc") == true)
            task.cancel()
            _ = await task.result
        }
    }

    @Test func payloadsOfTheGreatestSizeArrive() async throws {
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            try await receiver.register(["activationState": "foregroundActive"])
            let seen = Seen()
            let task = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    return .acknowledged
                }
            }
            for id in try await daemon.postLargest() {
                let attempts = try await daemon.settled(id)["attempts"].asArray ?? []
                #expect(attempts.map { $0["status"] } == [204])
            }
            let payload = try JSONValue(parsing: Array(LargestPayload.json.utf8))
            let data = seen.all.map { $0.envelope["data"] ?? .null }
            #expect(data.count == 2 && seen.all.first?.payload == payload)
            #expect(data.last?["payloadBase64"]?.asString.flatMap { Base64.decode($0[...]) } == LargestPayload.bytes)
            task.cancel()
            _ = await task.result
        }
    }

    @Test func refusalsAndErrorsOfTheHandlerAreRetried() async throws {
        struct Busy: Error {}
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            try await receiver.register(["activationState": "foregroundActive"])
            try await receiver.update(["userInfo": ["kind": "agent"]])
            #expect(try await daemon.session("agent%201")["userInfo"] == ["kind": "agent"])
            let id = try await daemon.post("{}").id
            let seen = Seen()
            let task = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    switch delivery.attempt {
                    case 1: return .refused(reason: "busy", retryAfterSeconds: 0)
                    case 2: throw Busy()
                    // An answer that the daemon cannot use does not undo the acknowledgement.
                    default: return .answered(["session": .string(String(repeating: "x", count: 200_000))])
                    }
                }
            }
            let settled = try await daemon.settled(id)
            #expect(settled["state"] == "delivered" && seen.all.map(\.attempt) == [1, 2, 3])
            let reasons = settled["attempts"].asArray?.compactMap { $0["responseExcerpt"]?.asString }
            #expect(reasons?.first == "busy", "\(settled["attempts"])")
            task.cancel()
            _ = await task.result
        }
    }

    /// The session is away when the receiver connects, as it is after an outage longer than `presenceSeconds`.
    @Test func aStateOfTheForegroundIsToldAgainWithEachConnection() async throws {
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            func state() async throws -> JSONValue { try await daemon.session("agent%201")["activationState"] }
            func goAway() async throws {
                for state in ["background", "unattached"] {
                    try await daemon.call(
                        .patch, "\(TestDaemon.gallery)/sessions/agent%201", #"{"activationState":"\#(state)"}"#)
                }
                #expect(try await state() == "unattached")
            }
            func run() -> Task<Void, any Error> { Task { try await receiver.run { _ in .acknowledged } } }
            for told in ["foregroundActive", "foregroundInactive"] {
                try await receiver.register(["activationState": .string(told)])
                try await goAway()
                let task = run()
                try await daemon.until { try await state() == .string(told) }
                task.cancel()
                _ = await task.result
            }
            try await receiver.update(["activationState": "background"])
            try await goAway()
            let task = run()
            try await daemon.until { try await state() == "background" }
            _ = try await daemon.settled(try await daemon.post("{}").id)
            #expect(try await state() == "background")
            task.cancel()
            _ = await task.result
        }
    }

    @Test func timesOutOfRangeAndLongReasonsAreBounded() async throws {
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            try await receiver.register(["activationState": "foregroundActive"])
            let id = try await daemon.post("{}").id
            let seen = Seen()
            let task = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    if delivery.attempt == 2 { return .acknowledged }
                    return .refused(reason: String(repeating: "é", count: 100_000), retryAfterSeconds: -1)
                }
            }
            let settled = try await daemon.settled(id)
            #expect(settled["state"] == "delivered", "\(settled.text)")
            // A busy machine may lose the connection, and the next one brings an attempt again.
            #expect(Set(seen.all.map(\.attempt)) == [1, 2], "\(seen.all.map(\.attempt))")
            task.cancel()
            _ = await task.result
        }
    }

    @Test func anotherReceiverTakesOver() async throws {
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            try await receiver.register()
            try await daemon.post("{}")
            let seen = Seen()
            let first = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    return .acknowledged
                }
            }
            try await seen.tally.reached(1)
            let second = Task { try await receiver.run { _ in .acknowledged } }
            await #expect(throws: RouterdClientError.superseded) { try await first.value }
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/agent%201")
            await #expect(throws: RouterdClientError.ended) { try await second.value }
        }
    }

    @Test func aReceiverThatIsCancelledWhileItHandlesLeavesTheDeliveryToTheNext() async throws {
        try await withDaemonOnPort { daemon, server in
            let receiver = receiver(on: server)
            try await receiver.register(["activationState": "foregroundActive"])
            let id = try await daemon.post("{}").id
            let seen = Seen()
            let first = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    try await Task.sleep(for: .seconds(600))
                    return .acknowledged
                }
            }
            try await seen.tally.reached(1)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let second = Task {
                try await receiver.run { delivery in
                    seen.add(delivery)
                    return .acknowledged
                }
            }
            #expect(try await daemon.settled(id)["state"] == "delivered")
            #expect(seen.all.map(\.attempt) == [1, 2] && Set(seen.all.map(\.id)).count == 1)
            second.cancel()
            _ = await second.result
        }
    }

    @Test func aRefusalThatAnotherAttemptWouldNotChangeIsThrown() async throws {
        var options = TestDaemon.Options(isLive: true)
        options.keys = [APIKey(name: "all", key: "rk_all", scopes: [.admin], application: nil)]
        try await withDaemon(options) { daemon in
            let url = "http://localhost:\(try #require(daemon.client.port))"
            func refusal(_ body: () async throws -> Void) async -> RouterdClientError? {
                do { try await body() } catch { return error as? RouterdClientError }
                return nil
            }
            let keyless = receiver(on: try RouterdServer(url))
            let missing = await refusal { try await keyless.run { _ in .acknowledged } }
            #expect(missing?.status == 401 && missing?.code == "key-missing" && missing?.isTemporary == false)
            let known = receiver(on: try RouterdServer(url) { "rk_all" })
            let unknown = await refusal { try await known.register() }
            #expect(unknown?.code == "unknown-application")
            #expect("\(try #require(unknown))".hasPrefix("404 unknown-application: "))
        }
    }

    /// The daemon ends, and the next one serves the same port and database.
    @Test func aReceiverConnectsAgainAfterARestart() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file()
        let seen = Seen()
        let losses = Tally()
        let (port, task) = try await served(database, port: 0) { port in
            let server = try RouterdServer("http://127.0.0.1:\(port)")
            try await server.call(.PUT, TestDaemon.gallery, try JSONValue(parsing: Array(Self.gallery.utf8)))
            let receiver = receiver(on: server)
            try await receiver.register(["activationState": "foregroundActive"])
            try await server.post(["n": 1], to: Self.application)
            let task = Task {
                try await receiver.run(onLoss: { _, _ in losses.add() }) { delivery in
                    seen.add(delivery)
                    return .acknowledged
                }
            }
            try await seen.tally.reached(1)
            return task
        }
        try await losses.reached(1)
        _ = try await served(database, port: port) { port in
            try await RouterdServer("http://127.0.0.1:\(port)").post(["n": 2], to: Self.application)
            // The first one comes again if its acknowledgement was lost.
            while true {
                let count = seen.tally.count
                if seen.all.last?.payload?["n"] == 2 { break }
                try await seen.tally.reached(count + 1)
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    private struct DaemonService: Service {
        let daemon: Daemon
        let ports: AsyncStream<Int>.Continuation

        func run() async throws { try await daemon.run(stoppingOn: []) { ports.yield($0.port) } }
    }

    /// Runs `body` with a daemon that has a port, and stops the daemon; returns the port too.
    private func served<Value: Sendable>(
        _ database: String, port: Int, _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> (port: Int, value: Value) {
        var configuration = DaemonConfiguration()
        configuration.database = database
        configuration.listen = ListenAddress(host: "127.0.0.1", port: port)
        let (ports, found) = AsyncStream.makeStream(of: Int.self)
        let service = DaemonService(daemon: try Daemon(configuration, logger: .silent), ports: found)
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [service], logger: .silent))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try #require(await ports.first { _ in true })
            let value = try await body(port)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return (port, value)
        }
    }

    // MARK: Values

    @Test func delaysAreRandomPartsOfADoublingBound() {
        var generator = SplitMix64(seed: 7)
        let delays = ReconnectDelays()
        let bounds: [(Int, Duration)] = [
            (1, .milliseconds(500)), (2, .seconds(1)), (4, .seconds(4)), (6, .seconds(15)), (1000, .seconds(15)),
        ]
        for (failures, bound) in bounds {
            let found = (0..<200).map { _ in delays.delay(after: failures, using: &generator) }
            #expect(found.allSatisfy { $0 >= .zero && $0 < bound }, "\(failures)")
            #expect(found.contains { $0 > bound * 0.8 } && found.contains { $0 < bound * 0.2 }, "\(failures)")
        }
    }

    @Test(arguments: [
        ("http://localhost", "localhost", 80, "", false), ("https://r.example/", "r.example", 443, "", true),
        ("http://127.0.0.1:8080/a/b/", "127.0.0.1", 8080, "/a/b", false), ("http://[::1]:80", "::1", 80, "", false),
    ])
    func urlsOfDaemonsAreRead(url: String, host: String, port: Int, path: String, isSecure: Bool) throws {
        let server = try RouterdServer(url)
        #expect(server.host == host && server.port == port && server.path == path)
        #expect((server.tls != nil) == isSecure)
    }

    @Test(arguments: ["", "localhost:8080", "ftp://localhost", "http://", "http://localhost?a=1"])
    func otherURLsAreRefused(url: String) {
        let error = #expect(throws: RouterdClientError.self) { try RouterdServer(url) }
        #expect(error?.code == "invalid-url" && error?.isTemporary == false)
    }

    @Test func segmentsOfPathsAreEncoded() {
        #expect(segment("a/b c~é-._9") == "a%2Fb%20c~%C3%A9-._9")
        #expect(segment("\n") == "%0A")
    }

    @Test(arguments: [(500, true), (503, true), (429, true), (408, true), (404, false), (401, false)])
    func someRefusalsAreTemporary(status: Int, isTemporary: Bool) {
        let problem = RouterdClientError(status: status, problem: Array("no JSON".utf8))
        #expect(problem.isTemporary == isTemporary && problem.code == "refused")
    }
}
