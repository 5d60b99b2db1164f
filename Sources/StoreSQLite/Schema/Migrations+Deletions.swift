/// Step 24: applications are deleted in many transactions; see `ChangeWriter+Deletions`.
extension Migrations {
    static let deletions = """
        -- 1: its deletion has begun. Its rows are deleted a bounded number at a time, and its own at last.
        ALTER TABLE application ADD COLUMN is_deleting INTEGER NOT NULL DEFAULT 0;

        -- Up to this sequence, the keys of senders are those of an application of this name that was deleted: they lead to
        -- nothing, and go with their notifications.
        CREATE TABLE key_floor (
          application TEXT NOT NULL PRIMARY KEY,
          sequence INTEGER NOT NULL,
          row_check INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX key_floor_by_sequence ON key_floor (sequence);
        """

    /// Runs after `deletions`, with the function `row_sum`.
    static let deletionRowChecks = """
        UPDATE application SET row_check = row_sum(
          id, display_name, supports_multiple_scenes, user_activity_types, delegate_url, prefers_requires_can,
          timeout_seconds, max_in_flight_per_session, retry_schedule, delegate_keys, statuses, reroute_on_exhausted,
          reroute_on_timeout, weight, overtaken_after, life_cycle_events, single_scene, onboarding_configured,
          demo_configuration, closes_with_last_scene, prompts, passcode_policy, observers, requires_content_id,
          delegate_format, is_deleting);
        """
}
