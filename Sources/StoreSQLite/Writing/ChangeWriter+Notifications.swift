import GRDB
import Router
import RouterPlugin

extension ChangeWriter {
    private static let insertNotification = CheckedTable.notification.insert(
        """
        sequence, id, application, source, device, content_id, priority, immediate, expires_at, collapse_id,
        traceparent, replay_of, received_at, tier, session, decision_reason, vetoes, reroute_of, registry_version,
        rules_version, state, held_until, held_by, settlement_reason, settled_at, kind, event, epoch, event_sequence, event_session,
        content_type, broadcast, payload_at
        """)
    private static let insertPayload = CheckedTable.payload.insert("sequence, body")
    /// Nothing if the key belongs to a notification already, or if there is no such notification.
    static let insertKey = """
        INSERT INTO dedupe_key (application, source, key, hash, sequence)
        SELECT ?1, ?2, ?3, key_hash(?1, ?2, ?3), sequence FROM notification
        WHERE sequence = ?4 AND NOT EXISTS (\(NotificationReader.selectKey))
        """
    static let releaseKey = """
        DELETE FROM dedupe_key WHERE application = ?1 AND source = ?2 AND key = ?3
          AND sequence IN (\(NotificationReader.selectKey))
        """
    private static let addRecentKey = "INSERT OR IGNORE INTO temp.recent_key VALUES (key_hash(?, ?, ?), ?)"
    private static let addIndexedKey = "INSERT OR IGNORE INTO key_index VALUES (key_hash(?, ?, ?), ?)"
    private static let insertAttempt = CheckedTable.attempt.insert(
        """
        sequence, number, session, started_at, status, failure_kind, failure_curl_code, failure_message,
        retry_after_seconds, name_lookup, connect, tls_handshake, first_byte, total, remote_address,
        reused_connection, http_version, response_excerpt, answer_fault
        """)
    private static let countAttempt = CheckedTable.notification.update(
        ["attempts": "?1"], where: "sequence = ?2 AND state = 'waiting' AND attempts < ?1")
    /// The first word counts.
    private static let recall = CheckedTable.notification.update(
        ["recall": "ifnull(recall, ?1)"], where: "sequence = ?2 AND state = 'waiting'")
    private static let reschedule = CheckedTable.notification.update(
        ["attempts": "?1", "failures": "?2", "rejections": "?3", "not_before": "?4"],
        where: "sequence = ?5 AND state = 'waiting' AND attempts <= ?1")
    private static let reassign = CheckedTable.notification.update(
        [
            "tier": "?1", "session": "?2", "decision_reason": "?3", "vetoes": "?4", "reroute_of": "?5",
            "registry_version": "?6", "rules_version": "?7", "state": "?8", "held_until": "?9", "held_by": "?10",
            "settlement_reason": "?11", "settled_at": "?12", "failures": "0", "rejections": "0", "not_before": "NULL",
        ], where: "sequence = ?13 AND state IN ('held', 'waiting')")
    /// Nothing if there is one: the first decision is the first.
    private static let keepFirst = """
        INSERT OR IGNORE INTO first_answer
          (sequence, tier, session, decision_reason, vetoes, reroute_of, registry_version, rules_version, state)
        SELECT sequence, tier, session, decision_reason, vetoes, reroute_of, registry_version, rules_version, state
        FROM notification WHERE sequence = ?
        """
    private static let settle = CheckedTable.notification.update(
        ["state": "?1", "held_until": "NULL", "held_by": "NULL", "settlement_reason": "?2", "settled_at": "?3"],
        where: "sequence = ?4 AND state IN ('held', 'waiting')")

