import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RouterPlugin
import RouterdApp
import Synchronization

/// A collector of spans in this process, which records each request.
final class Collector: Sendable {
    /// A span as it came.
    struct Span: Sendable {
        let json: JSONValue

        var name: String { json["name"]?.asString ?? "" }
        var id: String { json["spanId"]?.asString ?? "" }
        var trace: String { json["traceId"]?.asString ?? "" }
        var parent: String? { json["parentSpanId"]?.asString }

        /// The value of an attribute, as text.
        func attribute(_ key: String) -> String? {
            let found = json["attributes"]?.asArray?.first { $0["key"]?.asString == key }?["value"]
            return found?["stringValue"]?.asString ?? found?["intValue"]?.asString
        }
    }

    private struct State {
        var bodies: [[UInt8]] = []
        var headers: [HTTPFields] = []
        var statuses: [Int] = []
    }

    private let state = Mutex(State())
    private let arrivals = Tally()

    /// Answers the next requests with these statuses, and later ones with 200.
    func answer(with statuses: Int...) { state.withLock { $0.statuses += statuses } }

    var bodies: [[UInt8]] { state.withLock(\.bodies) }
    var headers: [HTTPFields] { state.withLock(\.headers) }

    /// The spans of every request, repetitions included.
    var spans: [Span] {
        bodies.flatMap { body -> [Span] in
            let resources = (try? JSONValue(parsing: body))?["resourceSpans"]?.asArray ?? []
            let scopes = resources.flatMap { $0["scopeSpans"]?.asArray ?? [] }
            return scopes.flatMap { $0["spans"]?.asArray ?? [] }.map { Span(json: $0) }
        }
    }

    /// Suspends until the spans meet the condition.
    func until(_ holds: ([Span]) -> Bool) async throws -> [Span] {
        while true {
            let seen = arrivals.count
            let spans = spans
            if holds(spans) { return spans }
            try await arrivals.reached(seen + 1)
        }
    }

    /// Suspends until that many requests have come.
    func reached(_ count: Int) async throws { try await arrivals.reached(count) }

    private func take(_ request: Request) async throws -> Response {
        let buffer = try await request.body.collect(upTo: 16 * 1024 * 1024)
        let status = state.withLock { state in
            state.bodies.append(Array(buffer.readableBytesView))
            state.headers.append(request.headers)
            return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
        }
        arrivals.add()
        return Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "{}")))
    }

    /// Runs `body` with a listening collector and the URL to post to.
    static func run<Value>(_ body: (Collector, String) async throws -> Value) async throws -> Value {
        let collector = Collector()
        let router = Hummingbird.Router()
        router.post("/v1/traces") { request, _ in try await collector.take(request) }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Hummingbird.Application(
            router: router, server: .heldHTTP1,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: .silent)
        let server = Task { try await application.runService(gracefulShutdownSignals: []) }
        defer { server.cancel() }
        let found = await ports.first { _ in true } ?? 0
        let value = try await body(collector, "http://127.0.0.1:\(found)/v1/traces")
        server.cancel()
        _ = await server.result
        return value
    }
}
