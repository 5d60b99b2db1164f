import Plugins
import RouterPlugin
import RouterdApp
import Synchronization

/// The books of a run, which senders, receivers and the changes of states write.
///
/// Thread-safe.
final class LoadBooks: Sendable {
    private struct State {
        var ledger: LoadLedger
        var oracle: LoadOracle
    }

    private let plan: LoadPlan
    private let start = Nanoseconds.now
    private let clock = SteadyClock()
    private let state: Mutex<State>
    /// The key of each session, by its place.
    let secrets: [WebhookSecret]

    init(_ plan: LoadPlan) {
        self.plan = plan
        var generator = SystemRandomNumberGenerator()
        secrets = plan.workload.sessions.map { _ in WebhookSecret.generate(using: &generator) }
        state = Mutex(
            State(
                ledger: LoadLedger { plan.behaviour(of: $0).isHealthy },
                // A receiver that answers 410 takes no part from then on.
                oracle: LoadOracle(plan.workload) { plan.behaviour(of: $0) == .status(410) }))
    }

    /// Nanoseconds since the books were opened.
    var now: UInt64 { UInt64(Nanoseconds.now - start) }
    var copy: LoadLedger { state.withLock { $0.ledger } }

    func write(_ body: (inout LoadLedger) -> Void) { state.withLock { body(&$0.ledger) } }

    func ask<Answer: Sendable>(_ body: (inout LoadOracle) -> Answer) -> Answer { state.withLock { body(&$0.oracle) } }

    /// Notes an acceptance; the oracle says for which sessions it may be.
    func accept(_ id: String, _ request: SentRequest, begun: UInt64, at now: UInt64) {
        state.withLock { state in
            let expected = state.oracle.expected(request.content, from: request.at, to: now)
            state.ledger.accept(
                id, forOneOf: expected, due: request.due, sent: request.at, begun: begun, at: now)
        }
    }

    /// Whether this number of requests was answered, and all webhooks came.
    func isClosed(after offered: Int) -> Bool {
        state.withLock { $0.ledger.answered == offered && $0.ledger.missing == 0 }
    }

    /// Notes a webhook at a session's receiver, which behaves as planned, and returns the status of its answer.
    func receive(_ webhook: EchoApp.Webhook, by session: Int) async -> Int {
        let behaviour = plan.healsReceivers ? .good : plan.behaviour(of: session)
        if behaviour == .slow { try? await Task.sleep(for: Self.slowness) }
        if behaviour == .hangs { try? await Task.sleep(for: .seconds(3600)) }
        let status = if case .status(let status) = behaviour { status } else { 204 }
        let isSigned =
            (try? StandardWebhooksVerifier.verify(
                headers: webhook.headers, body: webhook.body, keys: [.symmetric(secrets[session])], now: clock.wall))
            != nil
        write { $0.receive(webhook.id, by: session, isTaken: status < 300, isSigned: isSigned, at: now) }
        return status
    }

    private static let slowness = Duration.seconds(2)
}

/// A request under way.
struct SentRequest: Sendable {
    /// The place of its content.
    let content: Int
    let due: UInt64
    let at: UInt64
}
