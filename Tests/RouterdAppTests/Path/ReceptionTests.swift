import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Requests while the engine recovers") struct ReceptionTests {
    @Test("Health checks are answered, other requests learn how far the recovery is, and the API opens at its end")
    func recovering() async throws {
        let reception = Reception()
        let responder = CallbackResponder<RouterdContext> { try await reception.respond(to: $0, $1) }
        let application = Hummingbird.Application(responder: responder, logger: .silent)
        try await withGallery { daemon, _ in
            try await application.test(.router) { client in
                func answer(_ path: String, _ method: HTTPRequest.Method = .get) async throws -> (Int, String, String?)
                {
                    let answer = try await client.executeRequest(
                        uri: path, method: method, headers: [:], body: nil)
                    return (answer.status.code, String(buffer: answer.body), answer.headers[.retryAfter])
                }
                #expect(try await answer("/healthz").0 == 200)
                let begun = try await answer("/readyz")
                #expect(begun.0 == 503 && begun.1.contains("recovering") && begun.2 == "1")
                reception.show(RecoveryProgress(done: 1250, total: 10_000))
                let others = [("/readyz", HTTPRequest.Method.get), ("/v1/status", .get), ("/v1/apply", .post)]
                for (path, method) in others {
                    let refused = try await answer(path, method)
                    #expect(refused.0 == 503 && refused.1.contains("12 %"), "\(path)")
                }
                #expect(try await answer("/healthz").0 == 200)
                reception.open(
                    API(
                        host: daemon.host, store: daemon.store, plugins: try PluginRegistry(sourceKinds: [], rules: []),
                        authenticator: Authenticator(keys: []),
                        egress: EgressPolicy(),
                        hasher: PasscodeHasher(cost: PasscodeHash.Cost(logRounds: 4, blockSize: 1, parallelism: 1)),
                        logger: .silent))
                #expect(try await answer("/readyz").0 == 200)
                #expect(try await answer(TestDaemon.gallery).0 == 200)
                // A line of progress that comes late changes nothing.
                reception.show(RecoveryProgress(done: 10_000, total: 10_000))
                #expect(try await answer("/readyz").0 == 200)
            }
        }
    }

    @Test("A value that arrives later reaches every task that waits for it")
    func recovered() async {
        let recovered = Recovered<Int>()
        #expect(recovered.value == nil)
        async let first = recovered.wait()
        async let second = recovered.wait()
        recovered.set(7)
        #expect(await [first, second, recovered.wait()] == [7, 7, 7])
        #expect(recovered.value == 7)
        let never = Recovered<Int>()
        let waiting = Task { await never.wait() }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test("The part of a recovery that is done is a number from 0 to 100")
    func percent() {
        #expect(RecoveryProgress(done: 0, total: 0).percent == 100)
        #expect(RecoveryProgress(done: 0, total: 3).percent == 0)
        #expect(RecoveryProgress(done: 2, total: 3).percent == 66)
        // Rows may be added after they were counted.
        #expect(RecoveryProgress(done: 4, total: 3).percent == 100)
    }
}
