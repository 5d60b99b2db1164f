import GRDB
import PredicateEngine
import Router
import RouterPlugin
import Synchronization

/// Reads everything that the engine keeps in memory.
///
/// A million sessions pass through here before the daemon answers its first request: rows are read column by column
/// from one scan, and equal texts, predicates and JSON values are made once.
enum Recovery {
    /// The state without its unsettled notifications, and the ranges of their sequences, for `unsettled(in:_:_:)`.
    ///
    /// The caller has begun a transaction, so that all parts are of one moment.
    static func read(
        _ db: Database, _ keys: KeyColumn, telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws -> (state: RecoveredState, parts: [ClosedRange<Int64>], RecoveryCount) {
        try explaining(db) {
            let count = RecoveryCount(total: try Int.fetchOne(db, sql: selectTotal) ?? 0, progress)
            return (try state(db, keys, count), try parts(db), count)
        }
    }

    /// Reads, and names the damage if damage has made the read fail.
    private static func explaining<Value>(_ db: Database, _ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            // Damage may show in another way first, such as a word that is unknown.
            guard error is DamagedRow || (error as? StoreError)?.code == .corrupt else { throw error }
            if let damage = try CheckedTable.firstDamage(db) { throw damage }
            throw error
        }
    }

    private static func state(
        _ db: Database, _ keys: KeyColumn, _ count: RecoveryCount
    ) throws -> RecoveredState {
        let ledger = try Ledger.read(db)
        let (applications, deletions) = try applications(db, keys)
        var state = RecoveredState(
            applications: applications, deletions: deletions, sources: try SourceRows.all(db, keys),
            resourceSets: try ResourceSetRows.all(db), keys: try APIKeyRows.all(db), rules: try RulesRow.read(db),
            sessions: try sessions(db, keys, count), gates: try GateReader.all(db),
            replays: try ReplayReader.all(db),
            passcodeLocks: try PasscodeRows.all(db, keys), lastSequence: NotificationSequence(ledger.lastNotification),
            lastCreationSequence: ledger.lastSession, newestTime: try newestTime(db))
        if !deletions.isEmpty { state.leaveOut(Set(deletions.map(\.id))) }
        return state
    }

    /// Each of the three is the end of an index.
    static let selectNewestTime = """
        SELECT max(time) FROM (
          SELECT * FROM (SELECT received_at AS time FROM notification ORDER BY sequence DESC LIMIT 1)
          UNION ALL
          SELECT * FROM (
            SELECT settled_at FROM notification INDEXED BY notification_by_settlement
            WHERE settled_at IS NOT NULL ORDER BY settled_at DESC LIMIT 1)
          UNION ALL
          SELECT * FROM (
            SELECT kept_at FROM kept_answer INDEXED BY kept_answer_by_time ORDER BY kept_at DESC LIMIT 1))
        """

    private static func newestTime(_ db: Database) throws -> Timestamp? {
        try PreparedStatement(db, selectNewestTime).first { row in row.optionalTime() } ?? nil
    }

    /// The rows of sessions and of unsettled notifications; both are counted in indexes.
    private static let selectTotal = """
        SELECT (SELECT count(*) FROM session)
             + (SELECT count(*) FROM notification INDEXED BY notification_by_state WHERE state IN ('waiting', 'held'))
        """

    // MARK: - Applications

    private static let selectApplications = """
        SELECT \(CheckedTable.application.isSound), id, display_name, supports_multiple_scenes, user_activity_types, delegate_url, delegate_keys,
               delegate_format, prefers_requires_can, timeout_seconds, max_in_flight_per_session, retry_schedule, statuses,
               reroute_on_exhausted, reroute_on_timeout, weight, overtaken_after, life_cycle_events, single_scene,
               onboarding_configured, demo_configuration, closes_with_last_scene, prompts, keeps_held_on_reset,
               covers_in_background, passcode_policy, observers, requires_content_id, broadcasts, is_deleting
        FROM application ORDER BY id
        """
    private static let selectConfigurations = """
        SELECT \(CheckedTable.sceneConfiguration.isSound), name, role, endpoint_url, endpoint_keys, endpoint_format, activity_types
        FROM scene_configuration WHERE application = ? ORDER BY position
        """

    private static func applications(
        _ db: Database, _ keys: KeyColumn
    ) throws -> (applications: [Application], deletions: [Application]) {
        var (applications, deletions): ([Application], [Application]) = ([], [])
        try PreparedStatement(db, selectApplications).forEach { row in
            try row.expectSound()
            let id = ApplicationID(unchecked: row.text())
            let displayName = row.text()
            var manifest = SceneManifest(
                supportsMultipleScenes: row.bool(), userActivityTypes: try TextList.decode(row.text()),
                sceneConfigurations: try configurations(of: id, db, keys))
            let delegate = try row.endpoint(keys, of: .delegate(id))
            var routing = RoutingSettings(prefersRequiresCan: row.bool())
            let delivery = DeliverySettings(
                timeoutSeconds: row.int(), maxInFlightPerSession: row.int(),
                retrySchedule: try TextList.decodeNumbers(row.text()), statuses: try statuses(row.text()),
                reroute: RerouteSettings(onExhausted: row.bool(), onTimeout: row.bool()), weight: row.int(),
                headOfLine: HeadOfLine(overtakenAfter: row.optionalInt()), lifeCycleEvents: row.bool())
            manifest.allowsOneSceneOnly = row.bool()
            let gates = try row.gates()
            let observers = try TextList.decode(row.text()).map(PluginID.init(unchecked:))
            routing.requiresContentID = row.bool()
            routing.broadcasts = row.optionalInt() == 1
            let application = Application(
                id: id, displayName: displayName, manifest: manifest, delegate: delegate, routing: routing,
                delivery: delivery, gates: gates, observers: observers)
            if row.bool() { deletions.append(application) } else { applications.append(application) }
        }
        return (applications, deletions)
    }

