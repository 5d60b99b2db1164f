import Router
import RouterPlugin

/// The simulator's record of one notification, from commits and transfers, never from the engine.
struct LedgerEntry {
    var accepted: NewNotification
    var decision: Decision
    var placement: Placement
    var progress = DeliveryProgress()
    /// The attempt whose outcome has not been committed, and its session.
    var underWay: (number: Int, session: SessionID)?
    /// The URL of the last attempt.
    var sentTo: String?
    /// How the notification ends unless that attempt succeeds.
    var recall: Recall?
    /// Whether that attempt's exchange is still going on.
    var isLive = false
    /// The number of recorded attempts, and the sessions that they were sent to.
    var recorded = 0
    var tried: Set<SessionID> = []
    /// Whether an attempt at its session may have arrived, as far as outcomes are recorded.
    var isAmbiguous = false
    /// The number of attempts whose outcome was lost in a crash.
    var lost = 0
    /// The time of its settlement.
    var settledAt: Timestamp?
    /// Whether it was kept for long enough and has been deleted.
    var isForgotten = false
    /// The number of requests that reached an endpoint, and of those that succeeded.
    var arrivals = 0
    var successes = 0
    /// Whether it was sent to its present session.
    var isSent = false
    /// Sessions whose receivers have read it, and have acknowledged it.
    var takenBy: Set<SessionID> = []
    /// Whether the router has told a receiver that its acknowledgement is kept.
    var isKept = false

    init(_ accepted: NewNotification) {
        self.accepted = accepted
        decision = accepted.decision
        placement = accepted.placement
        if case .settled = placement { settledAt = accepted.receivedAt }
    }

    var isSettled: Bool { if case .settled = placement { true } else { false } }

    var heldUntil: Timestamp? { if case .held(let until) = placement { until } else { nil } }

    /// The gate that holds it.
    var heldBy: GateKey? {
        if case .gated(let device) = placement {
            GateKey(application: accepted.application, device: device)
        } else {
            nil
        }
    }

    /// The session of its lane.
    var lane: SessionKey? {
        guard case .lane = placement, let session = decision.session else { return nil }
        return SessionKey(application: accepted.application, session: session)
    }

    var collapseKey: CollapseKey? {
        CollapseKey(
            application: accepted.application, device: accepted.device, collapseID: accepted.collapseID)
    }

    func isExpired(at now: Timestamp) -> Bool {
        if case .at(let end) = accepted.expiration { end <= now } else { false }
    }

    var view: NotificationView {
        NotificationView(
            kind: accepted.kind, application: accepted.application, device: accepted.device,
            contentID: accepted.contentID, priority: accepted.priority, payload: accepted.payload.bytes)
    }

    /// The state that a store has to show.
    var state: NotificationState {
        switch placement {
        case .lane: .waiting
        case .held, .gated: .held
        case .settled(let settlement): settlement.state
        }
    }
}

/// The committed applications and sessions.
struct Registrations {
    var applications: [ApplicationID: Application] = [:]
    var sessions: [SessionKey: SceneSession] = [:]
    var gates: [GateKey: OnboardingGate] = [:]
    var locks: [GateKey: PasscodeLock] = [:]
    /// Discarded sessions that still have events to receive.
    var discarded: [SessionKey: SceneSession] = [:]

    /// The session if it takes part in routing.
    func openSession(_ key: SessionKey) -> SceneSession? {
        sessions[key].flatMap { $0.disabled == nil ? $0 : nil }
    }

    /// The session unless its endpoint is gone: one that shows the demo has events too.
    func reachableSession(_ key: SessionKey) -> SceneSession? { sessions[key].flatMap { $0.isGone ? nil : $0 } }

    func sessions(of application: ApplicationID) -> [SceneSession] {
        sessions.values.filter { $0.key.application == application }
    }

