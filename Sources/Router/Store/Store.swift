package import RouterPlugin

/// The edge that keeps what must survive. SQLite is one conformer, the simulator's model another; both run `StoreSuite`.
///
/// One writer: `commit`, `receipt`, `keptAnswer`, `retained` and `replayable` are called from the engine's executor only, never two at a
/// time. The reading functions below them may be called from any thread at any time.
package protocol Store: Sendable {
    /// Everything that the engine keeps in memory, as of the last commit.
    func recover() throws(StoreError) -> RecoveredState

    /// Writes all changes in one transaction, in order, and returns when they are durable; if it throws, none is written.
    func commit(_ changes: [StoreChange]) throws(StoreError)

    /// What was answered for a notification that came in under this key before.
    func receipt(for key: DedupeKey) throws(StoreError) -> Receipt?

    /// What is remembered of a request that came in under this key before.
    func keptAnswer(for key: DedupeKey) throws(StoreError) -> KeptAnswer?

    /// How large the store is, and the oldest of what may be forgotten: settled notifications and answers that are
    /// kept, up to that many in all.
    func retained(limit: Int) throws(StoreError) -> Retained

    /// The next notifications after the replay's position that were settled when it was asked for and that its filter shows,
    /// oldest first and up to that many; so many notifications are looked at, and no more.
    func replayable(_ replay: Replay, limit: Int, examined: Int) throws(StoreError) -> ReplayPage

    /// The payload as received, or the facts of an event; nil if there is no such notification.
    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload?

    /// One notification with its attempts.
    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification?

    /// Notifications, newest first, without payloads and attempts.
    func notifications(matching filter: NotificationFilter, limit: Int) throws(StoreError) -> [StoredNotification]

    /// How many notifications that were settled by that time a list with this filter shows in all; of its `before` nothing is
    /// known.
    func tally(of filter: NotificationFilter, settledBy time: Timestamp) throws(StoreError) -> NotificationTally

    /// How many notifications are in each state: the terms of the conservation law.
    func census() throws(StoreError) -> NotificationCensus
}

/// Position of a notification in the order of acceptance; lanes are kept in this order.
package struct NotificationSequence: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: Int64

    package init(_ value: Int64) { self.value = value }

    package var description: String { String(value) }
    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.value < rhs.value }
}

/// One change of what is kept.
package enum StoreChange: Hashable, Sendable {
    case putApplication(Application)
    /// Its sessions and gates go with it, and the keys of requests to it; its notifications stay.
    case deleteApplication(ApplicationID)
    /// A source of an application that is there. It goes with its application.
    case putSource(SourceDefinition)
    case deleteSource(SourceID)
    case putResourceSet(ResourceSet)
    case putSession(SceneSession)
    case deleteSession(SessionKey)
    /// A gate as it is from now on; its term never falls.
    case putGate(OnboardingGate)
    /// What is remembered of a request that a client may repeat; a key is taken once.
    case keepAnswer(DedupeKey, KeptAnswer, at: Timestamp)
    case insert(NewNotification)
    /// The notification came again, under keys of its sender that are new.
    case addDedupeKeys(NotificationSequence, [DedupeKey])
    /// Appends an attempt to its notification's history.
    case recordAttempt(AttemptRecord)
    /// Ends like that unless the attempt that is under way succeeds.
    case recall(NotificationSequence, Recall)
    /// The delivery waits for its next attempt.
    case reschedule(NotificationSequence, progress: DeliveryProgress)
    /// A hold has ended, or the session that had it is gone: a new decision takes the old one's place. Of its progress
    /// the number of attempts remains; failures, rejections and waits were the old session's. The placement is a lane
    /// or a hold; a decision without a session is followed by the settlement, in the same transaction.
    case reassign(NotificationSequence, Decision, Placement)
    /// The obligation ends.
    case settle(NotificationSequence, Settlement, at: Timestamp)
    /// A settled notification is deleted, and all that belongs to it; the census still counts it.
    case forget(NotificationSequence)
    /// What is remembered of a request is deleted; its key may be taken again.
    case forgetAnswer(DedupeKey)
    /// A replay begins, goes on or ends.
    case putReplay(Replay)
    case forgetReplay(ReplayID)
    /// It goes with its application.
    case putPasscodeLock(PasscodeLock)
}

