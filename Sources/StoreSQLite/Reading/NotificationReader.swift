import GRDB
import Router
import RouterPlugin

/// Reads notifications, their payloads and their attempts.
enum NotificationReader {
    /// The columns of `ColumnReader.header`.
    static let header = """
        notification.sequence, notification.id, application, device, content_id, priority, immediate, expires_at,
        collapse_id, traceparent, received_at, kind, event, epoch, event_sequence, event_session, broadcast
        """
    /// The columns of `notification(from:)`.
    static let columns = """
        \(header), source, replay_of, tier, session, decision_reason, vetoes, reroute_of, registry_version,
        rules_version, state, settlement_reason, settled_at, attempts, failures, rejections, not_before
        """
    private static let selectOne = "SELECT \(columns) FROM notification WHERE id = ?"
    private static let selectBySequence = "SELECT \(columns) FROM notification WHERE sequence = ?"
    private static let selectAttempts = """
        SELECT number, session, started_at, status, failure_kind, failure_curl_code, failure_message,
               retry_after_seconds, name_lookup, connect, tls_handshake, first_byte, total, remote_address,
               reused_connection, http_version, response_excerpt, answer_fault
        FROM attempt WHERE sequence = ? ORDER BY number
        """
    /// The columns of a receipt, of a notification `now` and of its first answer `first`.
    private static let receiptColumns = """
               now.sequence, now.id, now.device, now.broadcast,
               iif(first.sequence IS NULL, now.tier, first.tier),
               iif(first.sequence IS NULL, now.session, first.session),
               iif(first.sequence IS NULL, now.decision_reason, first.decision_reason),
               iif(first.sequence IS NULL, now.vetoes, first.vetoes),
               iif(first.sequence IS NULL, now.reroute_of, first.reroute_of),
               iif(first.sequence IS NULL, now.registry_version, first.registry_version),
               iif(first.sequence IS NULL, now.rules_version, first.rules_version),
               ifnull(first.state, 'waiting')
        """
    private static let selectReceipt = """
        SELECT \(receiptColumns), body
        FROM (\(selectKey)) AS found
          JOIN notification AS now ON now.sequence = found.sequence
          JOIN payload ON payload.sequence = ifnull(now.payload_at, now.sequence)
          LEFT JOIN first_answer AS first ON first.sequence = found.sequence
        """
    private static let selectBroadcast = """
        SELECT \(receiptColumns)
        FROM notification AS now LEFT JOIN first_answer AS first ON first.sequence = now.sequence
        WHERE now.sequence BETWEEN ?1 AND ?2 AND now.broadcast = ?3 AND now.replay_of IS NULL ORDER BY now.sequence
        """
    /// The notification of a key, for the connection that writes. Hashes only find candidates, and keys up to the floor of
    /// their application are those of an earlier one.
    static let selectKey = """
        SELECT dedupe_key.sequence
        FROM (
          SELECT sequence FROM temp.recent_key WHERE hash = key_hash(?1, ?2, ?3)
          UNION ALL SELECT sequence FROM key_index WHERE hash = key_hash(?1, ?2, ?3)
        ) AS candidate
        CROSS JOIN dedupe_key ON dedupe_key.sequence = candidate.sequence
          AND dedupe_key.application = ?1 AND dedupe_key.source = ?2 AND dedupe_key.key = ?3
        WHERE candidate.sequence > ifnull((SELECT sequence FROM key_floor WHERE application = ?1), 0)
        """

    private static let selectAnswer = """
        SELECT created, fingerprint, session, session_made FROM kept_answer WHERE application = ? AND source = ? AND key = ?
        """

    /// Counts in the index by state alone; the ledger's figure comes first, with no state. The last column is 1 for
    /// forgotten notifications.
    static let selectCensus = """
        SELECT NULL, accepted, 0 FROM ledger
        UNION ALL
        SELECT state, count(*), 0 FROM notification INDEXED BY notification_by_state GROUP BY state
        UNION ALL
        SELECT state, count, 1 FROM forgotten
        """

    static func receipt(for key: DedupeKey, _ db: Database) throws -> Receipt? {
        try PreparedStatement(db, selectReceipt).first(key.bind(to:)) { row in
            var receipt = try receipt(from: &row, NotificationCaches())
            receipt.payload = row.bytes()
            return receipt
        }
    }

    /// The receipts of a broadcast's notifications, without their payloads.
    static func broadcast(at place: BroadcastPlace, _ db: Database) throws -> [Receipt] {
        let caches = NotificationCaches()
        var receipts: [Receipt] = []
        try PreparedStatement(db, selectBroadcast).forEach({
            $0.bind(place.sequences.lowerBound.value)
            $0.bind(place.sequences.upperBound.value)
            $0.bind(place.first.text)
        }) { row in receipts.append(try receipt(from: &row, caches)) }
        return receipts
    }

