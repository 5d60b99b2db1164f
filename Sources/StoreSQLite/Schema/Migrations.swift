import GRDB

/// The schema, as the sequence of steps that made it.
///
/// Append only: a migration that has been released is never edited, for there are databases that have run it. A change
/// is a new step at the end. A database whose version is greater is refused.
///
/// - Texts are compared byte by byte (`BINARY`, SQLite's default): an id in NFC and the same id in NFD are two ids.
/// - Times are milliseconds since 1970 in UTC.
/// - States, tiers and reasons are the words that the API uses.
enum Migrations {
    /// All steps in order: a name and the statements.
    private static let steps: [(name: String, statements: [String])] = [
        ("first-schema", [applications, sessions, notifications, notificationIndexes, ledger]),
        ("answers-and-traces", [answersAndTraces]),
        ("retention", [retention]),
        ("signing-keys", [signingKeys]),
        ("statuses-and-reroutes", [statusesAndReroutes]),
        ("shares-and-order", [sharesAndOrder]),
        ("replays", [replays]),
        ("scene-events", [sceneEvents]),
        ("answers", [answers]),
        ("activations", [activations]),
        ("gates", [gates]),
        ("passcodes", [passcodes]),
        ("observers", [observers]),
        ("left-at", [leftAt]),
        ("disabled-at", [disabledAt]),
        ("required-content-ids", [requiredContentIDs]),
        ("sources", [sources]),
        ("delivery-formats", [deliveryFormats]),
        ("resource-sets", [resourceSets]),
        ("log-volume", [logVolume, keyIndex]),
        ("database-id", [databaseID]),
        ("lists-by-tenant", [listsByTenant]),
        ("row-checks", [rowChecks]),
        ("rules", [rules]),
        ("deletions", [deletions]),
        ("gate-resets", [gateResets]),
        ("covers", [covers]),
        ("device-configurations", [deviceConfigurations]),
        ("gate-operations", [gateOperations]),
        ("broadcasts", [broadcasts]),
        ("delivery-numbers", [deliveryNumbers]),
        ("unlock-proofs", [unlockProofs]),
        ("while-away", [whileAway]),
        ("shared-payloads", [sharedPayloads]),
        ("api-keys", [apiKeys]),
        ("change-log", [changeLog]),
    ]

    /// The steps' names as the database keeps them, in order.
    static var names: [String] { steps.enumerated().map { "\($0 + 1)-\($1.name)" } }

    /// How many steps there are: SQLite's `user_version` of a database that has run them all.
    static var version: Int32 { Int32(steps.count) }

