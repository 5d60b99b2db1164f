package import RouterPlugin

/// One change of the data in a store.
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
    /// The answer to a request that a client may repeat; a key is taken once.
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
    /// A kept answer is deleted; its key may be taken again.
    case forgetAnswer(DedupeKey)
    /// A replay begins, goes on or ends.
    case putReplay(Replay)
    case forgetReplay(ReplayID)
    /// It goes with its application.
    case putPasscodeLock(PasscodeLock)
}
