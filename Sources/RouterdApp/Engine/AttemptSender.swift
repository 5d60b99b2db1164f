import Dispatch
import Logging
import Plugins
import Router
import RouterPlugin
import Tracing

/// Sends attempts: reads the payload, renders the message, signs it, and hands the request to the transport.
///
/// The sender works on a serial queue of its own, apart from the engine's, so that attempts keep the order in which
/// they start.
struct AttemptSender: Sendable {
    let store: any Store
    let transport: any Transport
    let streams: StreamHub
    let webhooks: WebhookSender
    let clock: SteadyClock
    let tracer: RouterTracer
    let logger: Logger
    private let lines: WideLines
    private let queue = DispatchQueue(label: "routerd.rendering", qos: .userInitiated)

    init(
        store: any Store, transport: any Transport, streams: StreamHub, webhooks: WebhookSender, clock: SteadyClock,
        tracer: RouterTracer, logger: Logger
    ) {
        self.store = store
        self.transport = transport
        self.streams = streams
        self.webhooks = webhooks
        self.clock = clock
        self.tracer = tracer
        self.logger = logger
        lines = WideLines(logger: logger)
    }

    /// - Parameter finish: Called on any thread when the attempt is over; again only after an outcome that was refused, and
    ///   with whose answer a receiver waits.
    func send(
        _ attempt: AttemptStart, at now: Timestamp,
        finish: @escaping @Sendable (FinishedAttempt, (@Sendable (Reply) -> Void)?) -> Bool
    ) {
        queue.async {
            // The receiver's parent is this attempt.
            let span = attempt.notification.trace.map {
                tracer.startSpan("attempt", context: ServiceContext(trace: $0), ofKind: .client, at: clock.instant)
            }
            span?.describe(attempt)
            transmit(attempt, span?.trace) { result, answer in
                let isTaken = finish(
                    FinishedAttempt(
                        sequence: attempt.notification.sequence, number: attempt.number,
                        session: attempt.receiver.session, url: attempt.endpoint.address(of: attempt.receiver.session),
                        startedAt: now, result: result,
                        connects: attempt.connects,
                        answer: AnswerReader.read(result, to: attempt.notification.event?.kind)), answer)
                guard isTaken else { return false }
                lines.add(attempt, result)
                span?.describe(result)
                span?.end(at: clock.instant)
                return true
            }
        }
    }

    /// Returns when all attempts that were sent before have been handed to their transport.
    func handedOver() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    private func transmit(_ attempt: AttemptStart, _ trace: TraceContext?, _ report: @escaping StreamHub.Finish) {
        let finish: @Sendable (TransferResult) -> Void = { _ = report($0, nil) }
        do {
            guard let payload = try attempt.payload ?? store.payload(of: attempt.notification.sequence) else {
                return finish(WebhookSender.payloadMissing)
            }
            if attempt.endpoint.isStream {
                let number = try store.number(of: attempt.notification.sequence, in: attempt.receiver)
                return streams.start(
                    try webhooks.message(for: attempt, payload: payload, sequence: number), to: attempt.receiver,
                    timeoutSeconds: attempt.timeoutSeconds, finish: report)
            }
            let request = try webhooks.request(for: attempt, payload: payload, trace: trace, at: clock.wall)
            transport.start(request, completion: finish)
        } catch let error as WebhookSecretError {
            logger.error("an endpoint's secret cannot be used", metadata: ["session": "\(attempt.receiver)"])
            finish(WebhookSender.unusable(because: error))
        } catch let error as DeliveryFormatError {
            logger.warning(
                "a delivery was given up: its format cannot render it",
                metadata: [
                    "session": "\(attempt.receiver)", "format": "\(attempt.endpoint.format.id)",
                    "code": "\(error.code)",
                ])
            finish(WebhookSender.formatFailed(error))
        } catch let error as StoreError where error.code == .corrupt {
            logger.error("an event cannot be read from the database", metadata: ["error": "\(error)"])
            finish(WebhookSender.payloadMissing)
        } catch {
            logger.error("an attempt could not be made", metadata: ["error": "\(error)"])
            finish(WebhookSender.notSent(because: error))
        }
    }

    /// Sends one signed webhook of the type `scene.test` to the endpoint of a session at once: without lane and retry,
    /// and without a record in the store.
    func test(_ session: SceneSession, at endpoint: Endpoint, timeoutSeconds: Int) async -> AttemptRecord {
        let now = clock.now
        let message = DeliveryMessage(
            id: "dlv_test_\(now.milliseconds)", attempt: 1, type: "scene.test", timestamp: now,
            application: session.key.application, session: SessionView(session), content: .event(JSONObject()))
        let result: TransferResult
        do {
            let request = try webhooks.request(
                of: message, to: endpoint, signedBy: endpoint.keys.signing(at: clock.wall),
                timeoutSeconds: timeoutSeconds, at: clock.wall)
            result = await withCheckedContinuation { continuation in
                transport.start(request) { continuation.resume(returning: $0) }
            }
        } catch let error as DeliveryFormatError {
            result = WebhookSender.formatFailed(error)
        } catch let error as WebhookSecretError {
            result = WebhookSender.unusable(because: error)
        } catch {
            result = WebhookSender.notSent(because: error)
        }
        return AttemptRecord(
            sequence: NotificationSequence(0), number: 1, session: session.key.session, startedAt: now, result)
    }
}
