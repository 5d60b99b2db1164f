import Plugins
import PredicateEngine
package import Router
package import RouterPlugin

/// Notifications on the wire.
package enum NotificationBody {
    /// The answer to an accepted notification.
    package static func answer(_ accepted: NewNotification) -> [UInt8] {
        let isAimless = accepted.kind == .notification && accepted.contentID == nil && accepted.event == nil
        return answer(
            accepted.id, accepted.placement.state, accepted.decision, duplicate: false,
            warnings: isAimless && accepted.source == PushPayloadSource.id ? [aimless] : [])
    }

    private static let aimless =
        "The payload names no content, so the most relevant session gets it. The id of the content is in "
        + "notification-content-id, aps.target-content-id or the header target-content-id."

    /// The same answer, for a sender that repeats its request.
    package static func answer(_ receipt: Receipt) -> [UInt8] {
        answer(receipt.id, receipt.state, receipt.decision, duplicate: true)
    }

    private static func answer(
        _ id: NotificationID, _ state: NotificationState, _ decision: Decision, duplicate: Bool,
        warnings: [String] = []
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("id", id)
            body.field("state", state.rawValue)
            body.object("decision") { write(decision, to: &$0) }
            if duplicate { body.field("duplicate", true) }
            if !warnings.isEmpty { body.array("warnings") { list in for text in warnings { list.element(text) } } }
        }
    }

    package static func write(_ decision: Decision, to object: inout JSONObjectWriter) {
        object.field("tier", decision.tier.rawValue)
        object.field("session", decision.session)
        object.field("reason", decision.reason)
        if let rerouteOf = decision.rerouteOf { object.field("rerouteOf", rerouteOf) }
        object.field("registryVersion", Int64(clamping: decision.registryVersion))
        object.field("rulesVersion", decision.rulesVersion)
        if !decision.vetoes.isEmpty {
            object.array("vetoes") { vetoes in
                for veto in decision.vetoes {
                    vetoes.object {
                        $0.field("session", veto.session == .every ? nil : veto.session)
                        $0.field("rule", veto.rule)
                        $0.field("reason", veto.reason)
                    }
                }
            }
        }
    }

    /// A whole notification as the caller may see it; in lists without payload and attempts.
    package static func write(
        _ notification: StoredNotification, _ standing: NotificationStanding, for caller: Caller,
        broadcast: [(StoredNotification, NotificationStanding)] = [], to body: inout JSONObjectWriter
    ) {
        body.field("id", notification.id)
        body.field("webhookId", Identity.delivery(of: notification.id))
        body.field("type", notification.event?.kind.rawValue ?? WebhookType.name(of: notification.kind))
        body.field("application", notification.application)
        body.field("source", notification.source)
        body.field("device", notification.device)
        body.field("targetContentIdentifier", notification.contentID)
        body.field("priority", notification.priority.rawValue)
        switch notification.expiration {
        case .never: body.field("expiresAt", String?.none)
        case .immediate: body.field("expiresAt", "immediately")
        case .at(let time): body.field("expiresAt", time)
        }
        body.field("collapseId", notification.collapseID)
        body.field("traceparent", notification.trace?.traceparent)
        body.field("tracestate", notification.trace?.tracestate)
        body.field("replayOf", notification.replayOf)
        write(notification.broadcast, broadcast, to: &body)
        body.field("receivedAt", notification.receivedAt)
        standing.write(to: &body)
        body.field("reason", notification.reason)
        body.field("settledAt", notification.settledAt)
        body.field("nextAttemptAt", standing.state == .waiting ? notification.progress.notBefore : nil)
        if let event = notification.event {
            body.field("session", shown(notification.decision.session))
            body.field("epoch", event.number?.epoch)
            body.field("sequence", event.number?.sequence)
        } else {
            body.object("decision") { write(notification.decision, to: &$0) }
        }
        guard let payload = notification.payload else { return }
        body.array("attempts") { attempts in
            for attempt in notification.attempts { attempts.object { write(attempt, for: caller, to: &$0) } }
        }
        write(payload.headers, to: &body)
        write(payload, of: notification, to: &body)
    }

    /// The broadcast that a notification belongs to.
    private static func write(
        _ first: NotificationID?, _ notifications: [(StoredNotification, NotificationStanding)],
        to body: inout JSONObjectWriter
    ) {
        guard let first else { return }
        body.object("broadcast") { broadcast in
            broadcast.field("id", first)
            guard !notifications.isEmpty else { return }
            broadcast.array("notifications") { list in
                for (notification, standing) in notifications {
                    list.object {
                        $0.field("id", notification.id)
                        $0.field("session", notification.decision.session)
                        $0.field("state", standing.state.rawValue)
                    }
                }
            }
        }
    }

    /// Header fields that rules have added.
    fileprivate static func write(_ headers: [RenderedRequest.Header], to object: inout JSONObjectWriter) {
        guard !headers.isEmpty else { return }
        object.object("headers") { for header in headers { $0.field(header.name, header.value) } }
    }

    /// The payload as received, or the facts of an event as an object.
    private static func write(
        _ payload: MessagePayload, of notification: StoredNotification, to body: inout JSONObjectWriter
    ) {
        if let contentType = payload.contentType, !MediaType.isJSON(contentType) {
            body.field("payloadContentType", contentType)
            body.field("payloadBase64", Base64.encode(payload.bytes))
        } else {
            body.raw("payload", payload.kept(of: notification.event, for: notification.application))
        }
    }

    /// Null for the delegate.
    private static func shown(_ session: SessionID?) -> SessionID? { session?.isDelegate == true ? nil : session }

    static func write(_ attempt: AttemptRecord, for caller: Caller, to object: inout JSONObjectWriter) {
        let attempt = attempt.shown(to: caller)
        object.field("number", attempt.number)
        object.field("startedAt", attempt.startedAt)
        object.field("session", shown(attempt.session))
        object.field("status", attempt.status)
        if let failure = attempt.failure {
            object.object("error") { error in
                error.field("kind", failure.kind.rawValue)
                error.field("curlCode", failure.curlCode)
                error.field("message", failure.message)
            }
        }
        object.field("retryAfterSeconds", attempt.retryAfterSeconds)
        object.object("durations") { durations in
            durations.field("nameLookupMicroseconds", attempt.metrics.nameLookup)
            durations.field("connectMicroseconds", attempt.metrics.connect)
            durations.field("tlsHandshakeMicroseconds", attempt.metrics.tlsHandshake)
            durations.field("firstByteMicroseconds", attempt.metrics.firstByte)
            durations.field("totalMicroseconds", attempt.metrics.total)
        }
        object.field("remoteAddress", attempt.metrics.remoteAddress)
        object.field("httpVersion", attempt.metrics.httpVersion)
        object.field("connectionReused", attempt.metrics.reusedConnection)
        object.field("responseExcerpt", String(decoding: attempt.responseExcerpt, as: UTF8.self))
        if let fault = attempt.answerFault { object.field("answerFault", fault) }
    }
}

