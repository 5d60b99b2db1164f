import GRDB
import PredicateEngine
import Router
import RouterPlugin

extension ChangeWriter {
    private static let putApplication = CheckedTable.application.insert(
        "id, " + applicationColumns,
        end: "ON CONFLICT (id) DO UPDATE SET " + CheckedTable.application.replacing(applicationColumns)
            + " WHERE application.is_deleting = 0")
    private static let applicationColumns = """
        display_name, supports_multiple_scenes, user_activity_types, delegate_url, delegate_keys,
        prefers_requires_can, timeout_seconds, max_in_flight_per_session, retry_schedule, statuses,
        reroute_on_exhausted, reroute_on_timeout, weight, overtaken_after, life_cycle_events, single_scene,
        onboarding_configured, demo_configuration, closes_with_last_scene, prompts, keeps_held_on_reset,
        covers_in_background, passcode_policy, observers, requires_content_id, broadcasts, delegate_format
        """

    private static let putConfiguration = CheckedTable.sceneConfiguration.insert(
        "application, position, name, role, endpoint_url, endpoint_keys, activity_types, endpoint_format")

    private static let insertAnswer = """
        INSERT INTO kept_answer (application, source, key, created, kept_at) VALUES (?, ?, ?, ?, ?)
        """
    private static let insertActivation = """
        INSERT INTO kept_answer (application, source, key, session_made, session, fingerprint, kept_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    private static let insertRequest = """
        INSERT INTO kept_answer (application, source, key, fingerprint, kept_at) VALUES (?, ?, ?, ?, ?)
        """

    // The parameters of the two statements are the same and in the same order.
    private static let sessionColumns = [
        "role", "configuration", "device", "activation_state", "can_activate", "prefers_to_activate",
        "preference_level", "endpoint_url", "endpoint_keys", "state_restoration_activity", "user_info", "lease_seconds",
        "lease_expires_at", "last_activated_at", "disabled", "disabled_at", "epoch", "last_event", "is_told",
        "discarded_at", "observers", "endpoint_format", "while_away",
    ]
    private static let insertSession = CheckedTable.session.insert(
        (sessionColumns + ["creation_sequence", "application", "id"]).joined(separator: ", "))
    private static let updateSession = CheckedTable.session.update(
        sessionColumns.enumerated().map { (column: $1, value: "?\($0 + 1)") },
        where: "creation_sequence = ?24 AND application = ?25 AND id = ?26")

    func put(_ application: Application) throws {
        let delegate = try keys.encode(application.delegate, of: .delegate(application.id))
        let written = try PreparedStatement(db, Self.putApplication).run {
            $0.bind(application.id.text)
            $0.bind(application.displayName)
            $0.bind(application.manifest.supportsMultipleScenes)
            $0.bind(TextList.encode(application.manifest.userActivityTypes))
            $0.bind(application.delegate?.url)
            $0.bind(delegate)
            $0.bind(application.routing.prefersRequiresCan)
            $0.bind(application.delivery.timeoutSeconds)
            $0.bind(application.delivery.maxInFlightPerSession)
            $0.bind(TextList.encode(application.delivery.retrySchedule))
            $0.bind(TextList.encode(application.delivery.statuses.words.flatMap { [$0.pattern, $0.action] }))
            $0.bind(application.delivery.reroute.onExhausted)
            $0.bind(application.delivery.reroute.onTimeout)
            $0.bind(application.delivery.weight)
            $0.bind(application.delivery.headOfLine.overtakenAfter)
            $0.bind(application.delivery.lifeCycleEvents)
            $0.bind(application.manifest.allowsOneSceneOnly)
            $0.bind(application.gates.onboarding)
            $0.bind(application.gates.passcode.map { PolicyText.encode($0, of: application.gates) })
            $0.bind(TextList.encode(application.observers.map(\.text)))
            $0.bind(application.routing.requiresContentID)
            $0.bind(application.routing.broadcasts ? Int64(1) : nil)
            $0.bind(FormatText.encode(application.delegate?.format))
        }
        guard written == 1 else {
            throw StoreError(.conflict, "the application \(application.id) is being deleted")
        }
        try PreparedStatement(db, "DELETE FROM scene_configuration WHERE application = ?").run {
            $0.bind(application.id.text)
        }
        for (position, configuration) in application.manifest.sceneConfigurations.enumerated() {
            let place = KeyColumn.Place.configuration(application.id, configuration.name)
            let keys = try keys.encode(configuration.endpoint, of: place)
            try PreparedStatement(db, Self.putConfiguration).run {
                $0.bind(application.id.text)
                $0.bind(position)
                $0.bind(configuration.name)
                $0.bind(configuration.role)
                $0.bind(configuration.endpoint?.url)
                $0.bind(keys)
                $0.bind(TextList.encode(configuration.activityTypes))
                $0.bind(FormatText.encode(configuration.endpoint?.format))
            }
        }
    }

    /// A number that is new makes a new session, in place of one with the same key; one that is known must be the
    /// session's own.
    mutating func put(_ session: SceneSession) throws {
        if try takeCreation(session.creationSequence) {
            try delete(session.key)
            try run(Self.insertSession, session)
        } else if try run(Self.updateSession, session) != 1 {
            throw StoreError(.conflict, "the creation sequence \(session.creationSequence) has been given before")
        }
    }

    func delete(_ key: SessionKey) throws {
        try PreparedStatement(db, "DELETE FROM session WHERE application = ? AND id = ?").run {
            $0.bind(key.application.text)
            $0.bind(key.session.text)
        }
    }

    func keep(_ answer: KeptAnswer, for key: DedupeKey, at time: Timestamp) throws {
        switch answer {
        case .request(let fingerprint):
            try fingerprint.withUnsafeBufferPointer { fingerprint in
                _ = try PreparedStatement(db, Self.insertRequest).run {
                    key.bind(to: &$0)
                    $0.bindInPlace(fingerprint)
                    $0.bind(time.milliseconds)
                }
            }
        case .session(let created):
            try PreparedStatement(db, Self.insertAnswer).run {
                key.bind(to: &$0)
                $0.bind(created)
                $0.bind(time.milliseconds)
            }
        case .activation(let fingerprint, let session, let created):
            try fingerprint.withUnsafeBufferPointer { fingerprint in
                _ = try PreparedStatement(db, Self.insertActivation).run {
                    key.bind(to: &$0)
                    $0.bind(created)
                    $0.bind(session.text)
                    $0.bindInPlace(fingerprint)
                    $0.bind(time.milliseconds)
                }
            }
        }
    }

    @discardableResult
    private func run(_ sql: String, _ session: SceneSession) throws -> Int {
        let keys = try keys.encode(session.endpoint, of: .session(session.key))
        return try PreparedStatement(db, sql).run {
            $0.bind(session.role)
            $0.bind(session.configuration)
            $0.bind(session.device?.text)
            $0.bind(Int64(session.activationState.rawValue))
            $0.bind(session.conditions.canActivate.description)
            $0.bind(session.conditions.prefersToActivate.description)
            $0.bind(session.conditions.preferenceLevel)
            $0.bind(session.endpoint?.url)
            $0.bind(keys)
            $0.bind(session.stateRestorationActivity.map(text))
            $0.bind(text(session.userInfo))
            $0.bind(session.leaseSeconds)
            $0.bind(session.leaseExpiresAt?.milliseconds)
            $0.bind(session.lastActivatedAt?.milliseconds)
            $0.bind(session.disabled?.reason.column)
            $0.bind(session.disabled?.since?.milliseconds)
            $0.bind(session.connection.epoch)
            $0.bind(session.connection.lastEvent)
            $0.bind(session.connection.isTold)
            $0.bind(session.discardedAt?.milliseconds)
            $0.bind(TextList.encode(session.observers.map(\.text)))
            $0.bind(FormatText.encode(session.endpoint?.format))
            $0.bind(session.whileAway?.rawValue)
            $0.bind(session.creationSequence)
            $0.bind(session.key.application.text)
            $0.bind(session.key.session.text)
        }
    }

    private func text(_ json: JSONDocument) -> String { String(decoding: json.bytes, as: UTF8.self) }
}