/// A notification as it is accepted, with everything that has been decided about it.
package struct NewNotification: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var application: ApplicationID
    package var source: PluginID
    package var device: DeviceID?
    package var contentID: ContentID?
    package var priority: Priority
    package var expiration: Expiration
    package var collapseID: String?
    package var traceparent: TraceParent?
    /// The notification that this one is sent in place of, once more.
    package var replayOf: NotificationID?
    package var dedupeKeys: [String]
    package var payload: MessagePayload
    package var receivedAt: Timestamp
    package var decision: Decision
    package var placement: Placement
    package var kind: NotificationKind
    /// What it is if it is no notification but an event: its session is then the receiver, and nobody has chosen it.
    package var event: SceneEvent?

    package init(
        sequence: NotificationSequence, id: NotificationID, application: ApplicationID, source: PluginID,
        device: DeviceID?, contentID: ContentID?, priority: Priority, expiration: Expiration, collapseID: String?,
        traceparent: TraceParent? = nil, replayOf: NotificationID? = nil, dedupeKeys: [String],
        payload: MessagePayload,
        receivedAt: Timestamp, decision: Decision, placement: Placement, kind: NotificationKind = .notification,
        event: SceneEvent? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.application = application
        self.source = source
        self.device = device
        self.contentID = contentID
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.traceparent = traceparent
        self.replayOf = replayOf
        self.dedupeKeys = dedupeKeys
        self.payload = payload
        self.receivedAt = receivedAt
        self.decision = decision
        self.placement = placement
        self.kind = kind
        self.event = event
    }
}

/// Where a decision puts a notification.
package enum Placement: Hashable, Sendable {
    /// Into the lane of the chosen session.
    case lane
    /// Nowhere yet: it is decided anew at that time.
    case held(until: Timestamp)
    /// Nowhere yet: it is decided anew when the gate of that device opens, or of no device.
    case gated(DeviceID?)
    /// It is settled at once.
    case settled(Settlement)

    /// The state of a notification that was put there.
    package var state: NotificationState {
        switch self {
        case .lane: .waiting
        case .held, .gated: .held
        case .settled(let settlement): settlement.state
        }
    }
}

/// How far the attempts of a delivery have come.
package struct DeliveryProgress: Hashable, Sendable {
    /// Attempts that were made, those that count for nothing included; numbers the next one.
    package var attempts: Int
    /// Attempts that used up a step of the retry schedule.
    package var failures: Int
    /// Answers that refused the message itself.
    package var rejections: Int
    /// No attempt before this time.
    package var notBefore: Timestamp?

    package init(attempts: Int = 0, failures: Int = 0, rejections: Int = 0, notBefore: Timestamp? = nil) {
        self.attempts = attempts
        self.failures = failures
        self.rejections = rejections
        self.notBefore = notBefore
    }
}

/// One webhook request of a delivery, as it is kept.
package struct AttemptRecord: Hashable, Sendable {
    package var sequence: NotificationSequence
    /// 1 for the first.
    package var number: Int
    package var session: SessionID
    package var startedAt: Timestamp
    package var status: Int?
    package var failure: TransferFailure?
    package var retryAfterSeconds: Int?
    package var metrics: TransferMetrics
    /// The first bytes of the response body.
    package var responseExcerpt: [UInt8]
    /// Why what the receiver answered was not done, in kebab-case; nil if it was, or if there was nothing to do.
    package var answerFault: String?

    /// What came of it, as far as it is kept.
    package var outcome: TransferResult.Outcome {
        if let failure { return .failure(failure) }
        return .response(ReceivedResponse(status: status ?? 0, retryAfterSeconds: retryAfterSeconds))
    }

    package init(
        sequence: NotificationSequence, number: Int, session: SessionID, startedAt: Timestamp, status: Int?,
        failure: TransferFailure?, retryAfterSeconds: Int?, metrics: TransferMetrics, responseExcerpt: [UInt8],
        answerFault: String? = nil
    ) {
        self.sequence = sequence
        self.number = number
        self.session = session
        self.startedAt = startedAt
        self.status = status
        self.failure = failure
        self.retryAfterSeconds = retryAfterSeconds
        self.metrics = metrics
        self.responseExcerpt = responseExcerpt
        self.answerFault = answerFault
    }
}

extension AttemptRecord {
    /// The record of an attempt and its result.
    package init(
        sequence: NotificationSequence, number: Int, session: SessionID, startedAt: Timestamp, _ result: TransferResult
    ) {
        self.init(
            sequence: sequence, number: number, session: session, startedAt: startedAt, status: nil, failure: nil,
            retryAfterSeconds: nil, metrics: result.metrics, responseExcerpt: [])
        switch result.outcome {
        case .failure(let failure): self.failure = failure
        case .response(let response):
            status = response.status
            retryAfterSeconds = response.retryAfterSeconds
            responseExcerpt = Array(response.body.prefix(RouterLimits.responseExcerptBytes))
        }
    }
}

