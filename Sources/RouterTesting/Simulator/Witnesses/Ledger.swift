import Router
import RouterPlugin

/// What the simulator knows of one notification, from what was committed and sent, never from the engine.
struct LedgerEntry {
    var accepted: NewNotification
    var decision: Decision
    var placement: Placement
    var progress = DeliveryProgress()
    /// The attempt whose outcome has not been committed, and the session that it was sent to.
    var underWay: (number: Int, session: SessionID)?
    /// Where the last attempt was sent.
    var sentTo: String?
    /// How it ends unless that attempt is taken.
    var recall: Recall?
    /// Whether that attempt's exchange goes on.
    var isLive = false
    /// Attempts that were recorded, and where they were sent.
    var recorded = 0
    var tried: Set<SessionID> = []
    /// Whether an attempt at its session may have arrived, as far as is recorded.
    var isAmbiguous = false
    /// Attempts whose outcome was lost in a crash.
    var lost = 0
    /// When it was settled.
    var settledAt: Timestamp?
    /// Whether it was kept for long enough and is gone.
    var isForgotten = false
    /// Requests that reached an endpoint, and those of them that it took.
    var arrivals = 0
    var successes = 0

    init(_ accepted: NewNotification) {
        self.accepted = accepted
        decision = accepted.decision
        placement = accepted.placement
        if case .settled = placement { settledAt = accepted.receivedAt }
    }

    var isSettled: Bool { if case .settled = placement { true } else { false } }

    var heldUntil: Timestamp? { if case .held(let until) = placement { until } else { nil } }

    /// The gate behind which it waits.
    var heldBy: GateKey? {
        if case .gated(let device) = placement {
            GateKey(application: accepted.application, device: device)
        } else {
            nil
        }
    }

    /// The session in whose lane it is.
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

/// The applications and sessions that were committed.
struct Registrations {
    var applications: [ApplicationID: Application] = [:]
    var sessions: [SessionKey: SceneSession] = [:]
    var gates: [GateKey: OnboardingGate] = [:]
    var locks: [GateKey: PasscodeLock] = [:]
    /// Those that were discarded and are still told of it.
    var discarded: [SessionKey: SceneSession] = [:]

    /// The session if it takes part in routing.
    func openSession(_ key: SessionKey) -> SceneSession? {
        sessions[key].flatMap { $0.disabled == nil ? $0 : nil }
    }

    func sessions(of application: ApplicationID) -> [SceneSession] {
        sessions.values.filter { $0.key.application == application }
    }

    func endpoint(of session: SceneSession) -> Endpoint? {
        if let endpoint = session.endpoint { return endpoint }
        let manifest = applications[session.key.application]?.manifest
        return manifest?.sceneConfigurations.first { $0.name == session.configuration }?.endpoint
    }
}

/// What was committed, kept a second time and by other means.
///
/// Everything that the invariants speak of is here; nothing comes from the engine or the store but the changes
/// themselves.
struct Ledger {
    var registrations = Registrations()
    var entries: [NotificationSequence: LedgerEntry] = [:]
    /// In order of acceptance.
    var unsettled: [NotificationSequence] = []
    var sequences: [NotificationID: NotificationSequence] = [:]
    var keys: [DedupeKey: NotificationSequence] = [:]
    /// What keys named, and name no more, while an answer was on its way; the last one comes last.
    var forgottenKeys: [DedupeKey: [NotificationSequence]] = [:]
    var census = NotificationCensus(accepted: 0, byState: [:])

    /// What the key named when it was looked up.
    func named(by key: DedupeKey) -> NotificationSequence? { keys[key] ?? forgottenKeys[key]?.last }

    /// Everything that the key may have named when it was looked up.
    func names(of key: DedupeKey) -> [NotificationSequence] {
        (keys[key].map { [$0] } ?? []) + (forgottenKeys[key] ?? [])
    }

    mutating func forgetKeys(of application: ApplicationID) {
        for (key, sequence) in keys where key.application == application {
            keys[key] = nil
            forgottenKeys[key, default: []].append(sequence)
        }
    }

    mutating func forget(_ sequence: NotificationSequence) {
        entries[sequence]?.isForgotten = true
        census.forgotten += 1
        for (key, owner) in keys where owner == sequence {
            keys[key] = nil
            forgottenKeys[key, default: []].append(owner)
        }
    }

    /// When what is settled and kept was settled.
    var kept: some Sequence<Timestamp> { entries.values.lazy.filter { !$0.isForgotten }.compactMap(\.settledAt) }

    /// How much is kept, in bytes of payloads.
    var bytes: Int64 {
        entries.values.reduce(0) { $1.isForgotten ? $0 : $0 + Int64($1.accepted.keptBytes) }
    }

    /// How many attempts of a lane are under way.
    func underWay(in key: SessionKey) -> Int {
        unsettled.count { sequence in
            guard let entry = entries[sequence], let attempt = entry.underWay else { return false }
            return entry.accepted.application == key.application && attempt.session == key.session
        }
    }

    /// The last one that was accepted under the same collapse id and could be delivered.
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
