import Router
import RouterPlugin
import Tracing

extension EngineHost {
    /// The beginning of an acceptance: a span whose place is kept with the notifications of the request. Nil if spans are
    /// not recorded; the notifications then keep the sender's place.
    nonisolated func beginAccepting(from sender: TraceContext?) -> RouterSpan? {
        guard tracer.isRecording else { return nil }
        return tracer.startSpan(
            "accept", context: ServiceContext(trace: sender), ofKind: .server, at: clock.instant)
    }

    /// Runs the acceptance of a request, whose notifications get the place that `body` is given.
    nonisolated func accepting<Answer>(
        from sender: TraceContext?, _ body: (TraceContext?) async throws -> Answer
    ) async throws -> Answer {
        guard let span = beginAccepting(from: sender) else { return try await body(sender) }
        defer { span.end(at: clock.instant) }
        do { return try await body(span.trace) } catch {
            span.setStatus(SpanStatus(code: .error))
            span.recordError(error, attributes: [:], at: clock.instant)
            throw error
        }
    }

    /// Counts, logs and traces changes that were committed. Memory has not followed them yet.
    func note(_ changes: [StoreChange]) {
        reports.meters.settled(by: changes, at: clock.now) { loop.engine.unsettled($0)?.receivedAt }
        lines.add(changes) { loop.engine.unsettled($0) }
        guard let start = planningSince else { return }
        planningSince = nil
        TransactionSpans(tracer: tracer).add(changes, from: start, to: clock.instant) { loop.engine.unsettled($0) }
    }
}

/// The spans of a committed transaction: one a decision, and one a settlement.
struct TransactionSpans: Sendable {
    let tracer: RouterTracer

    /// - Parameters:
    ///   - start: The beginning of the transaction's first plan.
    ///   - unsettled: Finds a notification as it was before the transaction.
    func add(
        _ changes: [StoreChange], from start: SpanInstant, to end: SpanInstant,
        _ unsettled: (NotificationSequence) -> UnsettledNotification?
    ) {
        for change in changes {
            switch change {
            case .insert(let notification):
                guard notification.trace != nil else { continue }
                if notification.event == nil {
                    decide(notification.decision, notification.placement, of: notification.header, start, end)
                }
                guard case .settled(let settlement) = notification.placement else { continue }
                settle(settlement, of: notification.header, start, end)
            case .reassign(let sequence, let decision, let placement):
                guard let notification = unsettled(sequence) else { continue }
                decide(decision, placement, of: notification.header, start, end)
            case .settle(let sequence, let settlement, _):
                guard let notification = unsettled(sequence) else { continue }
                settle(settlement, of: notification.header, start, end)
            // No other change decides or settles.
            default: break
            }
        }
    }

    private func decide(
        _ decision: Decision, _ placement: Placement, of header: NotificationHeader, _ start: SpanInstant,
        _ end: SpanInstant
    ) {
        record("decide", of: header, start, end) { attributes in
            attributes["routerd.tier"] = decision.tier.rawValue
            attributes["routerd.session"] = decision.session?.text
            attributes["routerd.reason"] = decision.reason
            attributes["routerd.vetoes"] = decision.vetoes.count
            attributes["routerd.state"] = placement.state.rawValue
        }
    }

    private func settle(
        _ settlement: Settlement, of header: NotificationHeader, _ start: SpanInstant, _ end: SpanInstant
    ) {
        record("settle", of: header, start, end) { attributes in
            attributes["routerd.state"] = settlement.state.rawValue
            attributes["routerd.reason"] = settlement.reason
        }
    }

    private func record(
        _ name: String, of header: NotificationHeader, _ start: SpanInstant, _ end: SpanInstant,
        _ describe: (inout SpanAttributes) -> Void
    ) {
        guard let trace = header.trace, trace.isSampled else { return }
        let span = tracer.startSpan(name, context: ServiceContext(trace: trace), at: start)
        span.updateAttributes {
            $0.describe(header)
            describe(&$0)
        }
        span.end(at: end)
    }
}

extension RouterSpan {
    /// Describes an attempt: names, and no part of a URL beyond its origin.
    func describe(_ attempt: AttemptStart) {
        guard isRecording else { return }
        updateAttributes {
            $0.describe(attempt.notification.header)
            $0["routerd.session"] = attempt.receiver.session.text
            $0["routerd.attempt"] = attempt.number
            $0["routerd.origin"] = Origin(url: attempt.endpoint.url).text
        }
    }

    /// Describes the end of an attempt in the terms of HTTP clients.
    func describe(_ result: TransferResult) {
        guard isRecording else { return }
        var isFault = true
        updateAttributes {
            $0["error.type"] = result.outcome.summary
            if case .response(let response) = result.outcome {
                $0["http.response.status_code"] = response.status
                isFault = response.status >= 400
            }
            if !isFault { $0["error.type"] = String?.none }
            $0["network.peer.address"] = result.metrics.remoteAddress
            $0["network.protocol.version"] = result.metrics.httpVersion
        }
        if isFault { setStatus(SpanStatus(code: .error)) }
    }
}

extension SpanAttributes {
    fileprivate mutating func describe(_ header: NotificationHeader) {
        self["routerd.notification"] = header.id.text
        self["routerd.application"] = header.application.text
        self["routerd.device"] = header.device?.text
        self["routerd.content_id"] = header.contentID?.text
    }
}