    mutating func insert(_ notification: NewNotification) throws {
        try take(notification.sequence)
        let owner = payloadOwner(for: notification)
        try PreparedStatement(db, Self.insertNotification).run {
            $0.bind(notification.sequence.value)
            $0.bind(notification.id.text)
            $0.bind(notification.application.text)
            $0.bind(notification.source.text)
            $0.bind(notification.device?.text)
            $0.bind(notification.contentID?.text)
            $0.bind(notification.priority.rawValue)
            $0.bind(notification.expiration == .immediate)
            $0.bind(notification.expiration.time?.milliseconds)
            $0.bind(notification.collapseID)
            $0.bind(notification.trace?.text)
            $0.bind(notification.replayOf?.text)
            $0.bind(notification.receivedAt.milliseconds)
            $0.bind(notification.decision)
            $0.bind(notification.placement, settledAt: notification.receivedAt)
            $0.bind(notification.kind == .notification ? nil : notification.kind.rawValue)
            $0.bind(notification.event?.kind.rawValue)
            $0.bind(notification.event?.number?.epoch)
            $0.bind(notification.event?.number?.sequence)
            $0.bind(notification.event?.session?.text)
            $0.bind(notification.payload.keptHead)
            $0.bind(notification.broadcast?.text)
            $0.bind(owner?.value)
        }
        if owner == nil { try insertPayload(of: notification) }
        let keys = notification.dedupeKeys.map {
            DedupeKey(application: notification.application, source: notification.source, key: $0)
        }
        try add(keys, to: notification.sequence)
        if notification.placement == .lane {
            try number(notification.sequence)
        } else {
            try keepFirstAnswer(notification.sequence)
        }
    }

    /// The earlier notification of the broadcast in this transaction with the same payload; nil if there is none.
    private mutating func payloadOwner(for notification: NewNotification) -> NotificationSequence? {
        guard let broadcast = notification.broadcast else { return nil }
        if let last = lastOfBroadcast, last.broadcast == broadcast, last.payload == notification.payload {
            return last.sequence
        }
        lastOfBroadcast = notification
        return nil
    }

    private func insertPayload(of notification: NewNotification) throws {
        let body = notification.payload.kept(of: notification.event, for: notification.application)
        try body.withUnsafeBufferPointer { payload in
            _ = try PreparedStatement(db, Self.insertPayload).run {
                $0.bind(notification.sequence.value)
                $0.bindInPlace(payload)
            }
        }
    }

    func add(_ keys: [DedupeKey], to sequence: NotificationSequence) throws {
        guard !keys.isEmpty else { return }
        let ledger = try openLedger()
        // The pass under way may have passed the slice of a key that comes late to its notification.
        let isRecent = sequence.value > max(ledger.keysIndexed, ledger.keysTarget)
        for key in keys {
            for (place, statement) in [Self.insertKey, isRecent ? Self.addRecentKey : Self.addIndexedKey].enumerated() {
                let added = try PreparedStatement(db, statement).run {
                    key.bind(to: &$0)
                    $0.bind(sequence.value)
                }
                guard added == 1 || place > 0 else { throw refusal("a key", of: sequence) }
            }
        }
    }

    func release(_ key: DedupeKey) throws {
        try PreparedStatement(db, Self.releaseKey).run { key.bind(to: &$0) }
    }

    private func keepFirstAnswer(_ sequence: NotificationSequence) throws {
        try PreparedStatement(db, Self.keepFirst).run { $0.bind(sequence.value) }
    }

    /// Counting the attempt is what shows whether it may be recorded.
    func record(_ attempt: AttemptRecord) throws {
        let counted = try PreparedStatement(db, Self.countAttempt).run {
            $0.bind(attempt.number)
            $0.bind(attempt.sequence.value)
        }
        guard counted == 1 else { throw refusal("attempt \(attempt.number)", of: attempt.sequence) }
        try attempt.responseExcerpt.withUnsafeBufferPointer { excerpt in
            _ = try PreparedStatement(db, Self.insertAttempt).run {
                $0.bind(attempt.sequence.value)
                $0.bind(attempt.number)
                $0.bind(attempt.session.text)
                $0.bind(attempt.startedAt.milliseconds)
                $0.bind(attempt.status)
                $0.bind(attempt.failure?.kind.rawValue)
                $0.bind(attempt.failure?.curlCode)
                $0.bind(attempt.failure?.message)
                $0.bind(attempt.retryAfterSeconds)
                $0.bind(attempt.metrics)
                $0.bindInPlace(excerpt)
                $0.bind(attempt.answerFault)
            }
        }
    }

