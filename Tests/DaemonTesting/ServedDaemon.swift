import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore

/// The daemon as a separate process, called through its port.
struct ServedDaemon: APICaller {
    let program: Program
    let port: Int
    private let client: TestClient

    /// Starts the binary and waits until it listens.
    static func start(
        _ arguments: [String] = [], database: String, environment: [String: String] = [:], under wrapper: [String] = []
    ) async throws -> (program: Program, port: Int) {
        let program = try Program(
            ["serve", "--listen", "127.0.0.1:0", "--database", database] + arguments, environment: environment,
            under: wrapper)
        let address = try await program.line(beginning: "listening on http://127.0.0.1:")
        guard let port = Int(address) else { throw ProgramError(reason: "not a port: \(address)") }
        return (program, port)
    }

    var address: String { "http://127.0.0.1:\(port)" }

    func call(
        _ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?, headers: [String: String]
    ) async throws -> Answer {
        let request = TestClient.Request(
            path, method: method, authority: "127.0.0.1:\(port)", headers: HTTPFields(headers),
            body: bytes.map { ByteBuffer(bytes: $0) })
        let response = try await client.execute(request)
        return Answer(response.head, response.body)
    }

    /// Runs `body` with a connection of its own to a running daemon.
    static func connected<Value: Sendable>(
        to program: Program, port: Int, _ body: @escaping @Sendable (ServedDaemon) async throws -> Value
    ) async throws -> Value {
        let client = TestClient.patient(port: port)
        client.connect()
        do {
            let value = try await body(ServedDaemon(program: program, port: port, client: client))
            try? await client.shutdown()
            return value
        } catch {
            try? await client.shutdown()
            throw error
        }
    }
}

/// Runs `body` with a daemon in a separate process, which is told to end if it has not ended by then.
func withServedDaemon<Value: Sendable>(
    _ arguments: [String] = [], database: String? = nil, environment: [String: String] = [:],
    _ body: @escaping @Sendable (ServedDaemon) async throws -> Value
) async throws -> Value {
    let directory = try TemporaryDirectory()
    let (program, port) = try await ServedDaemon.start(
        arguments, database: database ?? directory.file(), environment: environment)
    do {
        let value = try await ServedDaemon.connected(to: program, port: port, body)
        program.send(SIGTERM)
        _ = try await program.ended()
        return value
    } catch {
        program.send(SIGKILL)
        throw error
    }
}

extension ServedDaemon {
    func until(_ holds: () async throws -> Bool) async throws { try await EventSignals.wait(on: port, until: holds) }

    /// Suspends until a notification meets the condition.
    func until(_ id: String, _ holds: (Answer) -> Bool) async throws {
        try await until { holds(try await notification(id)) }
    }
}