    static func migrator() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for (place, step) in steps.enumerated() {
            migrator.registerMigration(names[place]) { db in
                for statements in step.statements { try db.execute(sql: statements) }
                if step.name == "log-volume" {
                    try KeyHash.install(on: db)
                    try db.execute(sql: keyIndexRows)
                }
                if step.name == "row-checks" {
                    try RowSum.install(on: db)
                    try db.execute(sql: rowCheckValues)
                }
                if step.name == "rules" {
                    try RowSum.install(on: db)
                    try db.execute(sql: rulesValues)
                }
                if step.name == "deletions" {
                    try RowSum.install(on: db)
                    try db.execute(sql: deletionRowChecks)
                }
                try db.execute(sql: "PRAGMA user_version = \(place + 1)")
            }
        }
        return migrator
    }

    private static let applications = """
        -- A tenant and its scene manifest. Lists are JSON arrays.
        CREATE TABLE application (
          id TEXT NOT NULL PRIMARY KEY,
          display_name TEXT NOT NULL,
          supports_multiple_scenes INTEGER NOT NULL,
          user_activity_types TEXT NOT NULL,
          delegate_url TEXT,
          delegate_secret TEXT,
          prefers_requires_can INTEGER NOT NULL,
          timeout_seconds INTEGER NOT NULL,
          max_in_flight_per_session INTEGER NOT NULL,
          retry_schedule TEXT NOT NULL
        ) STRICT;

        -- The scene configurations of a manifest, in its order.
        CREATE TABLE scene_configuration (
          application TEXT NOT NULL REFERENCES application(id) ON DELETE CASCADE,
          position INTEGER NOT NULL,
          name TEXT NOT NULL,
          role TEXT NOT NULL,
          endpoint_url TEXT,
          endpoint_secret TEXT,
          activity_types TEXT NOT NULL,
          PRIMARY KEY (application, position)
        ) STRICT, WITHOUT ROWID;
        """

    private static let sessions = """
        -- A scene session. The order of creation is the order of the rows, so that recovery reads the table once from
        -- front to end.
        CREATE TABLE session (
          creation_sequence INTEGER PRIMARY KEY,
          application TEXT NOT NULL REFERENCES application(id) ON DELETE CASCADE,
          id TEXT NOT NULL,
          role TEXT NOT NULL,
          configuration TEXT NOT NULL,
          device TEXT,
          activation_state INTEGER NOT NULL, -- 0 unattached, 1 background, 2 foregroundInactive, 3 foregroundActive
          can_activate TEXT NOT NULL,        -- predicates in canonical form
          prefers_to_activate TEXT NOT NULL,
          preference_level INTEGER NOT NULL,
          endpoint_url TEXT,
          endpoint_secret TEXT,
          state_restoration_activity TEXT,   -- JSON
          user_info TEXT NOT NULL,           -- JSON
          lease_seconds INTEGER,
          lease_expires_at INTEGER,
          last_activated_at INTEGER,
          disabled TEXT,
          UNIQUE (application, id)
        ) STRICT;
        """

    private static let notifications = """
        -- An accepted notification, its decision and where its delivery stands: everything that changes, and nothing
        -- that is large. It outlives its application.
        CREATE TABLE notification (
          sequence INTEGER PRIMARY KEY,
          id TEXT NOT NULL UNIQUE,
          application TEXT NOT NULL,
          source TEXT NOT NULL,
          device TEXT,
          content_id TEXT,
          priority INTEGER NOT NULL,
          immediate INTEGER NOT NULL,        -- 1: to be tried at once or never
          expires_at INTEGER,
          collapse_id TEXT,
          received_at INTEGER NOT NULL,
          tier TEXT NOT NULL,
          session TEXT,
          decision_reason TEXT NOT NULL,
          vetoes TEXT,                       -- a JSON array of session, rule, reason, session, rule, reason, …
          reroute_of TEXT,
          registry_version INTEGER NOT NULL, -- the bits of an unsigned number
          state TEXT NOT NULL,
          held_until INTEGER,
          settlement_reason TEXT,
          settled_at INTEGER,
          attempts INTEGER NOT NULL DEFAULT 0,
          failures INTEGER NOT NULL DEFAULT 0,
          rejections INTEGER NOT NULL DEFAULT 0,
          not_before INTEGER
        ) STRICT;

        -- The bytes as received; apart, so that a settlement rewrites none of their pages.
        CREATE TABLE payload (
          sequence INTEGER PRIMARY KEY,
          body BLOB NOT NULL
        ) STRICT;

        -- The keys under which senders may repeat a notification: the truth about duplicates.
        CREATE TABLE dedupe_key (
          application TEXT NOT NULL,
          source TEXT NOT NULL,
          key TEXT NOT NULL,
          sequence INTEGER NOT NULL,
          PRIMARY KEY (application, source, key)
        ) STRICT, WITHOUT ROWID;

        -- Webhook requests. Rows are added, never changed. Durations are microseconds.
        CREATE TABLE attempt (
          sequence INTEGER NOT NULL,
          number INTEGER NOT NULL,
          session TEXT NOT NULL,
          started_at INTEGER NOT NULL,
          status INTEGER,
          failure_kind TEXT,
          failure_curl_code INTEGER,
          failure_message TEXT,
          retry_after_seconds INTEGER,
          name_lookup INTEGER NOT NULL,
          connect INTEGER NOT NULL,
          tls_handshake INTEGER NOT NULL,
          first_byte INTEGER NOT NULL,
          total INTEGER NOT NULL,
          remote_address TEXT,
          reused_connection INTEGER NOT NULL,
          http_version TEXT,
          response_excerpt BLOB NOT NULL,
          PRIMARY KEY (sequence, number)
        ) STRICT, WITHOUT ROWID;
        """

    private static let notificationIndexes = """
        -- The rows that recovery reads. It holds unsettled notifications and nothing else, however long the history is.
        CREATE INDEX notification_unsettled ON notification (sequence) WHERE state IN ('held', 'waiting');
        -- Lists by state, and the census, which reads this index alone.
        CREATE INDEX notification_by_state ON notification (state);
        -- Lists, newest first: the row's own number stands last in every index.
        CREATE INDEX notification_by_application ON notification (application);
        CREATE INDEX notification_by_session ON notification (session) WHERE session IS NOT NULL;
        CREATE INDEX notification_by_content ON notification (content_id) WHERE content_id IS NOT NULL;
        CREATE INDEX notification_by_time ON notification (received_at);
        """

    private static let ledger = """
        -- One row: the greatest numbers ever given, which are not given again even if their rows are gone, and how many
        -- notifications were ever accepted, which the census must add up to.
        CREATE TABLE ledger (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          last_notification INTEGER NOT NULL,
          last_session INTEGER NOT NULL,
          accepted INTEGER NOT NULL
        ) STRICT;
        INSERT INTO ledger VALUES (1, 0, 0, 0);
        """

    private static let answersAndTraces = """
        -- W3C Trace Context, passed on to the receiver.
        ALTER TABLE notification ADD COLUMN traceparent TEXT;
        -- The id of the notification that is sent once more.
        ALTER TABLE notification ADD COLUMN replay_of TEXT;
        -- The state in which it ends unless the attempt under way succeeds.
        ALTER TABLE notification ADD COLUMN recall TEXT;

        -- The first answer, for senders that repeat themselves. A notification without a row was put into a lane
        -- at once and has had no other decision since, as nearly all have: its own row says all.
        CREATE TABLE first_answer (
          sequence INTEGER PRIMARY KEY,
          tier TEXT NOT NULL,
          session TEXT,
          decision_reason TEXT NOT NULL,
          vetoes TEXT,
          reroute_of TEXT,
          registry_version INTEGER NOT NULL,
          state TEXT NOT NULL
        ) STRICT;

        -- The memory of requests that clients may repeat: a digest of a batch, or whether a session was new.
        CREATE TABLE kept_answer (
          application TEXT NOT NULL,
          source TEXT NOT NULL,
          key TEXT NOT NULL,
          fingerprint BLOB,
          created INTEGER,
          CHECK ((fingerprint IS NULL) <> (created IS NULL)),
          PRIMARY KEY (application, source, key)
        ) STRICT, WITHOUT ROWID;
        """

    private static let retention = """
        -- Notifications in the order of forgetting. Settlements come in the order of time, so that a row is added at the end.
        CREATE INDEX notification_by_settlement ON notification (settled_at) WHERE settled_at IS NOT NULL;
        -- The keys that go with a notification.
        CREATE INDEX dedupe_key_by_notification ON dedupe_key (sequence);

        -- When the answer was given; of those that were kept before, now.
        ALTER TABLE kept_answer ADD COLUMN kept_at INTEGER NOT NULL DEFAULT 0;
        UPDATE kept_answer SET kept_at = unixepoch() * 1000;
        CREATE INDEX kept_answer_by_time ON kept_answer (kept_at);

        -- How many notifications are gone, by the state that they ended in: the census still counts them.
        CREATE TABLE forgotten (
          state TEXT NOT NULL PRIMARY KEY,
          count INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- History is added to and deleted, never written anew.
        CREATE TRIGGER attempt_is_never_changed BEFORE UPDATE ON attempt
        BEGIN SELECT RAISE(ABORT, 'an attempt is never changed'); END;
        """

    private static let signingKeys = """
        -- The keys of an endpoint, all in one value, which may be sealed; see `KeyColumn`. A secret that stood alone was
        -- valid for ever.
        ALTER TABLE application ADD COLUMN delegate_keys BLOB;
        UPDATE application SET delegate_keys = CAST(json_array(delegate_secret, '', '') AS BLOB)
          WHERE delegate_secret IS NOT NULL;
        ALTER TABLE application DROP COLUMN delegate_secret;
        ALTER TABLE scene_configuration ADD COLUMN endpoint_keys BLOB;
        UPDATE scene_configuration SET endpoint_keys = CAST(json_array(endpoint_secret, '', '') AS BLOB)
          WHERE endpoint_secret IS NOT NULL;
        ALTER TABLE scene_configuration DROP COLUMN endpoint_secret;
        ALTER TABLE session ADD COLUMN endpoint_keys BLOB;
        UPDATE session SET endpoint_keys = CAST(json_array(endpoint_secret, '', '') AS BLOB)
          WHERE endpoint_secret IS NOT NULL;
        ALTER TABLE session DROP COLUMN endpoint_secret;
        -- 1: secrets that were plain have been sealed, and the file still has their old bytes in its free space.
        ALTER TABLE ledger ADD COLUMN rewrite_pending INTEGER NOT NULL DEFAULT 0;
        """

    private static let statusesAndReroutes = """
        -- A JSON array of status, action, status, action, …, in the words of the API.
        ALTER TABLE application ADD COLUMN statuses TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE application ADD COLUMN reroute_on_exhausted INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE application ADD COLUMN reroute_on_timeout INTEGER NOT NULL DEFAULT 0;
        """

    private static let sharesAndOrder = """
        ALTER TABLE application ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
        -- After how many attempts a delivery that waits for its retry may be overtaken; NULL for never.
        ALTER TABLE application ADD COLUMN overtaken_after INTEGER;
        """

    private static let replays = """
        -- Replays, and their progress. The columns of the filter are NULL for any.
        CREATE TABLE replay (
          id TEXT NOT NULL PRIMARY KEY,
          application TEXT,
          state TEXT,
          session TEXT,
          content_id TEXT,
          since INTEGER,
          until INTEGER,
          per_second INTEGER NOT NULL,
          matched INTEGER NOT NULL,
          through INTEGER NOT NULL,
          created_at INTEGER NOT NULL,
          request_key TEXT,
          request_fingerprint BLOB,
          position INTEGER NOT NULL,
          replayed INTEGER NOT NULL,
          skipped INTEGER NOT NULL,
          progress TEXT NOT NULL,            -- running, completed, cancelled
          resumes_at INTEGER NOT NULL,
          ended_at INTEGER,
          CHECK ((request_key IS NULL) = (request_fingerprint IS NULL))
        ) STRICT, WITHOUT ROWID;
        """

    private static let sceneEvents = """
        -- Whether scenes and the delegate are told of the life cycle. Those that were registered when there were no
        -- events hear of none until they are registered anew.
        ALTER TABLE application ADD COLUMN life_cycle_events INTEGER NOT NULL DEFAULT 0;

        -- How often a session has been connected, how many events there were since, and whether it is unattached and was
        -- told to connect.
        ALTER TABLE session ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE session ADD COLUMN last_event INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE session ADD COLUMN is_told INTEGER NOT NULL DEFAULT 0;
        UPDATE session SET epoch = 1 WHERE activation_state > 0;
        -- When it was discarded; it is there until its scene has been told.
        ALTER TABLE session ADD COLUMN discarded_at INTEGER;

        -- An event is kept like a notification. Its type; NULL for a notification. What the delegate is told has no number.
        ALTER TABLE notification ADD COLUMN event TEXT;
        ALTER TABLE notification ADD COLUMN epoch INTEGER;
        ALTER TABLE notification ADD COLUMN event_sequence INTEGER;
        CREATE INDEX notification_by_event ON notification (event) WHERE event IS NOT NULL;
        """

    private static let answers = """
        -- Why what the receiver answered was not done.
        ALTER TABLE attempt ADD COLUMN answer_fault TEXT;
        """

    private static let activations = """
        -- 1: the manifest says that there is one scene at a time. Where it says nothing, any number may register.
        ALTER TABLE application ADD COLUMN single_scene INTEGER NOT NULL DEFAULT 0;
        -- What it is to its receiver; NULL for a push notification.
        ALTER TABLE notification ADD COLUMN kind TEXT;
        CREATE INDEX notification_by_kind ON notification (kind) WHERE kind IS NOT NULL;
        -- The session that the delegate is asked about.
        ALTER TABLE notification ADD COLUMN event_session TEXT;
        -- The session that a request has activated, and 1 if it was made for that; beside the request's fingerprint.
        ALTER TABLE kept_answer ADD COLUMN session TEXT;
        ALTER TABLE kept_answer ADD COLUMN session_made INTEGER;
        """

    private static let gates = """
        -- The onboarding gate: NULL where it is off, as for all that were registered before there was one; else whether the
        -- application is configured.
        ALTER TABLE application ADD COLUMN onboarding_configured INTEGER;
        ALTER TABLE application ADD COLUMN demo_configuration TEXT;
        ALTER TABLE application ADD COLUMN closes_with_last_scene INTEGER NOT NULL DEFAULT 0;
        -- A JSON array of language, prompt, text, language, …
        ALTER TABLE application ADD COLUMN prompts TEXT NOT NULL DEFAULT '[]';

        -- Where gates stand that something has happened to. They outlive being switched off.
        CREATE TABLE gate (
          application TEXT NOT NULL REFERENCES application(id) ON DELETE CASCADE,
          device TEXT NOT NULL,              -- empty for the gate of no device
          state TEXT NOT NULL,
          responsible TEXT,
          term INTEGER NOT NULL,
          onboarding_id TEXT,
          progress TEXT,                     -- a JSON array of operation, step, number, total, message, parameters …
          PRIMARY KEY (application, device)
        ) STRICT, WITHOUT ROWID;

        -- The device of the gate that holds it, empty for that of no device; NULL if no gate does.
        ALTER TABLE notification ADD COLUMN held_by TEXT;
        """

    private static let passcodes = """
        -- The policy of passcodes as a JSON object in the words of the API; NULL: there are none.
        ALTER TABLE application ADD COLUMN passcode_policy TEXT;

        -- The passcode of an application on a device, and those that try it.
        CREATE TABLE passcode_lock (
          application TEXT NOT NULL REFERENCES application(id) ON DELETE CASCADE,
          device TEXT NOT NULL,              -- empty: of no device
          hash BLOB,                         -- may be sealed; see `KeyColumn`
          chosen_at INTEGER,
          device_key BLOB,
          tries INTEGER NOT NULL,
          trial INTEGER NOT NULL,
          is_on_trial INTEGER NOT NULL,
          not_before INTEGER,
          challenge TEXT,
          challenge_expires_at INTEGER,
          challenge_term INTEGER,
          proven_term INTEGER,
          locks_at INTEGER,
          CHECK ((challenge IS NULL) = (challenge_expires_at IS NULL)),
          CHECK ((challenge IS NULL) = (challenge_term IS NULL)),
          UNIQUE (application, device)
        ) STRICT;
        """

    private static let observers = """
        -- Receivers of events: a JSON array of names.
        ALTER TABLE application ADD COLUMN observers TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE session ADD COLUMN observers TEXT NOT NULL DEFAULT '[]';
        """

    private static let leftAt = """
        -- Since when an application is open and nobody is in its foreground. It was when the application is locked, by a
        -- policy that may be another one since: who finds nothing begins to count.
        ALTER TABLE passcode_lock RENAME COLUMN locks_at TO left_at;
        UPDATE passcode_lock SET left_at = NULL;
        """

    private static let disabledAt = """
        -- Since when a session takes no part; NULL for those that were disabled when nobody kept it.
        ALTER TABLE session ADD COLUMN disabled_at INTEGER;
        """

    private static let requiredContentIDs = """
        -- 1: notifications without a content id are refused.
        ALTER TABLE application ADD COLUMN requires_content_id INTEGER NOT NULL DEFAULT 0;
        """

    private static let sources = """
        -- The ways in of senders that do not speak the API.
        CREATE TABLE source (
          id TEXT NOT NULL UNIQUE,
          application TEXT NOT NULL REFERENCES application(id) ON DELETE CASCADE,
          definition TEXT NOT NULL,          -- a JSON object in the words of the API, without secrets
          secrets BLOB NOT NULL              -- may be sealed; see `KeyColumn`
        ) STRICT;
        CREATE INDEX source_by_application ON source (application);
        """

    private static let deliveryFormats = """
        -- The formats of endpoints: a JSON object of an id and options; NULL for the standard format.
        ALTER TABLE application ADD COLUMN delegate_format TEXT;
        ALTER TABLE scene_configuration ADD COLUMN endpoint_format TEXT;
        ALTER TABLE session ADD COLUMN endpoint_format TEXT;
        -- The media type of the payload; NULL for application/json.
        ALTER TABLE notification ADD COLUMN content_type TEXT;
        """

    private static let resourceSets = """
        -- The resources that were applied together under a name: a JSON array of kind, application, id, kind, …
        CREATE TABLE resource_set (
          name TEXT NOT NULL PRIMARY KEY,
          members TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let gateResets = """
        -- The last notification for the person from before the latest reset; NULL if none ended with it.
        ALTER TABLE gate ADD COLUMN forgotten_through INTEGER;
        -- 1: notifications that wait for a gate outlast its reset.
        ALTER TABLE application ADD COLUMN keeps_held_on_reset INTEGER;
        """

    private static let covers = """
        -- 1: scenes in the background of an open application are covered.
        ALTER TABLE application ADD COLUMN covers_in_background INTEGER;
        """

    private static let deviceConfigurations = """
        -- The configuration of a device, a JSON object; NULL if it has none.
        ALTER TABLE gate ADD COLUMN configuration TEXT;
        """

    private static let gateOperations = """
        -- The last report of each operation, a JSON array of such arrays as `progress` was; NULL if there is none.
        ALTER TABLE gate ADD COLUMN operations TEXT;
        -- The session that reported the last failure, reason, message: a JSON array; NULL if none has.
        ALTER TABLE gate ADD COLUMN failure TEXT;
        """

    private static let broadcasts = """
        -- 1: a request may ask for a notification for each session that can have it.
        ALTER TABLE application ADD COLUMN broadcasts INTEGER;
        -- The id of the first notification of its broadcast; NULL if it is of none. Those of a broadcast have sequences that
        -- follow one another.
        ALTER TABLE notification ADD COLUMN broadcast TEXT;
        """

    private static let deliveryNumbers = """
        -- Sessions whose deliveries have numbers, and the last number of each. The creation sequence tells a session from
        -- an earlier one of its name.
        CREATE TABLE numbering (
          application TEXT NOT NULL,
          session TEXT NOT NULL,
          creation INTEGER NOT NULL,
          last INTEGER NOT NULL,
          row_check INTEGER,
          PRIMARY KEY (application, session),
          FOREIGN KEY (application, session) REFERENCES session (application, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        -- The notification that has a number in a session. The row goes with the notification.
        CREATE TABLE numbered_delivery (
          creation INTEGER NOT NULL,
          number INTEGER NOT NULL,
          sequence INTEGER NOT NULL,
          row_check INTEGER,
          PRIMARY KEY (creation, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX numbered_delivery_by_sequence ON numbered_delivery (sequence);
        """

    private static let unlockProofs = """
        -- The issuer and the subject of the proof that has unlocked the gate, a JSON array; NULL if none has.
        ALTER TABLE gate ADD COLUMN proof TEXT;
        """

    private static let whileAway = """
        -- The place of deliveries while their receiver is away, `next` or `wait`; NULL for the default of the endpoint.
        ALTER TABLE session ADD COLUMN while_away TEXT;
        """

    private static let sharedPayloads = """
        -- The sequence under which `payload` has the body of a notification of a broadcast; NULL if that is its own. The row
        -- goes with the last notification that has it.
        ALTER TABLE notification ADD COLUMN payload_at INTEGER;
        CREATE INDEX notification_by_payload ON notification (payload_at) WHERE payload_at IS NOT NULL;
        """

    private static let apiKeys = """
        -- API keys created by requests: the SHA-256 of each, never the key.
        CREATE TABLE api_key (
          name TEXT NOT NULL PRIMARY KEY,
          digest BLOB NOT NULL,
          scopes TEXT NOT NULL,              -- a JSON array of the API's words
          application TEXT,                  -- NULL: all
          per_second INTEGER,                -- NULL: any number
          created_at INTEGER NOT NULL,
          row_check INTEGER
        ) STRICT, WITHOUT ROWID;
        """

    private static let changeLog = """
        -- Changes by requests: the name of the key, NULL in development mode; the operation; the path of the resource.
        CREATE TABLE change_log (
          number INTEGER PRIMARY KEY,
          key TEXT,
          operation TEXT NOT NULL,
          resource TEXT NOT NULL,
          application TEXT,                  -- NULL: none
          at INTEGER NOT NULL,
          row_check INTEGER
        ) STRICT;
        CREATE INDEX change_log_by_application ON change_log (application);
        """

    private static let databaseID = """
        -- Random bytes by which the database is known; every copy has them. See `DatabaseMarker`.
        ALTER TABLE ledger ADD COLUMN database_id BLOB;
        UPDATE ledger SET database_id = randomblob(16);
        """
}
