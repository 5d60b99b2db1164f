package import RouterPlugin

/// One change of the data in a store.
///
/// A new kind of change is added here with its keys, in `Engine.apply`, in the stores (`ChangeWriter`, `ModelRows`), and
/// nowhere else.
package enum StoreChange: Hashable, Sendable {
    case putApplication(Application)
    /// Its sessions and gates go with it, and the keys of requests to it; its notifications stay.
    case deleteApplication(ApplicationID)
    /// From now on the application takes nothing; its rows are deleted by `sweep`, and its own by `deleteApplication`.
    case beginDeletion(ApplicationID)
    /// Deletes rows of an application whose deletion has begun, `limit` at most: kept answers, sessions, gates, locks.
    case sweep(ApplicationID, limit: Int)
    /// A source of an application that is there. It goes with its application.
    case putSource(SourceDefinition)
    case deleteSource(SourceID)
    case putResourceSet(ResourceSet)
    /// An API key created by a request. It outlives its application, like keys of the configuration.
    case putKey(APIKey)
    case deleteKey(name: String)
    /// Adds a line to the log of changes, and deletes its application's oldest lines beyond `keeping`.
    case log(ChangeNote, at: Timestamp, keeping: Int)
    /// The rules from now on, under a greater version than before.
    case putRules(UsedRules)
    case putSession(SceneSession)
    case deleteSession(SessionKey)
    /// Deliveries of the session have numbers from now on: those in its lane, in the order of acceptance, and each one that
    /// comes into its lane later. Nothing if they have them already.
    case numberDeliveries(SessionKey)
    /// A gate as it is from now on; its term never falls.
    case putGate(OnboardingGate)
    /// The answer to a request that a client may repeat; a key is taken once.
    case keepAnswer(DedupeKey, KeptAnswer, at: Timestamp)
    case insert(NewNotification)
    /// The notification came again, under keys of its sender that are new.
    case addDedupeKeys(NotificationSequence, [DedupeKey])
    /// Its sender may use the key for another notification; nothing if no notification has it.
    case releaseDedupeKey(DedupeKey)
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
    /// A kept answer is deleted; its key may be taken again.
    case forgetAnswer(DedupeKey)
    /// A replay begins, goes on or ends.
    case putReplay(Replay)
    case forgetReplay(ReplayID)
    /// It goes with its application.
    case putPasscodeLock(PasscodeLock)
}

extension StoreChange {
    /// The number of rows that count against the bound of a transaction.
    package var rows: Int { if case .sweep(_, let limit) = self { limit } else { 1 } }

    /// Whether it changes an API key.
    package var isOfKeys: Bool {
        switch self {
        case .putKey, .deleteKey: true
        default: false
        }
    }

    /// Shows the keys that the change changes: a plan that relies on one of them does not share a transaction with it.
    package func visitKeys(_ visit: (PlanKey) -> Void) {
        switch self {
        case .putApplication(let application): visit(.application(application.id))
        case .deleteApplication(let id), .beginDeletion(let id), .sweep(let id, _): visit(.application(id))
        case .putSource(let source):
            visit(.source(source.id))
            visit(.sources)
        case .deleteSource(let id):
            visit(.source(id))
            visit(.sources)
        case .putResourceSet: visit(.resourceSets)
        case .putKey, .deleteKey: visit(.keys)
        case .log: break
        case .putRules: visit(.rules)
        case .putSession(let session):
            visit(.session(session.key))
            visit(.sessions(session.key.application))
        case .deleteSession(let key):
            visit(.session(key))
            visit(.sessions(key.application))
        case .numberDeliveries(let key): visit(.session(key))
        case .putGate(let gate):
            visit(.gate(gate.key))
            visit(.gates(gate.key.application))
        case .putPasscodeLock(let lock): visit(.gate(lock.key))
        case .keepAnswer(let key, _, _), .forgetAnswer(let key), .releaseDedupeKey(let key): visit(.dedupe(key))
        case .insert(let notification): notification.visitKeys(visit)
        case .addDedupeKeys(let sequence, let keys):
            visit(.delivery(sequence))
            for key in keys { visit(.dedupe(key)) }
        case .recordAttempt(let attempt): visit(.delivery(attempt.sequence))
        case .recall(let sequence, _), .reschedule(let sequence, _), .reassign(let sequence, _, _),
            .settle(let sequence, _, _), .forget(let sequence):
            visit(.delivery(sequence))
        case .putReplay, .forgetReplay: visit(.replays)
        }
    }
}

extension NewNotification {
    fileprivate func visitKeys(_ visit: (PlanKey) -> Void) {
        visit(.notifications(application))
        for key in dedupeKeys { visit(.dedupe(DedupeKey(application: application, source: source, key: key))) }
        if let key = CollapseKey(application: application, device: device, collapseID: collapseID) {
            visit(.collapse(key))
        }
        // The set of discarded sessions that the delegate is told of.
        if event?.kind == .didDiscardSceneSessions { visit(.discards(application)) }
    }
}
