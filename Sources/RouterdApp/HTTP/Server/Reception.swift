import HTTPTypes
import Hummingbird
import Router
import Synchronization

/// The handler of all requests: health checks while the engine recovers, the API from then on.
///
///     recovering ── /healthz: 200; everything else: 503 `recovering`, with the part that is done
///     open ──────── the API
///
/// Thread-safe.
final class Reception: Sendable {
    private enum State {
        case recovering(RecoveryProgress)
        case open(API, any HTTPResponder<RouterdContext>)
    }

    private let state = Mutex(State.recovering(RecoveryProgress(done: 0, total: 0)))

    /// Shows how far the recovery has come.
    func show(_ progress: RecoveryProgress) {
        state.withLock { state in
            if case .recovering = state { state = .recovering(progress) }
        }
    }

    /// Hands all further requests to the API.
    func open(_ api: API) {
        let responder = api.router().buildResponder()
        state.withLock { $0 = .open(api, responder) }
    }

    /// Ends the streams of clients, which do not end by themselves.
    func endStreams() {
        guard case .open(let api, _) = state.withLock({ $0 }) else { return }
        api.host.feed.end()
        api.host.streams.end()
    }

    func respond(to request: Request, _ context: RouterdContext) async throws -> Response {
        switch state.withLock({ $0 }) {
        case .open(_, let responder): return try await responder.respond(to: request, context: context)
        case .recovering where request.uri.path == "/healthz": return API.alive
        case .recovering(let progress):
            return try Problem.recovering(progress).response(from: request, context: context)
        }
    }
}

extension Problem {
    /// The database is being read.
    static func recovering(_ progress: RecoveryProgress) -> Problem {
        // Before the rows are counted nothing is known of them.
        let part = progress.total == 0 ? "has begun to read" : "has read \(progress.percent) % of"
        return Problem(.serviceUnavailable, "recovering", "The daemon \(part) its database.", retryAfter: 1)
    }
}
