import Router
import RouterPlugin

/// Parts of rows that several statements select, in the order of their columns.
extension ColumnReader {
    mutating func time() -> Timestamp { Timestamp(milliseconds: int64()) }
    mutating func optionalTime() -> Timestamp? { optionalInt64().map(Timestamp.init(milliseconds:)) }

    /// url, keys, format
    mutating func endpoint(_ keys: KeyColumn, of place: KeyColumn.Place) throws -> Endpoint? {
        let (url, bytes) = (optionalText(), optionalBytes())
        return try keys.endpoint(url, bytes, try FormatText.decode(optionalText()), of: place)
    }

    /// priority
    mutating func priority() throws(StoreError) -> Priority {
        guard let priority = Priority(rawValue: int()) else { throw unknown("priority") }
        return priority
    }

    /// immediate, expires_at
    mutating func expiration() -> Expiration {
        let immediate = bool()
        let time = optionalTime()
        return immediate ? .immediate : time.map(Expiration.at) ?? .never
    }

    /// traceparent
    mutating func trace() -> TraceContext? { optionalText().map(TraceContext.init(unchecked:)) }

    /// sequence, id, application, device, content_id, priority, immediate, expires_at, collapse_id, traceparent,
    /// received_at, kind, event, epoch, event_sequence, event_session, broadcast
    mutating func header(_ caches: NotificationCaches) throws -> NotificationHeader {
        NotificationHeader(
            sequence: NotificationSequence(int64()), id: NotificationID(unchecked: text()),
            application: ApplicationID(unchecked: try cached(in: caches.application)),
            device: try optionalCached(in: caches.device).map(DeviceID.init(unchecked:)),
            contentID: try optionalCached(in: caches.content).map(ContentID.init(unchecked:)), priority: try priority(),
            expiration: expiration(), collapseID: optionalText(), trace: trace(), receivedAt: time(),
            kind: try kind(), event: try event(), broadcast: optionalText().map(NotificationID.init(unchecked:)))
    }

    /// tier, session, decision_reason, vetoes, reroute_of, registry_version, rules_version
    mutating func decision(_ caches: NotificationCaches) throws -> Decision {
        guard let tier = Tier(rawValue: try cached(in: caches.tier)) else { throw unknown("tier") }
        return Decision(
            tier: tier, session: try optionalCached(in: caches.session).map(SessionID.init(unchecked:)),
            reason: try cached(in: caches.reason),
            vetoes: try vetoes(optionalText()), rerouteOf: optionalText().map(SessionID.init(unchecked:)),
            registryVersion: UInt64(bitPattern: int64()), rulesVersion: int64())
    }

    /// attempts, failures, rejections, not_before
    mutating func progress() -> DeliveryProgress {
        DeliveryProgress(attempts: int(), failures: int(), rejections: int(), notBefore: optionalTime())
    }

    /// state
    mutating func state() throws(StoreError) -> NotificationState {
        guard let state = NotificationState(rawValue: text()) else { throw unknown("state") }
        return state
    }

    mutating func optionalState() throws(StoreError) -> NotificationState? {
        guard let text = optionalText() else { return nil }
        guard let state = NotificationState(rawValue: text) else { throw unknown("state") }
        return state
    }

    /// progress of a replay
    mutating func replayState() throws(StoreError) -> Replay.State {
        guard let state = Replay.State(rawValue: text()) else { throw unknown("progress") }
        return state
    }

    mutating func recall() throws(StoreError) -> Recall? {
        guard let text = optionalText() else { return nil }
        guard let recall = Recall(rawValue: text) else { throw unknown("recall") }
        return recall
    }

    /// kind
    mutating func kind() throws(StoreError) -> NotificationKind {
        guard let text = optionalText() else { return .notification }
        guard let kind = NotificationKind(rawValue: text) else { throw unknown("kind") }
        return kind
    }

    /// event, epoch, event_sequence, event_session
    mutating func event() throws(StoreError) -> SceneEvent? {
        let (text, epoch, sequence) = (optionalText(), optionalInt64(), optionalInt64())
        let session = optionalText().map(SessionID.init(unchecked:))
        guard let text else { return nil }
        guard let kind = SceneEventKind(rawValue: text) else { throw unknown("event") }
        guard let epoch, let sequence else { return SceneEvent(kind, about: session) }
        return SceneEvent(kind, EventNumber(epoch: epoch, sequence: sequence), about: session)
    }

    /// body, content_type, application, event, epoch, event_sequence, event_session
    mutating func payload() throws -> MessagePayload {
        let (body, head) = (bytes(), optionalText())
        let application = ApplicationID(unchecked: text())
        guard let event = try self.event() else {
            return head.map { .headed(body, PayloadHead(kept: $0)) } ?? .json(body)
        }
        guard let facts = EventFacts(kept: body, of: event, for: application) else {
            throw StoreError(.corrupt, "the facts of an event in the database cannot be read")
        }
        return .facts(facts)
    }

    /// failure_kind, failure_curl_code, failure_message
    mutating func failure() throws(StoreError) -> TransferFailure? {
        let (kind, curlCode, message) = (optionalText(), optionalInt(), optionalText())
        guard let kind, let message else { return nil }
        guard let kind = TransferFailure.Kind(rawValue: kind) else { throw unknown("failure") }
        return TransferFailure(kind: kind, curlCode: curlCode, message: message)
    }

    /// name_lookup, connect, tls_handshake, first_byte, total, remote_address, reused_connection, http_version
    mutating func metrics() -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.nameLookup = int64()
        metrics.connect = int64()
        metrics.tlsHandshake = int64()
        metrics.firstByte = int64()
        metrics.total = int64()
        metrics.remoteAddress = optionalText()
        metrics.reusedConnection = bool()
        metrics.httpVersion = optionalText()
        return metrics
    }

    private func vetoes(_ list: String?) throws(StoreError) -> [Veto] {
        guard let list else { return [] }
        let texts = try TextList.decode(list)
        guard texts.count.isMultiple(of: 3) else { throw unknown("list of vetoes") }
        return stride(from: 0, to: texts.count, by: 3).map { index in
            Veto(
                session: SessionID(unchecked: texts[index]), rule: PluginID(unchecked: texts[index + 1]),
                reason: texts[index + 2])
        }
    }

    private func unknown(_ what: String) -> StoreError {
        StoreError(.corrupt, "a notification in the database has an unknown \(what)")
    }
}
