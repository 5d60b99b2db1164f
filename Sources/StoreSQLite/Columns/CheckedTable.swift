import GRDB
import Router

/// A table whose rows have a checksum in the column `row_check`, over all of their other columns.
///
///     INSERT, UPDATE of ChangeWriter and Resealing ──▶ row_check = row_sum(…) in the same statement
///     recovery, payloads, `database check`         ──▶ row_check IS row_sum(…)
///
/// Statements that write are made here, so that none of them forgets the sum. Rows of before schema 23 that recovery does not
/// read have none, and are not checked.
struct CheckedTable {
    let name: String
    /// The columns by which a row is named.
    let key: [String]
    /// In the order of the table.
    let columns: [String]
    /// The rows that are never without a sum, as a condition.
    let always: String
    /// The values of columns that an insertion leaves out, other than NULL.
    private let defaults: [String: String]

    private init(
        _ name: String, key: [String], _ columns: String, always: String = "1", defaults: [String: String] = [:]
    ) {
        self.name = name
        self.key = key
        self.columns = Self.names(columns)
        self.always = always
        self.defaults = defaults
    }

    static let column = "row_check"

    static let all = [
        ledger, application, keyFloor, sceneConfiguration, session, gate, source, resourceSet, replay, passcodeLock,
        notification, payload, attempt, rules, numbering, numberedDelivery, apiKey,
        changeLog,
    ]

    /// The sum of a row, as an expression.
    ///
    /// - Parameter values: Expressions in the place of columns.
    func sum(_ values: [String: String] = [:]) -> String {
        "\(RowSum.function)(\(columns.map { values[$0] ?? "\(name).\($0)" }.joined(separator: ", ")))"
    }

    /// Whether a row that always has a sum is as it was written, as an expression that is 1 or 0.
    var isSound: String { "\(name).\(Self.column) IS \(sum())" }

    /// Likewise, for a row that may have no sum.
    var isSoundIfSummed: String { "ifnull(\(name).\(Self.column) = \(sum()), 1)" }

    /// A statement that inserts a row.
    ///
    /// - Parameters:
    ///   - list: The columns that have a parameter, in this order.
    ///   - end: The end of the statement, such as an upsert clause.
    func insert(_ list: String, orReplace: Bool = false, end: String = "") -> String {
        let given = Self.names(list)
        var values = Dictionary(uniqueKeysWithValues: columns.map { ($0, defaults[$0] ?? "NULL") })
        for (place, column) in given.enumerated() { values[column] = "?\(place + 1)" }
        return """
            INSERT \(orReplace ? "OR REPLACE " : "")INTO \(name) (\(given.joined(separator: ", ")), \(Self.column))
            VALUES (\(given.indices.map { "?\($0 + 1)" }.joined(separator: ", ")), \(sum(values))) \(end)
            """
    }

    /// The assignments by which an insertion that finds its key replaces the row.
    func replacing(_ list: String) -> String {
        (Self.names(list) + [Self.column]).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    }

    /// A statement that changes columns, each by an expression of the row as it was and of numbered parameters.
    func update(_ changes: KeyValuePairs<String, String>, where condition: String) -> String {
        update(changes.map { (column: $0.key, value: $0.value) }, where: condition)
    }

    func update(_ changes: [(column: String, value: String)], where condition: String) -> String {
        let sum = sum(Dictionary(uniqueKeysWithValues: changes.map { ($0.column, "(\($0.value))") }))
        let assignments = changes.map { "\($0.column) = \($0.value)" } + ["\(Self.column) = \(sum)"]
        return "UPDATE \(name) SET \(assignments.joined(separator: ", ")) WHERE \(condition)"
    }

    /// The rows that are not as they were written, as a query of their keys in words.
    var damaged: String {
        let words = key.map { "'\($0) ' || \($0)" }.joined(separator: " || ', ' || ")
        return "SELECT \(words) FROM \(name) WHERE NOT ifnull(\(Self.column) = \(sum()), NOT (\(always)))"
    }

    /// A line about such a row.
    func description(ofDamaged key: String) -> String { "the row of \(name) with \(key) is not as it was written" }

    /// An error that names the first row that is not as it was written; nil if there is none.
    static func firstDamage(_ db: Database) throws -> StoreError? {
        for table in all {
            guard let key = try String.fetchOne(db, sql: "\(table.damaged) LIMIT 1") else { continue }
            let line = table.description(ofDamaged: key)
            return StoreError(.corrupt, "\(line); `routerd database check` lists all such rows")
        }
        return nil
    }

