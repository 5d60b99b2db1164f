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
    private let told = ToldState()

    /// The receiver of a session, which need not be registered yet.
    public init(of session: SessionID, in application: ApplicationID, on server: RouterdServer) {
        self.server = server
        path = "/v1/applications/\(segment(application.text))/sessions/\(segment(session.text))"
    }

    /// Registers the session as one that connects out. A session that is there keeps what the fields do not name, such as its
    /// `userInfo`, and connects anew: its first delivery, `scene.willConnect`, brings its data back.
    ///
    /// - Parameter fields: Other fields of the session, such as `activationState` and `activationConditions`.
    /// - Throws: A refusal of the daemon, or `precondition-failed` if other programs change the session at each attempt.
    public func register(_ fields: [String: JSONValue] = [:]) async throws {
        var body = JSONObject()
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) { body[key] = value }
        body["endpoint"] = ["stream": true]
        for left in (0..<ClientLimits.registrations).reversed() {
            do {
                try await server.call(.PUT, path, headers: [("if-none-match", "*")], .object(body))
                break
            } catch let error as RouterdClientError where error.code == "precondition-failed" {
                if try await putBack(body) { break }
                if left == 0 { throw error }
            }
        }
        told.note(.object(body))
    }

    /// Puts a session that is there as it was, but for these fields, as a scene that is about to connect; false if the session
    /// has changed meanwhile.
    private func putBack(_ fields: JSONObject) async throws -> Bool {
        do {
            let (known, tag) = try await server.answer(to: .GET, path)
            var body = known.asObject ?? JSONObject()
            for field in fields.members { body[field.key] = field.value }
            body["activationState"] = "unattached"
            try await server.call(.PUT, path, headers: [("if-match", tag ?? "*")], .object(body))
            return true
        } catch let error as RouterdClientError where ["precondition-failed", "unknown-session"].contains(error.code) {
            return false
        }
    }

    /// Changes fields of the session, as a merge patch.
    public func update(_ fields: JSONValue) async throws {
        try await server.call(.PATCH, path, headers: [("content-type", "application/merge-patch+json")], fields)
        told.note(fields)
    }

    /// Handles the deliveries of the session, one after another, and connects again whenever the connection is lost.
    ///
    /// A scene that was away for too long connects in the background. If the state that this receiver told last is one of the
    /// foreground, it is told again with each connection.
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
        try await run(limit: nil, notes: ReceiverNotes(), onLoss: onLoss, handle)
    }

    /// - Parameter limit: Returns after this number of deliveries.
    package func run(
        limit: Int?, notes: ReceiverNotes, onLoss: (any Error, Duration) -> Void,
        _ handle: @Sendable (Delivery) async throws -> DeliveryAnswer
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        // Connections in a row that have brought no delivery.
        let failures = Atomic(0)
        let taken = Atomic(0)
        while true {
            let loss: any Error
            do {
                let isOver = try await follow(notes) { delivery in
                    failures.store(0, ordering: .relaxed)
                    try await settle(delivery, notes, by: handle)
                    return taken.add(1, ordering: .relaxed).newValue != limit
                }
                if isOver { return }
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

    /// The deliveries of one connection; returns when the daemon has ended it, or true when no more are wanted.
    private func follow(
        _ notes: ReceiverNotes, _ take: @Sendable (Delivery) async throws -> Bool
    ) async throws -> Bool {
        try await server.withAnswer(
            .GET, "\(path)/deliveries", headers: [("accept", "text/event-stream")]
        ) { _, parts in
            notes.connected()
            try await tellAgain()
            var reader = EventStreamReader()
            while case .body(let buffer)? = try await parts.next() {
                for event in reader.take(Array(buffer.readableBytesView)) {
                    switch event.type {
                    case "superseded": throw RouterdClientError.superseded
                    case "ended": throw RouterdClientError.ended
                    case "delivery":
                        let message = try JSONValue(parsing: event.data, limits: .streamed)
                        guard let delivery = Delivery(message) else { continue }
                        guard try await take(delivery) else { return true }
                        if delivery.type == "scene.willConnect" { try await tellAgain() }
                    default: continue
                    }
                }
            }
            return false
        }
    }

    /// Tells a state of the foreground again: a scene that connects is in the background until it says otherwise.
    private func tellAgain() async throws {
        guard let state = told.state, state > .background else { return }
        do {
            try await update(["activationState": .string(state.name)])
        } catch let error as RouterdClientError where error.code == "illegal-transition" {
            // The session waits for its configuration, or was disconnected at this moment.
            return
        }
    }

    private func settle(
        _ delivery: Delivery, _ notes: ReceiverNotes, by handle: @Sendable (Delivery) async throws -> DeliveryAnswer
    ) async throws {
        let answer: DeliveryAnswer
        do {
            answer = try await handle(delivery)
        } catch {
            // The end of the connection says that a cancelled handler has not finished.
            try Task.checkCancellation()
            answer = .refused(reason: "\(error)")
        }
        let (verb, body) = answer.request
        let path = "\(path)/deliveries/\(segment(delivery.id))/\(verb)"
        do {
            do {
                try await server.call(.POST, path, body)
                if verb == "ack", let session = body?["session"] { told.note(session) }
            } catch let error as RouterdClientError where body != nil && [400, 413, 422].contains(error.status) {
                // The delivery has been handled or refused, though the words for it cannot be used.
                notes.unusable(delivery, error)
                try await server.call(.POST, path)
            }
        } catch let error as RouterdClientError where error.code == "unknown-delivery" {
            // It was cancelled, or has gone to another session meanwhile.
            return
        }
    }
}

/// The activation state that a receiver has told the daemon last.
private final class ToldState: Sendable {
    private let last = Mutex<ActivationState?>(nil)

    var state: ActivationState? { last.withLock(\.self) }

    /// Keeps the state among the fields of a session, if there is one.
    func note(_ fields: JSONValue) {
        guard let name = fields["activationState"]?.asString, let state = ActivationState(name: name) else { return }
        last.withLock { $0 = state }
    }
}

/// Called by a receiver, for a person at a keyboard.
package struct ReceiverNotes: Sendable {
    /// A connection has begun.
    package var connected: @Sendable () -> Void = {}
    /// The answer of a handler, or its refusal, cannot be used; the delivery was settled without it.
    package var unusable: @Sendable (Delivery, RouterdClientError) -> Void = { _, _ in }

    package init() {}
}

extension DeliveryAnswer {
    /// The verb of the request, and its body.
    fileprivate var request: (verb: String, body: JSONValue?) {
        switch self {
        case .acknowledged: return ("ack", nil)
        case .answered(let body): return ("ack", body)
        case .refused(let reason, let seconds):
            var body = JSONObject()
            body["reason"] = .string(String(reason.prefix(ClientLimits.reason)))
            if let seconds {
                let bounded = min(max(seconds, 0), ClientLimits.retryAfterSeconds)
                body["retryAfterSeconds"] = .number(JSONNumber(Int64(bounded)))
            }
            return ("nack", .object(body))
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
