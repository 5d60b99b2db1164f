/// The step `rules`: the rules in use, and the version of them that a decision was made under.
extension Migrations {
    static let rules = """
        -- The rules in use, one row at most: a JSON array of entries as in a configuration.
        CREATE TABLE rules (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          version INTEGER NOT NULL,
          origin TEXT NOT NULL,
          document BLOB NOT NULL,
          row_check INTEGER
        ) STRICT;
        -- 0: the decision was made before rules had versions, or without rules.
        ALTER TABLE notification ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE first_answer ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0;
        """

    /// Runs after `rules`, with the function `row_sum`: the sums of rows that were sound cover the new column too. Others stay,
    /// and are found as before.
    static let rulesValues = """
        UPDATE notification SET row_check = row_sum(\(notificationColumns), rules_version)
        WHERE row_check IS NOT NULL AND row_check = row_sum(\(notificationColumns));
        """

    /// The columns of step 23.
    private static let notificationColumns = """
        sequence, id, application, source, device, content_id, priority, immediate, expires_at, collapse_id,
        received_at, tier, session, decision_reason, vetoes, reroute_of, registry_version, state, held_until,
        settlement_reason, settled_at, attempts, failures, rejections, not_before, traceparent, replay_of, recall,
        event, epoch, event_sequence, kind, event_session, held_by, content_type
        """
}