    private static func receipt(from row: inout ColumnReader, _ caches: NotificationCaches) throws -> Receipt {
        let (sequence, id) = (NotificationSequence(row.int64()), NotificationID(unchecked: row.text()))
        let device = row.optionalText().map(DeviceID.init(unchecked:))
        let broadcast = row.optionalText().map(NotificationID.init(unchecked:))
        return Receipt(
            sequence: sequence, id: id, device: device, payload: [], decision: try row.decision(caches),
            state: try row.state(), broadcast: broadcast)
    }

    static func keptAnswer(for key: DedupeKey, _ db: Database) throws -> KeptAnswer? {
        let statement = try PreparedStatement(db, selectAnswer)
        return try statement.first(key.bind(to:)) { row in
            if let created = row.optionalInt64() { return .session(created: created != 0) }
            let (fingerprint, session, isMade) = (row.bytes(), row.optionalText(), row.optionalInt64())
            guard let session else { return .request(fingerprint: fingerprint) }
            return .activation(
                fingerprint: fingerprint, session: SessionID(unchecked: session), created: isMade == 1)
        }
    }

    private static let selectPayload = """
        SELECT \(CheckedTable.payload.isSoundIfSummed), body, content_type, application, event, epoch, event_sequence, event_session
        FROM notification JOIN payload ON payload.sequence = ifnull(payload_at, notification.sequence)
        WHERE notification.sequence = ?
        """

    static func payload(of sequence: NotificationSequence, _ db: Database) throws -> MessagePayload? {
        try PreparedStatement(db, selectPayload).first({ $0.bind(sequence.value) }) { row in
            guard row.bool() else {
                throw StoreError(.corrupt, "the payload of notification \(sequence) is not as it was written")
            }
            return try row.payload()
        }
    }

    static func notification(_ id: NotificationID, _ db: Database) throws -> StoredNotification? {
        let found = try PreparedStatement(db, selectOne).first({ $0.bind(id.text) }) { row in
            try notification(from: &row, NotificationCaches())
        }
        guard var notification = found else { return nil }
        notification.payload = try payload(of: notification.sequence, db)
        notification.attempts = try attempts(of: notification.sequence, db)
        return notification
    }

    /// The notification with its payload, and without its attempts.
    static func notification(_ sequence: NotificationSequence, _ db: Database) throws -> StoredNotification? {
        let found = try PreparedStatement(db, selectBySequence).first({ $0.bind(sequence.value) }) { row in
            try notification(from: &row, NotificationCaches())
        }
        guard var notification = found else { return nil }
        notification.payload = try payload(of: sequence, db)
        return notification
    }

    static func notifications(
        matching filter: NotificationFilter, limit: Int, _ db: Database
    ) throws -> [StoredNotification] {
        let caches = NotificationCaches()
        var notifications: [StoredNotification] = []
        for part in NotificationQuery(filter).parts where notifications.count < limit {
            let room = limit - notifications.count
            try PreparedStatement(db, part.sql).forEach({ part.bind(&$0, limit: room) }) { row in
                notifications.append(try notification(from: &row, caches))
            }
        }
        return notifications
    }

    static func census(_ db: Database) throws -> NotificationCensus {
        var census = NotificationCensus(accepted: 0, byState: [:])
        try PreparedStatement(db, selectCensus).forEach { row in
            let text = row.optionalText()
            guard let text else { return census.accepted = row.int() }
            guard let state = NotificationState(rawValue: text) else {
                throw StoreError(.corrupt, "a notification in the database has an unknown state")
            }
            let count = row.int()
            census.byState[state, default: 0] += count
            if row.bool() { census.forgotten += count }
        }
        return census
    }

    static func notification(
        from row: inout ColumnReader, _ caches: NotificationCaches
    ) throws -> StoredNotification {
        StoredNotification(
            try row.header(caches), source: PluginID(unchecked: try row.cached(in: caches.source)),
            replayOf: row.optionalText().map(NotificationID.init(unchecked:)), decision: try row.decision(caches),
            state: try row.state(), reason: row.optionalText(), settledAt: row.optionalTime(),
            progress: row.progress())
    }

    private static func attempts(of sequence: NotificationSequence, _ db: Database) throws -> [AttemptRecord] {
        var attempts: [AttemptRecord] = []
        try PreparedStatement(db, selectAttempts).forEach({ $0.bind(sequence.value) }) { row in
            attempts.append(
                AttemptRecord(
                    sequence: sequence, number: row.int(), session: SessionID(unchecked: row.text()),
                    startedAt: row.time(),
                    status: row.optionalInt(), failure: try row.failure(), retryAfterSeconds: row.optionalInt(),
                    metrics: row.metrics(), responseExcerpt: row.bytes(), answerFault: row.optionalText()))
        }
        return attempts
    }
}

extension DedupeKey {
    /// Three parameters: application, source, key.
    func bind(to binder: inout ArgumentBinder) {
        binder.bind(application.text)
        binder.bind(source.text)
        binder.bind(key)
    }
}