    func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) throws {
        let changed = try PreparedStatement(db, Self.reschedule).run {
            $0.bind(progress.attempts)
            $0.bind(progress.failures)
            $0.bind(progress.rejections)
            $0.bind(progress.notBefore?.milliseconds)
            $0.bind(sequence.value)
        }
        guard changed == 1 else { throw refusal("a retry", of: sequence) }
    }

    func recall(_ sequence: NotificationSequence, _ recall: Recall) throws {
        let changed = try PreparedStatement(db, Self.recall).run {
            $0.bind(recall.rawValue)
            $0.bind(sequence.value)
        }
        guard changed == 1 else { throw refusal("a recall", of: sequence) }
    }

    /// The number of attempts stays, for it numbers the next one; what else was counted was the session's before.
    mutating func reassign(_ sequence: NotificationSequence, _ decision: Decision, _ placement: Placement) throws {
        try keepFirstAnswer(sequence)
        let changed = try PreparedStatement(db, Self.reassign).run {
            $0.bind(decision)
            $0.bind(placement, settledAt: nil)
            $0.bind(sequence.value)
        }
        guard changed == 1 else { throw refusal("a new decision", of: sequence) }
        if decision.session != nil { try PreparedStatement(db, Self.listSession).run { $0.bind(sequence.value) } }
        if placement == .lane { try number(sequence) }
    }

    func settle(_ sequence: NotificationSequence, _ settlement: Settlement, at time: Timestamp) throws {
        let changed = try PreparedStatement(db, Self.settle).run {
            $0.bind(settlement.state.rawValue)
            $0.bind(settlement.reason)
            $0.bind(time.milliseconds)
            $0.bind(sequence.value)
        }
        guard changed == 1 else { throw refusal("a settlement", of: sequence) }
    }

    func refusal(_ change: String, of sequence: NotificationSequence) -> StoreError {
        StoreError(.conflict, "\(change) of notification \(sequence) contradicts the stored row")
    }
}

extension Expiration {
    fileprivate var time: Timestamp? { if case .at(let time) = self { time } else { nil } }
}

extension Placement {
    fileprivate var heldUntil: Timestamp? { if case .held(let until) = self { until } else { nil } }
    fileprivate var heldBy: String? { if case .gated(let device) = self { device?.text ?? "" } else { nil } }
    fileprivate var settlement: Settlement? { if case .settled(let settlement) = self { settlement } else { nil } }
}

extension ArgumentBinder {
    /// Seven parameters: tier, session, decision_reason, vetoes, reroute_of, registry_version, rules_version.
    fileprivate mutating func bind(_ decision: Decision) {
        bind(decision.tier.rawValue)
        bind(decision.session?.text)
        bind(decision.reason)
        bind(
            decision.vetoes.isEmpty
                ? nil
                : TextList.encode(
                    decision.vetoes.flatMap { [$0.session.text, $0.rule.text, $0.reason] }))
        bind(decision.rerouteOf?.text)
        bind(Int64(bitPattern: decision.registryVersion))
        bind(decision.rulesVersion)
    }

    /// Five parameters: state, held_until, held_by, settlement_reason, settled_at.
    fileprivate mutating func bind(_ placement: Placement, settledAt: Timestamp?) {
        bind(placement.state.rawValue)
        bind(placement.heldUntil?.milliseconds)
        bind(placement.heldBy)
        bind(placement.settlement?.reason)
        bind(placement.settlement == nil ? nil : settledAt?.milliseconds)
    }

    /// Eight parameters: name_lookup, connect, tls_handshake, first_byte, total, remote_address, reused_connection,
    /// http_version.
    fileprivate mutating func bind(_ metrics: TransferMetrics) {
        bind(metrics.nameLookup)
        bind(metrics.connect)
        bind(metrics.tlsHandshake)
        bind(metrics.firstByte)
        bind(metrics.total)
        bind(metrics.remoteAddress)
        bind(metrics.reusedConnection)
        bind(metrics.httpVersion)
    }
}

extension MessagePayload {
    /// The media type and the header fields, unless they are those of plain JSON, which are not written down.
    fileprivate var keptHead: String? { if case .headed(_, let head) = self { head.kept } else { nil } }
}