    func endpoint(of session: SceneSession) -> Endpoint? {
        if let endpoint = session.endpoint { return endpoint }
        let manifest = applications[session.key.application]?.manifest
        return manifest?.sceneConfigurations.first { $0.name == session.configuration }?.endpoint
    }
}

/// A second, independent record of all commits.
///
/// It holds all facts that the invariants need; the only input from the engine or the store is the changes themselves.
struct Ledger {
    var registrations = Registrations()
    /// Applications whose deletion has begun and is not complete.
    var deleting: Set<ApplicationID> = []
    var entries: [NotificationSequence: LedgerEntry] = [:]
    /// In order of acceptance.
    var unsettled: [NotificationSequence] = []
    var sequences: [NotificationID: NotificationSequence] = [:]
    var keys: [DedupeKey: NotificationSequence] = [:]
    /// Notifications that keys named and no longer name, while an answer was under way; the last one comes last.
    var forgottenKeys: [DedupeKey: [NotificationSequence]] = [:]
    var census = NotificationCensus(accepted: 0, byState: [:])

    /// The notification that the key named when it was looked up.
    func named(by key: DedupeKey) -> NotificationSequence? { keys[key] ?? forgottenKeys[key]?.last }

    /// All notifications that the key may have named when it was looked up.
    func names(of key: DedupeKey) -> [NotificationSequence] {
        (keys[key].map { [$0] } ?? []) + (forgottenKeys[key] ?? [])
    }

    mutating func forgetKeys(of application: ApplicationID) {
        for key in keys.keys where key.application == application { forget(key) }
    }

    /// The key names no notification from now on.
    mutating func forget(_ key: DedupeKey) {
        guard let sequence = keys.removeValue(forKey: key) else { return }
        forgottenKeys[key, default: []].append(sequence)
    }

    mutating func forget(_ sequence: NotificationSequence) {
        entries[sequence]?.isForgotten = true
        census.forgotten += 1
        for (key, owner) in keys where owner == sequence { forget(key) }
    }

    /// The settlement times of the settled notifications that are kept.
    var kept: some Sequence<Timestamp> { entries.values.lazy.filter { !$0.isForgotten }.compactMap(\.settledAt) }

    /// The size of kept payloads in bytes.
    var bytes: Int64 {
        entries.values.reduce(0) { $1.isForgotten ? $0 : $0 + Int64($1.accepted.keptBytes) }
    }

    /// The number of attempts of a lane under way.
    func underWay(in key: SessionKey) -> Int {
        unsettled.count { sequence in
            guard let entry = entries[sequence], let attempt = entry.underWay else { return false }
            return entry.accepted.application == key.application && attempt.session == key.session
        }
    }

    /// The last notification with the same collapse id that could be delivered.
    func newest(like entry: LedgerEntry) -> NotificationSequence? {
        guard let key = entry.collapseKey else { return nil }
        return entries.values.lazy.filter { $0.collapseKey == key && !$0.accepted.placement.state.isSettled }
            .map(\.accepted.sequence).max()
    }

    mutating func insert(_ entry: LedgerEntry) {
        let sequence = entry.accepted.sequence
        entries[sequence] = entry
        sequences[entry.accepted.id] = sequence
        for key in entry.accepted.dedupeKeys {
            keys[DedupeKey(application: entry.accepted.application, source: entry.accepted.source, key: key)] = sequence
        }
        if !entry.isSettled { unsettled.append(sequence) }
        census.accepted += 1
        census.byState[entry.state, default: 0] += 1
    }

    mutating func place(_ sequence: NotificationSequence, _ placement: Placement) {
        guard var entry = entries[sequence] else { return }
        move(entry.state, -1)
        entry.placement = placement
        entry.underWay = nil
        entry.isLive = false
        entries[sequence] = entry
        move(entry.state, 1)
        if entry.isSettled { unsettled.removeAll { $0 == sequence } }
    }

    private mutating func move(_ state: NotificationState, _ difference: Int) {
        let count = census.byState[state, default: 0] + difference
        census.byState[state] = count == 0 ? nil : count
    }
}
