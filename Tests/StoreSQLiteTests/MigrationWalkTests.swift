import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// A database of each version is brought up to date, with a row in every table that the version has.
@Suite("Migrations, from every version")
struct MigrationWalkTests {
    @Test("a database of any version is upgraded and recovers", arguments: Migrations.names.indices)
    func everyVersionIsUpgraded(step: Int) throws {
        let directory = try TemporaryDirectory()
        let older = try DatabaseQueue(path: directory.file())
        try Migrations.migrator().migrate(older, upTo: Migrations.names[step])
        try older.write { db in
            try db.execute(sql: "PRAGMA application_id = \(DatabaseHeader.applicationID)")
            try Self.fill(db)
        }
        try older.close()
        let store = try SQLiteStore(path: directory.file())
        #expect(try store.settings().schemaVersion == Int(Migrations.version))
        let state = try store.recover()
        #expect(state.applications.map(\.id.text) == ["a"])
        #expect(state.applications.first?.delegate?.url == "https://e.example/d")
        #expect(state.sessions.map(\.key.session.text) == ["s"])
        #expect(state.unsettled.map(\.id.text) == ["ntf_1"])
        #expect(state.lastSequence.value == 1 && state.lastCreationSequence == 1)
        let stored = try #require(try store.notification(NotificationID(unchecked: "ntf_1")))
        #expect(stored.attempts.count == 1 && stored.payload == .json(Array("{}".utf8)))
        let list = NotificationFilter(session: SessionID(unchecked: "s"))
        #expect(try store.notifications(matching: list, limit: 9).count == 1)
        let key = DedupeKey(
            application: ApplicationID(unchecked: "a"), source: PluginID(unchecked: "push"), key: "k")
        // From step 20 on a row of the table alone is no key: it has a hash, and an entry in the index.
        if step < 19 { #expect(try store.receipt(for: key)?.id.text == "ntf_1") }
        try store.commit([.settle(NotificationSequence(1), .delivered, at: Timestamp(milliseconds: 9))])
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    /// A row in each table, of the columns that it has at this step.
    static func fill(_ db: Database) throws {
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_master
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' AND name <> 'ledger'
                ORDER BY name <> 'application', rowid
                """)
        for table in tables {
            let columns = try Row.fetchAll(db, sql: "PRAGMA table_info(\(table))").map { $0["name"] as String }
            let values = try columns.map { column in
                try #require(
                    Self.values["\(table).\(column)"] ?? Self.values[column],
                    "a new column needs a value here: \(table).\(column)")
            }
            try db.execute(
                sql: """
                    INSERT INTO \(table) (\(columns.joined(separator: ", ")))
                    VALUES (\(values.joined(separator: ", ")))
                    """)
        }
        try db.execute(
            sql: "UPDATE ledger SET last_notification = 1, last_session = 1, accepted = 1 + (SELECT "
                + "\(tables.contains("forgotten") ? "sum(count) FROM forgotten" : "0"))")
        if try db.columns(in: "dedupe_key").contains(where: { $0.name == "hash" }) {
            try KeyHash.install(on: db)
            try db.execute(sql: "UPDATE dedupe_key SET hash = key_hash(application, source, key)")
        }
        guard try db.columns(in: "ledger").contains(where: { $0.name == CheckedTable.column }) else { return }
        // Attempts are never changed, and may have no sum.
        try RowSum.install(on: db)
        for table in CheckedTable.all where table.name != "attempt" {
            // Some tables come at a later step; of the others, the columns that they have at this one.
            guard try db.tableExists(table.name) else { continue }
            let names = try db.columns(in: table.name).map(\.name)
            let columns = table.columns.filter(names.contains).joined(separator: ", ")
            try db.execute(sql: "UPDATE \(table.name) SET row_check = row_sum(\(columns))")
        }
    }

    private static let keys = "CAST('[\"whsec_d\",\"\",\"\"]' AS BLOB)"

    /// Literals by column, or by table and column.
    private static let values: [String: String] = {
        var values = [
            "application": "'a'", "sequence": "1", "session": "'s'", "source": "'push'", "key": "'k'", "number": "1",
            "endpoint_url": "'https://e.example/s'", "endpoint_secret": "'whsec_s'", "endpoint_keys": keys,
            "configuration": "'main'", "role": "'r'", "device": "''", "observers": "'[]'", "state": "'waiting'",
            "application.id": "'a'", "application.delegate_url": "'https://e.example/d'",
            "application.delegate_secret": "'whsec_d'", "application.delegate_keys": keys,
            "application.display_name": "'A'", "application.user_activity_types": "'[]'",
            "application.timeout_seconds": "15", "application.retry_schedule": "'[5]'", "application.statuses": "'[]'",
            "application.prompts": "'[]'", "application.demo_configuration": "'main'",
            "scene_configuration.name": "'main'", "activity_types": "'[]'", "scene_configuration.position": "0",
            "session.id": "'s'", "session.device": "NULL", "can_activate": "'TRUEPREDICATE'",
            "prefers_to_activate": "'FALSEPREDICATE'", "user_info": "'{}'", "creation_sequence": "1",
            "activation_state": "0", "preference_level": "0", "notification.id": "'ntf_1'",
            "notification.device": "NULL", "notification.attempts": "1", "tier": "'can'", "priority": "10",
            "decision_reason": "'because'", "received_at": "1", "registry_version": "1", "payload.body": "X'7B7D'",
            "started_at": "1", "status": "204", "response_excerpt": "X''", "first_answer.state": "'held'",
            "kept_answer.key": "'q'", "kept_answer.fingerprint": "X'01'", "kept_answer.kept_at": "1",
            "kept_answer.session": "NULL", "forgotten.state": "'delivered'", "forgotten.count": "1",
            "replay.id": "'rpl_1'", "replay.application": "NULL", "replay.state": "NULL", "replay.session": "NULL",
            "replay.progress": "'running'", "request_key": "'k'", "request_fingerprint": "X'01'",
            "gate.state": "'opened'", "source.id": "'src'", "source.secrets": "CAST('[]' AS BLOB)",
            "source.definition": "'\(definition)'", "resource_set.name": "'set'", "members": "'[]'",
            "operation": "'putKey'", "resource": "'/v1/keys/ci'", "api_key.name": "'ci'", "digest": "X'01'",
            "scopes": "'[\"read\"]'",
            "rules.version": "1", "rules.origin": "'request'", "rules.document": "X'5B5D'",
            "application.is_deleting": "0", "segment.number": "0", "list_entry.segment": "0", "hash": "1",
        ]
        let numbers = [
            "supports_multiple_scenes", "prefers_requires_can", "max_in_flight_per_session", "immediate", "failures",
            "rejections", "name_lookup", "connect", "tls_handshake", "first_byte", "total", "reused_connection",
            "reroute_on_exhausted", "reroute_on_timeout", "weight", "life_cycle_events", "single_scene",
            "closes_with_last_scene", "requires_content_id", "last_event", "is_told", "per_second", "matched",
            "through", "created_at", "replay.position", "replayed", "rules.id", "rules_version", "skipped",
            "resumes_at", "term", "tries", "trial",
            "is_on_trial", "earliest", "latest", "session.epoch", "creation", "last", "at",
        ]
        let absent = [
            "overtaken_after", "onboarding_configured", "passcode_policy", "delegate_format", "endpoint_format",
            "state_restoration_activity", "lease_seconds", "lease_expires_at", "last_activated_at", "disabled",
            "disabled_at", "discarded_at", "content_id", "expires_at", "collapse_id", "vetoes", "reroute_of",
            "held_until", "held_by", "settlement_reason", "settled_at", "not_before", "traceparent", "replay_of",
            "recall", "event", "epoch", "event_sequence", "kind", "event_session", "content_type", "failure_kind",
            "failure_curl_code", "failure_message", "retry_after_seconds", "remote_address", "http_version",
            "answer_fault", "created", "session_made", "since", "until", "ended_at", "responsible", "onboarding_id",
            "gate.progress", "passcode_lock.hash", "chosen_at", "device_key", "challenge", "challenge_expires_at",
            "challenge_term", "proven_term", "locks_at", "left_at", "row_check", "forgotten_through",
            "keeps_held_on_reset", "covers_in_background", "gate.configuration", "operations", "gate.failure",
            "gate.proof", "broadcasts", "broadcast", "while_away", "payload_at",
        ]
        for column in numbers { values[column] = "1" }
        for column in absent { values[column] = "NULL" }
        // An empty term: the notification is recent, and would be listed twice under a term of its own.
        values["list_entry.term"] = "''"
        return values
    }()

    private static var definition: String {
        let source = SourceDefinition(
            id: SourceID(unchecked: "src"), application: ApplicationID(unchecked: "a"),
            kind: PluginID(unchecked: "routerd.source.github"))
        return String(decoding: source.document, as: UTF8.self)
    }
}