/// The key under which a sender may repeat a notification, or a client a request.
package struct DedupeKey: Hashable, Sendable {
    package var application: ApplicationID
    package var source: PluginID
    package var key: String

    package init(application: ApplicationID, source: PluginID, key: String) {
        self.application = application
        self.source = source
        self.key = key
    }

    package static func == (lhs: DedupeKey, rhs: DedupeKey) -> Bool {
        lhs.application == rhs.application && lhs.source == rhs.source && lhs.key.isSame(as: rhs.key)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(application)
        hasher.combine(source)
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// What was answered when a notification was accepted. What has come of it since is asked for under its id.
package struct Receipt: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var device: DeviceID?
    package var payload: [UInt8]
    /// The first decision, whatever was decided since.
    package var decision: Decision
    /// The state in which it was accepted.
    package var state: NotificationState

    package init(
        sequence: NotificationSequence, id: NotificationID, device: DeviceID?, payload: [UInt8], decision: Decision,
        state: NotificationState
    ) {
        self.sequence = sequence
        self.id = id
        self.device = device
        self.payload = payload
        self.decision = decision
        self.state = state
    }
}

/// A notification as the API shows it.
package struct StoredNotification: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var application: ApplicationID
    package var source: PluginID
    package var device: DeviceID?
    package var contentID: ContentID?
    package var priority: Priority
    package var expiration: Expiration
    package var collapseID: String?
    package var traceparent: TraceParent?
    package var replayOf: NotificationID?
    package var receivedAt: Timestamp
    package var decision: Decision
    /// `held`, `waiting` or a settled state; the store does not know what is in flight.
    package var state: NotificationState
    package var reason: String?
    package var settledAt: Timestamp?
    package var progress: DeliveryProgress
    /// Nil in lists.
    package var payload: MessagePayload?
    /// Empty in lists.
    package var attempts: [AttemptRecord]
    package var kind: NotificationKind
    /// What it is if it is no notification.
    package var event: SceneEvent?

    package init(
        sequence: NotificationSequence, id: NotificationID, application: ApplicationID, source: PluginID,
        device: DeviceID?, contentID: ContentID?, priority: Priority, expiration: Expiration, collapseID: String?,
        traceparent: TraceParent? = nil, replayOf: NotificationID? = nil, receivedAt: Timestamp, decision: Decision,
        state: NotificationState,
        reason: String?, settledAt: Timestamp?, progress: DeliveryProgress, payload: MessagePayload?,
        attempts: [AttemptRecord], kind: NotificationKind = .notification, event: SceneEvent? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.application = application
        self.source = source
        self.device = device
        self.contentID = contentID
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.traceparent = traceparent
        self.replayOf = replayOf
        self.receivedAt = receivedAt
        self.decision = decision
        self.state = state
        self.reason = reason
        self.settledAt = settledAt
        self.progress = progress
        self.payload = payload
        self.attempts = attempts
        self.kind = kind
        self.event = event
    }
}

extension StoredNotification {
    /// Whether a replay that was asked for at that time sends it once more: what was not settled then comes by itself, and
    /// what has happened to a session does not happen again.
    package func isReplayable(settledBy time: Timestamp) -> Bool {
        event == nil && state.isSettled && settledAt.map { $0 <= time } ?? false
    }
}

/// Which notifications a list shows; nil means any.
package struct NotificationFilter: Hashable, Sendable {
    /// Notifications and events are kept alike.
    package enum TypeFilter: Hashable, Sendable {
        case notification(NotificationKind)
        case event(SceneEventKind)
    }

    package var application: ApplicationID?
    package var state: NotificationState?
    package var session: SessionID?
    package var contentID: ContentID?
    package var type: TypeFilter?
    /// At or after.
    package var since: Timestamp?
    /// Before.
    package var until: Timestamp?
    /// Older than this one: where the page before ended.
    package var before: NotificationSequence?

    package init(
        application: ApplicationID? = nil, state: NotificationState? = nil, session: SessionID? = nil,
        contentID: ContentID? = nil, type: TypeFilter? = nil, since: Timestamp? = nil, until: Timestamp? = nil,
        before: NotificationSequence? = nil
    ) {
        self.application = application
        self.state = state
        self.session = session
        self.contentID = contentID
        self.type = type
        self.since = since
        self.until = until
        self.before = before
    }

    /// Whether a list with this filter shows the notification.
    package func matches(_ notification: StoredNotification) -> Bool {
        (application == nil || notification.application == application)
            && (state == nil || notification.state == state)
            && (session == nil || notification.decision.session == session)
            && (contentID == nil || notification.contentID == contentID) && isOfType(notification)
            && since.map { notification.receivedAt >= $0 } ?? true
            && until.map { notification.receivedAt < $0 } ?? true
            && before.map { notification.sequence < $0 } ?? true
    }

    private func isOfType(_ notification: StoredNotification) -> Bool {
        switch type {
        case nil: true
        case .notification(let kind): notification.event == nil && notification.kind == kind
        case .event(let kind): notification.event?.kind == kind
        }
    }
}

