import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Logging
import NIOCore
import RouterdApp
import ServiceLifecycle
import TestSupport

/// A client of an application in this process. It waits for an answer as long as the test may take, however busy the machine is.
struct PatientClient: Sendable {
    struct Response: Sendable {
        let head: HTTPResponse
        let body: ByteBuffer

        var status: HTTPResponse.Status { head.status }
        var headers: HTTPFields { head.headerFields }
    }

    private enum Way {
        case router(any TestClientProtocol)
        case socket(TestClient)
    }

    private let way: Way
    /// Nil for a client that calls the router.
    let port: Int?

    /// A client that calls the router.
    init(_ client: any TestClientProtocol) { (way, port) = (.router(client), nil) }

    private init(_ client: TestClient, port: Int) { (way, self.port) = (.socket(client), port) }

    func execute(
        uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: ByteBuffer? = nil
    ) async throws -> Response {
        switch way {
        case .router(let client):
            let response = try await client.execute(uri: uri, method: method, headers: headers, body: body)
            return Response(head: response.head, body: response.body)
        case .socket(let client):
            var headers = headers
            headers[.connection] = "keep-alive"
            let response = try await client.execute(
                TestClient.Request(uri, method: method, authority: "localhost", headers: headers, body: body))
            return Response(head: response.head, body: response.body ?? ByteBuffer())
        }
    }

    /// Serves on an unused port of loopback while `body` runs.
    static func serve<Value>(
        _ router: Hummingbird.Router<RouterdContext>, _ server: HTTPServerBuilder, logger: Logger,
        _ body: @Sendable (PatientClient) async throws -> Value
    ) async throws -> Value {
        let (ports, listening) = AsyncStream<Int>.makeStream()
        let application = Hummingbird.Application(
            router: router, server: server,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                if let port = channel.localAddress?.port { listening.yield(port) }
            }, logger: logger)
        let services = ServiceGroup(configuration: .init(services: [application], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listening.finish() }
                try await services.run()
            }
            guard let port = await ports.first(where: { _ in true }) else {
                throw ProgramError(reason: "the application does not listen")
            }
            let client = TestClient.patient(port: port)
            client.connect()
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(PatientClient(client, port: port)))
            } catch {
                result = .failure(error)
            }
            // The daemon may have closed the connection before.
            try? await client.shutdown()
            await services.triggerGracefulShutdown()
            return try result.get()
        }
    }
}

extension TestClient {
    /// A client for a loopback port, with the longest time of a test as its limit.
    static func patient(port: Int) -> TestClient {
        TestClient(host: "127.0.0.1", port: port, configuration: .init(timeout: .seconds(60 * longestMinutes)))
    }
}
