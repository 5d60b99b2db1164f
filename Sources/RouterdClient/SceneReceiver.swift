import NIOCore
import NIOHTTP1
public import RouterPlugin
import Synchronization

/// A scene session that this program receives for: it connects out, and needs no URL.
///
///     let server = try RouterdServer("http://127.0.0.1:8080")
///     let scene = SceneReceiver(
///         of: try SessionID("agent-1"), in: try ApplicationID("com.example.Gallery"), on: server)
///     try await scene.register(["activationState": "foregroundActive"])
///     try await scene.run { delivery in
///         show(delivery.payload)
///         return .acknowledged
///     }
///
/// ``run(onLoss:_:)`` goes on until its task is cancelled, another receiver takes over, or the session ends. A delivery may come
/// again under the same id: after a lost connection, and if its acknowledgement was lost.
public struct SceneReceiver: Sendable {
    /// How long to wait before each new connection.
    public var delays = ReconnectDelays()

    private let server: RouterdServer
    private let path: String

    /// The receiver of a session, which need not be registered yet.
    public init(of session: SessionID, in application: ApplicationID, on server: RouterdServer) {
        self.server = server
        path = "/v1/applications/\(segment(application.text))/sessions/\(segment(session.text))"
    }

    /// Registers the session as one that connects out.
    ///
    /// - Parameter fields: Other fields of the session, such as `activationState` and `activationConditions`.
    public func register(_ fields: [String: JSONValue] = [:]) async throws {
        var body = JSONObject()
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) { body[key] = value }
        body["endpoint"] = ["stream": true]
        try await server.call(.PUT, path, .object(body))
    }

    /// Changes fields of the session, as a merge patch.
    public func update(_ fields: JSONValue) async throws {
        try await server.call(.PATCH, path, headers: [("content-type", "application/merge-patch+json")], fields)
    }

    /// Handles the deliveries of the session, one after another, and connects again whenever the connection is lost.
    ///
    /// An error of the handler refuses the delivery. When the task is cancelled the connection is closed, and a delivery whose
    /// handler was cancelled comes again.
    ///
    /// - Parameters:
    ///   - onLoss: Called for each lost connection and each refusal that may be temporary, with the time until the next one.
    ///   - handle: Shows a delivery or acts on it, and answers.
    /// - Throws: ``RouterdClientError/superseded``, ``RouterdClientError/ended``, a refusal that another attempt would not
    ///   change, or `CancellationError`.
    public func run(
        onLoss: (any Error, Duration) -> Void = { _, _ in },
        _ handle: @Sendable (Delivery) async throws -> DeliveryAnswer
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        // Connections in a row that have brought no delivery.
        let failures = Atomic(0)
        while true {
            let loss: any Error
            do {
                try await follow { delivery in
                    failures.store(0, ordering: .relaxed)
                    try await settle(delivery, by: handle)
                }
                loss = RouterdClientError.connectionLost
            } catch let error as RouterdClientError where !error.isTemporary {
                throw error
            } catch {
                loss = error
            }
            try Task.checkCancellation()
            let count = failures.add(1, ordering: .relaxed).newValue
            let delay = delays.delay(after: count, using: &generator)
            onLoss(loss, delay)
            try await Task.sleep(for: delay)
        }
    }

    /// The deliveries of one connection; returns when the daemon has ended it.
    private func follow(_ take: @Sendable (Delivery) async throws -> Void) async throws {
        try await server.withAnswer(
            .GET, "\(path)/deliveries", headers: [("accept", "text/event-stream")]
        ) { parts in
            var reader = EventStreamReader()
            while case .body(let buffer)? = try await parts.next() {
                for event in reader.take(Array(buffer.readableBytesView)) {
                    switch event.type {
                    case "superseded": throw RouterdClientError.superseded
                    case "ended": throw RouterdClientError.ended
                    case "delivery":
                        let message = try JSONValue(parsing: event.data, limits: .streamed)
                        if let delivery = Delivery(message) { try await take(delivery) }
                    default: continue
                    }
                }
            }
        }
    }

    private func settle(
        _ delivery: Delivery, by handle: @Sendable (Delivery) async throws -> DeliveryAnswer
    ) async throws {
        let answer: DeliveryAnswer
        do {
            answer = try await handle(delivery)
        } catch {
            // The end of the connection says that a cancelled handler has not finished.
            try Task.checkCancellation()
            answer = .refused(reason: String("\(error)".prefix(ClientLimits.reason)))
        }
        let path = "\(path)/deliveries/\(segment(delivery.id))"
        do {
            switch answer {
            case .acknowledged: try await server.call(.POST, "\(path)/ack")
            case .answered(let body):
                do {
                    try await server.call(.POST, "\(path)/ack", body)
                } catch let error as RouterdClientError where [400, 413, 422].contains(error.status) {
                    // The delivery has been handled, though the answer cannot be used.
                    try await server.call(.POST, "\(path)/ack")
                }
            case .refused(let reason, let seconds):
                var body = JSONObject()
                body["reason"] = .string(reason)
                if let seconds { body["retryAfterSeconds"] = .number(JSONNumber(Int64(seconds))) }
                try await server.call(.POST, "\(path)/nack", .object(body))
            }
        } catch let error as RouterdClientError where error.code == "unknown-delivery" {
            // It was cancelled, or has gone to another session meanwhile.
            return
        }
    }
}

/// Makes this program the receiver of a scene session in the foreground: registers it, and handles its deliveries until the task
/// is cancelled, another receiver takes over, or the session ends.
///
/// - Parameter fields: Other fields of the session, such as `activationConditions`.
public func connectScene(
    _ session: SessionID, in application: ApplicationID, on server: RouterdServer, fields: [String: JSONValue] = [:],
    _ handle: @Sendable (Delivery) async throws -> DeliveryAnswer
) async throws {
    let scene = SceneReceiver(of: session, in: application, on: server)
    try await scene.register(["activationState": "foregroundActive"].merging(fields) { $1 })
    try await scene.run(handle)
}