/// How many notifications and events were accepted, and where they are; `accepted` equals the sum of the rest.
package struct NotificationCensus: Hashable, Sendable {
    package var accepted: Int
    /// What has been forgotten counts as what it ended as.
    package var byState: [NotificationState: Int]
    /// How many of them have been forgotten.
    package var forgotten: Int

    package init(accepted: Int, byState: [NotificationState: Int], forgotten: Int = 0) {
        self.accepted = accepted
        self.byState = byState
        self.forgotten = forgotten
    }
}

/// What the engine is built from at start.
package struct RecoveredState: Hashable, Sendable {
    package var applications: [Application]
    /// In order of their names.
    package var sources: [SourceDefinition]
    /// In order of their names.
    package var resourceSets: [ResourceSet]
    /// In order of creation.
    package var sessions: [SceneSession]
    /// In order of their keys.
    package var gates: [OnboardingGate]
    /// In order of acceptance.
    package var unsettled: [UnsettledNotification]
    /// In order of their ids.
    package var replays: [Replay]
    /// In order of their keys.
    package var passcodeLocks: [PasscodeLock]
    /// The greatest sequence ever given, so that none is given twice.
    package var lastSequence: NotificationSequence
    /// Likewise for sessions.
    package var lastCreationSequence: Int64

    package init(
        applications: [Application] = [], sources: [SourceDefinition] = [], resourceSets: [ResourceSet] = [],
        sessions: [SceneSession] = [],
        gates: [OnboardingGate] = [], unsettled: [UnsettledNotification] = [], replays: [Replay] = [],
        passcodeLocks: [PasscodeLock] = [],
        lastSequence: NotificationSequence = NotificationSequence(0), lastCreationSequence: Int64 = 0
    ) {
        self.applications = applications
        self.sources = sources
        self.resourceSets = resourceSets
        self.sessions = sessions
        self.gates = gates
        self.unsettled = unsettled
        self.replays = replays
        self.passcodeLocks = passcodeLocks
        self.lastSequence = lastSequence
        self.lastCreationSequence = lastCreationSequence
    }
}

/// A notification that is not settled yet: all of it but the payload, which is read when an attempt needs it.
package struct UnsettledNotification: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var application: ApplicationID
    package var device: DeviceID?
    package var contentID: ContentID?
    package var priority: Priority
    package var expiration: Expiration
    package var collapseID: String?
    package var traceparent: TraceParent?
    package var receivedAt: Timestamp
    package var decision: Decision
    package var progress: DeliveryProgress
    /// Set while a rule holds it.
    package var heldUntil: Timestamp?
    /// The gate that holds it.
    package var heldBy: GateKey?
    /// How it ends unless the attempt that is under way succeeds.
    package var recall: Recall?
    /// Whether a process that has ended may have had an attempt of it under way, which nobody knows the end of. Not kept:
    /// it is so for everything that is found in a lane at the start.
    package var isInDoubt = false
    package var kind: NotificationKind
    /// What it is if it is no notification.
    package var event: SceneEvent?

    package init(
        sequence: NotificationSequence, id: NotificationID, application: ApplicationID, device: DeviceID?,
        contentID: ContentID?, priority: Priority, expiration: Expiration, collapseID: String? = nil,
        traceparent: TraceParent? = nil, receivedAt: Timestamp, decision: Decision,
        progress: DeliveryProgress = DeliveryProgress(), heldUntil: Timestamp? = nil, heldBy: GateKey? = nil,
        recall: Recall? = nil, kind: NotificationKind = .notification, event: SceneEvent? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.application = application
        self.device = device
        self.contentID = contentID
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.traceparent = traceparent
        self.receivedAt = receivedAt
        self.decision = decision
        self.progress = progress
        self.heldUntil = heldUntil
        self.heldBy = heldBy
        self.recall = recall
        self.kind = kind
        self.event = event
    }

    package var isHeld: Bool { heldUntil != nil || heldBy != nil }

    /// Whether its time has run out.
    package func isExpired(at now: Timestamp) -> Bool {
        if case .at(let end) = expiration { end <= now } else { false }
    }

    package var collapseKey: CollapseKey? {
        CollapseKey(application: application, device: device, collapseID: collapseID)
    }

    /// Stands where it was put; a settlement puts nothing anywhere.
    package mutating func stand(at placement: Placement) {
        (heldUntil, heldBy) = (nil, nil)
        switch placement {
        case .held(let until): heldUntil = until
        case .gated(let device): heldBy = GateKey(application: application, device: device)
        case .lane, .settled: break
        }
    }
}
