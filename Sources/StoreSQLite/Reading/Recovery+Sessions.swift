import GRDB
import PredicateEngine
import Router
import RouterPlugin

extension Recovery {
    private static let selectSessions = """
        SELECT \(CheckedTable.session.isSound), creation_sequence, application, id, role, configuration, device, activation_state, can_activate,
               prefers_to_activate, preference_level, endpoint_url, endpoint_keys, endpoint_format,
               state_restoration_activity, user_info, lease_seconds, lease_expires_at, last_activated_at, disabled, disabled_at, epoch, last_event,
               is_told, discarded_at, observers, while_away
        FROM session ORDER BY creation_sequence
        """

    static func sessions(
        _ db: Database, _ keys: KeyColumn, _ count: RecoveryCount
    ) throws -> [SceneSession] {
        var sessions: [SceneSession] = []
        let reader = SessionReader(keys: keys)
        try PreparedStatement(db, selectSessions).forEach { row in
            try row.expectSound()
            sessions.append(try reader.session(from: &row))
            count.add()
        }
        return sessions
    }
}

/// Makes sessions of rows. Values that many sessions share are made once.
private struct SessionReader {
    private let keys: KeyColumn
    private let application = TextCache()
    private let role = TextCache()
    private let configuration = TextCache()
    private let canActivate = ByteCache(Self.predicate)
    private let prefersToActivate = ByteCache(Self.predicate)
    private let activity = ByteCache(Self.json)
    private let userInfo = ByteCache(Self.json)
    private let observers = ByteCache(Self.observers)
    private let format = ByteCache(Self.format)

    init(keys: KeyColumn) { self.keys = keys }

    func session(from row: inout ColumnReader) throws -> SceneSession {
        let creationSequence = row.int64()
        let key = SessionKey(
            application: ApplicationID(unchecked: try row.cached(in: application)),
            session: SessionID(unchecked: row.text()))
        let role = try row.cached(in: role)
        let configuration = try row.cached(in: configuration)
        let device = row.optionalText().map(DeviceID.init(unchecked:))
        guard let activationState = UInt8(exactly: row.int64()).flatMap(ActivationState.init(rawValue:)) else {
            throw StoreError(.corrupt, "the session \(creationSequence) has an unknown activation state")
        }
        let conditions = ActivationConditions(
            canActivate: try row.cached(in: canActivate), prefersToActivate: try row.cached(in: prefersToActivate),
            preferenceLevel: row.int())
        return SceneSession(
            key: key, role: role, configuration: configuration, device: device, activationState: activationState,
            conditions: conditions,
            endpoint: try keys.endpoint(
                row.optionalText(), row.optionalBytes(), try row.optionalCached(in: format) ?? .standard,
                of: .session(key)),
            stateRestorationActivity: try row.optionalCached(in: activity), userInfo: try row.cached(in: userInfo),
            leaseSeconds: row.optionalInt(), leaseExpiresAt: row.optionalTime(), lastActivatedAt: row.optionalTime(),
            creationSequence: creationSequence, disabled: try disabled(row.optionalText(), since: row.optionalTime()),
            connection: SceneConnection(epoch: row.int64(), lastEvent: row.int64(), isTold: row.bool()),
            discardedAt: row.optionalTime(), observers: try row.cached(in: observers),
            whileAway: try whileAway(row.optionalText()))
    }

    private static func predicate(_ bytes: UnsafeBufferPointer<UInt8>) throws(StoreError) -> Predicate {
        do {
            return try Predicate(format: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw StoreError(.corrupt, "a predicate of a session cannot be read")
        }
    }

    private static func json(_ bytes: UnsafeBufferPointer<UInt8>) throws(StoreError) -> JSONDocument {
        do {
            return try JSONDocument(parsing: Array(bytes))
        } catch {
            throw StoreError(.corrupt, "a JSON value of a session cannot be read")
        }
    }

    private static func observers(_ bytes: UnsafeBufferPointer<UInt8>) throws(StoreError) -> [PluginID] {
        try TextList.decode(String(decoding: bytes, as: UTF8.self)).map(PluginID.init(unchecked:))
    }

    private static func format(_ bytes: UnsafeBufferPointer<UInt8>) throws(StoreError) -> DeliveryFormatChoice {
        try FormatText.decode(String(decoding: bytes, as: UTF8.self))
    }

    private func whileAway(_ text: String?) throws(StoreError) -> WhileAway? {
        guard let text else { return nil }
        guard let place = WhileAway(rawValue: text) else {
            throw StoreError(.corrupt, "a session has an unknown place for deliveries while it is away")
        }
        return place
    }

    private func disabled(_ text: String?, since time: Timestamp?) throws(StoreError) -> Disabled? {
        guard let text else { return nil }
        guard let reason = DisabledReason(column: text) else {
            throw StoreError(.corrupt, "a session is disabled for an unknown reason")
        }
        return Disabled(reason, since: time)
    }
}