/// A session that would get a broadcast, and its part of the decision.
package struct ShownReceiver: Sendable {
    private let receiver: BroadcastReceiver
    private let isGated: Bool

    /// - Parameter isGated: Whether a gate would hold the notification.
    package init(_ receiver: BroadcastReceiver, isGated: Bool) {
        self.receiver = receiver
        self.isGated = isGated
    }

    fileprivate func write(to object: inout JSONObjectWriter) {
        let until: Timestamp? = if case .held(let until) = receiver.outcome { until } else { nil }
        object.field("session", receiver.decision.session)
        object.field("tier", receiver.decision.tier.rawValue)
        object.field("state", (isGated || until != nil ? NotificationState.held : .waiting).rawValue)
        if let until { object.field("heldUntil", until) }
        object.field("reason", receiver.decision.reason)
    }
}

/// Explanations on the wire.
package enum ExplanationBody {
    /// - Parameters:
    ///   - gate: The gate that would hold the notification.
    ///   - parts: The conditions of the first sessions, to be shown part by part.
    ///   - notAsked: Remote rules that are not asked because it is a trial.
    package static func write(
        _ explained: Explanation, _ notification: NotificationView, heldBy gate: OnboardingGate? = nil,
        parts: [ActivationConditions?] = [], receivers: [ShownReceiver]? = nil, notAsked: [PluginID] = []
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("targetContentIdentifier", notification.contentID)
            body.object("decision") { decision in
                NotificationBody.write(explained.decision, to: &decision)
                switch explained.outcome {
                case .newSession(.named(let name)): decision.field("configuration", name)
                case .held(let until): decision.field("heldUntil", until)
                case .dropped: decision.field("dropped", true)
                case .newSession(.asked), .session, .undeliverable: break
                }
            }
            write(explained.amendment, to: &body)
            if !notAsked.isEmpty {
                body.object("notAsked") { object in
                    object.array("rules") { list in for rule in notAsked { list.element(rule.text) } }
                    object.field(
                        "reason",
                        "Remote rules are not asked in a trial: the setting failure of each decides in place of its answer."
                    )
                }
            }
            if let gate {
                body.object("gate") {
                    $0.field("device", gate.key.device)
                    $0.field("state", gate.state.rawValue)
                }
            }
            if let receivers {
                body.array("receivers") { list in for receiver in receivers { list.object(receiver.write) } }
            }
            body.field("sessionsInScope", explained.sessionsInScope)
            body.array("candidates") { list in
                for (place, considered) in explained.considered.enumerated() {
                    list.object { candidate in
                        write(considered, to: &candidate)
                        guard parts.indices.contains(place), let conditions = parts[place] else { return }
                        let subject = notification.contentID?.text
                        write(conditions.canActivate, "canParts", for: subject, to: &candidate)
                        write(conditions.prefersToActivate, "prefersParts", for: subject, to: &candidate)
                    }
                }
            }
        }
    }

    /// The changes that rules make to a notification, if they make any.
    static func write(_ amendment: Amendment, to object: inout JSONObjectWriter) {
        guard !amendment.isEmpty else { return }
        object.object("changes") { changes in
            if let priority = amendment.priority { changes.field("priority", priority.rawValue) }
            if let seconds = amendment.expireSeconds { changes.field("expireSeconds", seconds) }
            NotificationBody.write(amendment.headers, to: &changes)
        }
    }

    private static func write(
        _ predicate: Predicate, _ name: String, for subject: String?, to candidate: inout JSONObjectWriter
    ) {
        candidate.array(name) { list in
            for part in predicate.parts(for: subject) {
                list.object {
                    $0.field("text", part.text)
                    $0.field("holds", part.holds)
                }
            }
        }
    }

    private static func write(_ considered: Explanation.Considered, to object: inout JSONObjectWriter) {
        object.field("session", considered.session)
        object.field("tier", considered.tier?.rawValue)
        object.field("reason", considered.reason)
        if let hint = considered.hint { object.field("hint", hint) }
        object.field("can", considered.can)
        object.field("prefers", considered.prefers)
        object.field("activationState", considered.activationState.name)
        object.field("preferenceLevel", considered.preferenceLevel)
        object.field("lastActivatedAt", considered.lastActivatedAt)
        SessionBody.write(considered.unreachable, to: &object)
        object.array("verdicts") { verdicts in
            for said in considered.verdicts {
                verdicts.object { verdict in
                    verdict.field("rule", said.rule)
                    write(said.verdict, to: &verdict)
                    if let obstacle = said.obstacle { verdict.field("ignoredBecause", obstacle) }
                    if let lack = said.lack { verdict.field("noAnswer", lack) }
                }
            }
        }
    }

    private static func write(_ verdict: RoutingVerdict, to object: inout JSONObjectWriter) {
        switch verdict {
        case .accept: object.field("verdict", "accept")
        case .prefer(let reason):
            object.field("verdict", "prefer")
            object.field("reason", reason)
        case .veto(let reason):
            object.field("verdict", "veto")
            object.field("reason", reason)
        case .redirect(let session, let reason):
            object.field("verdict", "redirect")
            object.field("session", session)
            object.field("reason", reason)
        case .hold(let until, let reason):
            object.field("verdict", "hold")
            object.field("until", until)
            object.field("reason", reason)
        case .drop(let reason):
            object.field("verdict", "drop")
            object.field("reason", reason)
        }
    }
}
