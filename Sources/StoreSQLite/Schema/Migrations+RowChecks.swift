/// Step 23: checksums of rows; see `CheckedTable`. The columns are those of this step, and stay so.
extension Migrations {
    static let rowChecks = [
        "ledger", "application", "scene_configuration", "session", "gate", "source", "resource_set", "replay",
        "passcode_lock", "notification", "payload", "attempt",
    ].map { "ALTER TABLE \($0) ADD COLUMN row_check INTEGER;" }.joined(separator: "\n")

    /// Runs after `rowChecks`, with the function `row_sum`. Settled notifications and attempts have no sum: their number has no
    /// bound, and recovery does not read them.
    static let rowCheckValues = """
        UPDATE ledger SET row_check = row_sum(
          id, last_notification, last_session, accepted, listed_segments, key_secret, keys_indexed, keys_target,
          keys_slice, database_id);
        UPDATE application SET row_check = row_sum(
          id, display_name, supports_multiple_scenes, user_activity_types, delegate_url, prefers_requires_can,
          timeout_seconds, max_in_flight_per_session, retry_schedule, delegate_keys, statuses, reroute_on_exhausted,
          reroute_on_timeout, weight, overtaken_after, life_cycle_events, single_scene, onboarding_configured,
          demo_configuration, closes_with_last_scene, prompts, passcode_policy, observers, requires_content_id,
          delegate_format);
        UPDATE scene_configuration SET row_check = row_sum(
          application, position, name, role, endpoint_url, activity_types, endpoint_keys, endpoint_format);
        UPDATE session SET row_check = row_sum(
          creation_sequence, application, id, role, configuration, device, activation_state, can_activate,
          prefers_to_activate, preference_level, endpoint_url, state_restoration_activity, user_info, lease_seconds,
          lease_expires_at, last_activated_at, disabled, endpoint_keys, epoch, last_event, is_told, discarded_at,
          observers, disabled_at, endpoint_format);
        UPDATE gate SET row_check = row_sum(application, device, state, responsible, term, onboarding_id, progress);
        UPDATE source SET row_check = row_sum(id, application, definition, secrets);
        UPDATE resource_set SET row_check = row_sum(name, members);
        UPDATE replay SET row_check = row_sum(
          id, application, state, session, content_id, since, until, per_second, matched, through, created_at,
          request_key, request_fingerprint, position, replayed, skipped, progress, resumes_at, ended_at);
        UPDATE passcode_lock SET row_check = row_sum(
          application, device, hash, chosen_at, device_key, tries, trial, is_on_trial, not_before, challenge,
          challenge_expires_at, challenge_term, proven_term, left_at);
        UPDATE payload SET row_check = row_sum(sequence, body)
          WHERE sequence IN (SELECT sequence FROM notification WHERE state IN ('held', 'waiting'));
        UPDATE notification SET row_check = row_sum(
          sequence, id, application, source, device, content_id, priority, immediate, expires_at, collapse_id,
          received_at, tier, session, decision_reason, vetoes, reroute_of, registry_version, state, held_until,
          settlement_reason, settled_at, attempts, failures, rejections, not_before, traceparent, replay_of, recall,
          event, epoch, event_sequence, kind, event_session, held_by, content_type)
          WHERE state IN ('held', 'waiting');
        """
}
