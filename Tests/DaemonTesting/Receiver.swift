import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Plugins
import RouterPlugin
import RouterdApp
import Synchronization

/// A receiver of webhooks in this process: verifies and records them, and answers as configured.
final class Receiver: Sendable {
    /// A received webhook.
    struct Webhook: Sendable {
        let path: String
        let headers: [(name: String, value: String)]
        let body: [UInt8]
        /// Whether one of the receiver's keys has signed it.
        let isVerified: Bool
        /// Whether the receiver counted as down when the webhook arrived.
        var isRefused = false

        func header(_ name: String) -> String { headers.first { $0.name == name }?.value ?? "" }

        var id: String { header("webhook-id") }
        var json: JSONValue { (try? JSONValue(parsing: body, limits: .configuration)) ?? .null }
        var contentID: String? { json.at("data", "targetContentIdentifier").asString }

        /// The bytes of the payload, which is the last member of `data`, the last member of the body.
        var payload: [UInt8] {
            let mark = Array(#""payload":"#.utf8)
            guard let start = body.indices.first(where: { body[$0...].starts(with: mark) }) else { return [] }
            return Array(body[(start + mark.count)...].dropLast(2))
        }
    }

    private struct State {
        var webhooks: [Webhook] = []
        var answers: [String: [(status: Int, headers: HTTPFields)]] = [:]
        var bodies: [String: [String]] = [:]
        var replies: [String: String] = [:]
        var down: Set<String> = []
        var held: [String: Tally] = [:]
        var keys: [WebhookVerificationKey]
        var port = 0
        var server: Task<Void, any Error>?
    }

    /// The secret of tests that are not about secrets.
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private let state: Mutex<State>
    private let arrivals = Tally()
    private let clock = SteadyClock()

    init() throws {
        state = Mutex(State(keys: [try WebhookVerificationKey(Self.secret)]))
    }

    func url(_ path: String = "/hook") -> String { "http://127.0.0.1:\(state.withLock(\.port))\(path)" }

    // MARK: Configuring answers

    /// Answers the next webhooks at the path with these statuses, and later ones with 204.
    func answer(_ path: String = "/hook", with statuses: Int..., headers: HTTPFields = [:]) {
        state.withLock { $0.answers[path, default: []] += statuses.map { ($0, headers) } }
    }

    /// Answers the next webhooks at the path with 200 and these documents, one each.
    func answer(_ path: String = "/hook", withJSON documents: String...) {
        state.withLock { $0.bodies[path, default: []] += documents }
    }

    /// Answers every webhook of that type with 200 and this document.
    func answer(to type: String, withJSON document: String) {
        state.withLock { $0.replies[type] = document }
    }

    /// Answers all requests at the path with 503, until it is set up again.
    func setDown(_ isDown: Bool, _ path: String) {
        state.withLock { state in
            if isDown { state.down.insert(path) } else { state.down.remove(path) }
        }
    }

    /// Holds webhooks at the path unanswered until `release`.
    func hold(_ path: String = "/hook") {
        state.withLock { $0.held[path] = Tally() }
    }

    func release(_ path: String = "/hook") {
        state.withLock { $0.held.removeValue(forKey: path) }?.add()
    }

    /// Accepts signatures of this key too: a secret, or a public key.
    func trust(_ key: String) throws {
        let key = try WebhookVerificationKey(key)
        state.withLock { $0.keys.append(key) }
    }

    /// Accepts signatures of this key only.
    func trustOnly(_ key: String) throws {
        let key = try WebhookVerificationKey(key)
        state.withLock { $0.keys = [key] }
    }

    // MARK: Received webhooks

    var all: [Webhook] { state.withLock(\.webhooks) }

    /// The accepted webhooks, each once: without refused ones and repetitions.
    var distinct: [Webhook] {
        var known: Set<String> = []
        return all.filter { !$0.isRefused && known.insert($0.id).inserted }
    }

    func webhooks(at path: String = "/hook") -> [Webhook] { all.filter { $0.path == path } }

    /// Suspends until this many webhooks have arrived in all.
    func reached(_ count: Int) async throws { try await arrivals.reached(count) }

    /// Suspends until this many webhooks have arrived at the path.
    @discardableResult
    func webhooks(_ count: Int, at path: String = "/hook") async throws -> [Webhook] {
        while true {
            let seen = arrivals.count
            let found = webhooks(at: path)
            if found.count >= count { return found }
            try await arrivals.reached(seen + 1)
        }
    }

    // MARK: Serving

    /// Listens; after a stop, at the same port again.
    func start() async throws {
        let router = Hummingbird.Router()
        router.post("**") { request, _ in try await self.receive(request) }
        let listening = Tally()
        let application = Hummingbird.Application(
            router: router, server: .heldHTTP1,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: state.withLock(\.port))),
            onServerRunning: { channel in
                self.state.withLock { $0.port = channel.localAddress?.port ?? 0 }
                listening.add()
            },
            logger: .silent)
        state.withLock { $0.server = Task { try await application.runService(gracefulShutdownSignals: []) } }
        try await listening.reached(1)
    }

    /// Refuses connections from now on, and cuts the open ones.
    func stop() async {
        for path in state.withLock({ Array($0.held.keys) }) { release(path) }
        let server = state.withLock { state in
            defer { state.server = nil }
            return state.server
        }
        server?.cancel()
        _ = await server?.result
    }

    private func receive(_ request: Request) async throws -> Response {
        let buffer = try await request.body.collect(upTo: 16 * 1024 * 1024)
        var webhook = webhook(request.uri.path, request.headers, Array(buffer.readableBytesView))
        webhook.isRefused = state.withLock { $0.down.contains(webhook.path) }
        let come = webhook
        let held = state.withLock { state in
            state.webhooks.append(come)
            return state.held[come.path]
        }
        arrivals.add()
        try await held?.reached(1)
        guard !come.isRefused else { return Response(status: .serviceUnavailable) }
        let type = come.json.at("type").asString ?? ""
        let body: String? = state.withLock { state in
            if let reply = state.replies[type] { return reply }
            return state.bodies[come.path]?.isEmpty == false ? state.bodies[come.path]?.removeFirst() : nil
        }
        if let body {
            return Response(
                status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: body)))
        }
        let answer = state.withLock { state in
            state.answers[come.path]?.isEmpty == false ? state.answers[come.path]?.removeFirst() : nil
        }
        return Response(status: .init(code: answer?.status ?? 204), headers: answer?.headers ?? [:])
    }

    private func webhook(_ path: String, _ fields: HTTPFields, _ body: [UInt8]) -> Webhook {
        let headers = fields.map { (name: $0.name.canonicalName, value: $0.value) }
        let keys = state.withLock(\.keys)
        let verified = try? StandardWebhooksVerifier.verify(
            headers: headers, body: body, keys: keys, now: clock.wall)
        return Webhook(path: path, headers: headers, body: body, isVerified: verified != nil)
    }
}

/// Runs `body` with a listening receiver.
func withReceiver<Value>(_ body: (Receiver) async throws -> Value) async throws -> Value {
    let receiver = try Receiver()
    try await receiver.start()
    do {
        let value = try await body(receiver)
        await receiver.stop()
        return value
    } catch {
        await receiver.stop()
        throw error
    }
}

extension Logger {
    /// Tests look at answers, not at logs.
    static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