    private static func names(_ list: String) -> [String] {
        list.split { $0 == "," || $0.isWhitespace }.map(String.init)
    }
}

extension CheckedTable {
    static let ledger = CheckedTable(
        "ledger", key: ["id"],
        """
        id, last_notification, last_session, accepted, listed_segments, key_secret, keys_indexed, keys_target, keys_slice,
        database_id
        """)

    static let application = CheckedTable(
        "application", key: ["id"],
        """
        id, display_name, supports_multiple_scenes, user_activity_types, delegate_url, prefers_requires_can,
        timeout_seconds, max_in_flight_per_session, retry_schedule, delegate_keys, statuses, reroute_on_exhausted,
        reroute_on_timeout, weight, overtaken_after, life_cycle_events, single_scene, onboarding_configured,
        demo_configuration, closes_with_last_scene, prompts, passcode_policy, observers, requires_content_id,
        delegate_format, is_deleting, keeps_held_on_reset, covers_in_background, broadcasts
        """,
        defaults: ["is_deleting": "0"])

    static let keyFloor = CheckedTable("key_floor", key: ["application"], "application, sequence")

    static let sceneConfiguration = CheckedTable(
        "scene_configuration", key: ["application", "position"],
        "application, position, name, role, endpoint_url, activity_types, endpoint_keys, endpoint_format")

    static let session = CheckedTable(
        "session", key: ["creation_sequence"],
        """
        creation_sequence, application, id, role, configuration, device, activation_state, can_activate,
        prefers_to_activate, preference_level, endpoint_url, state_restoration_activity, user_info, lease_seconds,
        lease_expires_at, last_activated_at, disabled, endpoint_keys, epoch, last_event, is_told, discarded_at, observers,
        disabled_at, endpoint_format, while_away
        """)

    static let gate = CheckedTable(
        "gate", key: ["application", "device"],
        """
        application, device, state, responsible, term, onboarding_id, progress, forgotten_through, configuration,
        operations, failure, proof
        """)

    static let source = CheckedTable("source", key: ["id"], "id, application, definition, secrets")

    static let resourceSet = CheckedTable("resource_set", key: ["name"], "name, members")

    static let replay = CheckedTable(
        "replay", key: ["id"],
        """
        id, application, state, session, content_id, since, until, per_second, matched, through, created_at,
        request_key, request_fingerprint, position, replayed, skipped, progress, resumes_at, ended_at
        """)

    static let passcodeLock = CheckedTable(
        "passcode_lock", key: ["application", "device"],
        """
        application, device, hash, chosen_at, device_key, tries, trial, is_on_trial, not_before, challenge,
        challenge_expires_at, challenge_term, proven_term, left_at
        """)

    static let notification = CheckedTable(
        "notification", key: ["sequence"],
        """
        sequence, id, application, source, device, content_id, priority, immediate, expires_at, collapse_id, received_at,
        tier, session, decision_reason, vetoes, reroute_of, registry_version, state, held_until, settlement_reason,
        settled_at, attempts, failures, rejections, not_before, traceparent, replay_of, recall, event, epoch,
        event_sequence, kind, event_session, held_by, content_type, rules_version, broadcast, payload_at
        """,
        always: "state IN ('held', 'waiting')", defaults: ["attempts": "0", "failures": "0", "rejections": "0"])

    static let numbering = CheckedTable(
        "numbering", key: ["application", "session"], "application, session, creation, last")

    static let numberedDelivery = CheckedTable(
        "numbered_delivery", key: ["creation", "number"], "creation, number, sequence")

    static let rules = CheckedTable("rules", key: ["id"], "id, version, origin, document")

    static let apiKey = CheckedTable(
        "api_key", key: ["name"], "name, digest, scopes, application, per_second, created_at")

    static let changeLog = CheckedTable(
        "change_log", key: ["number"], "number, key, operation, resource, application, at")

    static let payload = CheckedTable("payload", key: ["sequence"], "sequence, body", always: "0")

    static let attempt = CheckedTable(
        "attempt", key: ["sequence", "number"],
        """
        sequence, number, session, started_at, status, failure_kind, failure_curl_code, failure_message,
        retry_after_seconds, name_lookup, connect, tls_handshake, first_byte, total, remote_address, reused_connection,
        http_version, response_excerpt, answer_fault
        """,
        always: "0")
}
