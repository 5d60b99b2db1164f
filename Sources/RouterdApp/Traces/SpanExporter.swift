import DeliveryCurl
import Logging
package import Router
import RouterPlugin
import ServiceLifecycle

/// Sends finished spans to the collector, as a service: a round a second, and a last one at the end.
///
/// The exporter has a transport of its own: the collector's address is the operator's, so that no policy for tenants applies,
/// and a slow collector takes no slot from webhooks.
struct SpanExporter: Service {
    private let settings: TraceSettings
    private let queue: SpanQueue
    private let transport: CurlTransport
    private let clock: SteadyClock
    private let logger: Logger

    /// - Parameter authorities: File with the certificates to trust; nil takes the system's.
    init(
        _ settings: TraceSettings, queue: SpanQueue, certificateAuthorityFile authorities: String?, clock: SteadyClock,
        logger: Logger
    ) throws {
        self.settings = settings
        self.queue = queue
        self.clock = clock
        self.logger = logger
        transport = try CurlTransport(
            configuration: CurlConfiguration(
                egress: .unguarded, slots: 1, cachedConnections: 1, furtherLookUps: 1,
                certificateAuthorityFile: authorities))
    }

    func run() async throws {
        let fault = await cancelWhenGracefulShutdown {
            var fault: String?
            while (try? await Task.sleep(for: .milliseconds(DaemonLimits.exportMilliseconds))) != nil {
                fault = await export(after: fault)
            }
            return fault
        }
        // A collector that was not reached lately is not waited for.
        _ = await export(after: fault)
    }

    func close() async { await transport.shutdown(gracePeriodMilliseconds: 0) }

    /// Sends batches until none is left, or the collector has to be left alone.
    ///
    /// - Parameter fault: The outcome of the last batch, if it was not taken.
    /// - Returns: The same for the next round. Each fault is logged when it begins.
    private func export(after fault: String?) async -> String? {
        var fault = fault
        while let batch = queue.next(at: clock.now) {
            let result = await send(batch)
            let outcome = SpanLine.Outcome(result)
            queue.ended(outcome, at: clock.now)
            var found: String?
            if case .taken = outcome {} else { found = result.outcome.summary }
            if let found, found != fault {
                logger.warning("the collector takes no spans", metadata: ["outcome": "\(found)"])
            } else if found == nil, fault != nil {
                logger.notice("the collector takes spans again")
            }
            fault = found
        }
        return fault
    }

    private func send(_ batch: [SpanRecord]) async -> TransferResult {
        let request = WebhookRequest(
            url: settings.collector,
            headers: [
                HeaderField("content-type", "application/json"),
                HeaderField("user-agent", "routerd/\(RouterdVersion.current)"),
            ] + settings.headers,
            body: OTLPBody.write(batch, service: settings.service, version: RouterdVersion.current),
            timeoutMilliseconds: DaemonLimits.exportTimeoutMilliseconds, responseLimit: DaemonLimits.exportAnswerBytes)
        return await withCheckedContinuation { continuation in
            transport.start(request) { continuation.resume(returning: $0) }
        }
    }
}

extension SpanLine.Outcome {
    /// The meaning of an answer, as OTLP over HTTP has it.
    package init(_ result: TransferResult) {
        switch result.outcome {
        case .failure: self = .failed(retryAfterSeconds: nil)
        case .response(let response):
            switch response.status {
            case 200..<300: self = .taken(rejecting: OTLPBody.rejected(response.body))
            case 429, 502, 503, 504: self = .failed(retryAfterSeconds: response.retryAfterSeconds)
            default: self = .refused
            }
        }
    }
}