    private static func statuses(_ list: String) throws(StoreError) -> StatusTable {
        var words = try TextList.decode(list)[...]
        var statuses = StatusTable()
        while let pattern = words.popFirst() {
            do {
                try statuses.add(pattern, words.popFirst() ?? "")
            } catch {
                throw StoreError(.corrupt, "a rule for statuses in the database cannot be read")
            }
        }
        return statuses
    }

    private static func configurations(
        of id: ApplicationID, _ db: Database, _ keys: KeyColumn
    ) throws -> [SceneConfiguration] {
        var configurations: [SceneConfiguration] = []
        try PreparedStatement(db, selectConfigurations).forEach({ $0.bind(id.text) }) { row in
            try row.expectSound()
            let name = row.text()
            configurations.append(
                SceneConfiguration(
                    name: name, role: row.text(),
                    endpoint: try row.endpoint(keys, of: .configuration(id, name)),
                    activityTypes: try TextList.decode(row.text())))
        }
        return configurations
    }

    // MARK: - Notifications

    /// Each state's order is the index's own and the two are merged, so nothing is sorted.
    static let selectUnsettled = """
        \(unsettledColumns) FROM notification INDEXED BY notification_by_state
          WHERE state = 'waiting' AND sequence BETWEEN ?1 AND ?2
        UNION ALL
        \(unsettledColumns) FROM notification INDEXED BY notification_by_state
          WHERE state = 'held' AND sequence BETWEEN ?1 AND ?2
        ORDER BY 1
        """
    /// Each of the four is an end of a part of the index.
    static let selectBounds = """
        SELECT min(first), max(last) FROM (
          SELECT (SELECT min(sequence) FROM notification WHERE state = 'waiting') AS first,
                 (SELECT max(sequence) FROM notification WHERE state = 'waiting') AS last
          UNION ALL
          SELECT (SELECT min(sequence) FROM notification WHERE state = 'held'),
                 (SELECT max(sequence) FROM notification WHERE state = 'held'))
        """
    private static let unsettledColumns = """
        SELECT \(NotificationReader.header), tier, session, decision_reason, vetoes, reroute_of, registry_version,
               rules_version, attempts, failures, rejections, not_before, held_until, held_by, recall, \(CheckedTable.notification.isSound)
        """

    /// Ranges of sequences with all unsettled notifications, for several connections at a time.
    private static func parts(_ db: Database) throws -> [ClosedRange<Int64>] {
        let bounds = try PreparedStatement(db, selectBounds).first { row in
            (row.optionalInt64(), row.optionalInt64())
        }
        guard case (let first?, let last?)? = bounds else { return [] }
        let width = max(StoreSQLiteLimits.recoveredTogether, (last - first) / StoreSQLiteLimits.recoveryParts + 1)
        return stride(from: first, through: last, by: Int(width)).map { $0...min($0 + width - 1, last) }
    }

    /// The unsettled notifications of a part, in order.
    static func unsettled(
        in part: ClosedRange<Int64>, _ db: Database, _ count: RecoveryCount
    ) throws -> [UnsettledNotification] {
        try explaining(db) {
            let caches = NotificationCaches()
            var unsettled: [UnsettledNotification] = []
            let bind = { (arguments: inout ArgumentBinder) in
                arguments.bind(part.lowerBound)
                arguments.bind(part.upperBound)
            }
            try PreparedStatement(db, selectUnsettled).forEach(bind) { row in
                let header = try row.header(caches)
                unsettled.append(
                    UnsettledNotification(
                        header, decision: try row.decision(caches), progress: row.progress(),
                        heldUntil: row.optionalTime(), heldBy: row.gate(of: header.application),
                        recall: try row.recall()))
                try row.expectSound()
                if unsettled.count.isMultiple(of: RecoveryCount.share) { count.add(RecoveryCount.share) }
            }
            count.add(unsettled.count % RecoveryCount.share)
            return unsettled
        }
    }
}

extension RecoveredState {
    /// Leaves out what belongs to applications that are being deleted.
    fileprivate mutating func leaveOut(_ deleted: Set<ApplicationID>) {
        sources.removeAll { deleted.contains($0.application) }
        sessions.removeAll { deleted.contains($0.key.application) }
        gates.removeAll { deleted.contains($0.key.application) }
        passcodeLocks.removeAll { deleted.contains($0.key.application) }
    }
}

/// Counts the rows of a recovery on several threads, and tells of every hundredth part of them, or of every ten thousandth row.
final class RecoveryCount: Sendable {
    /// Rows that a reader adds at a time, so that readers seldom meet at the lock.
    static let share = 1000
    private let total: Int
    private let step: Int
    private let done = Mutex(0)
    private let progress: @Sendable (RecoveryProgress) -> Void

    init(total: Int, _ progress: @escaping @Sendable (RecoveryProgress) -> Void) {
        self.total = total
        // Sessions with large documents take milliseconds each.
        step = max(1, min(10_000, total / 100))
        self.progress = progress
        progress(RecoveryProgress(done: 0, total: total))
    }

    func add(_ rows: Int = 1) {
        done.withLock { done in
            let told = done / step
            done += rows
            if done / step == told { return }
            progress(RecoveryProgress(done: done, total: total))
        }
    }
}
