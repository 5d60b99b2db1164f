import Router
import RouterPlugin

/// What a store keeps, as plain values, and the laws by which it changes.
///
/// - A sequence is given once, and each is greater than the one before; so are the creation sequences of sessions.
/// - A notification id and a dedupe key belong to one notification for ever, the key of an answer to one answer.
/// - A session belongs to an application that exists.
/// - Attempts and retries happen to what waits in a lane; their numbers go up; the last one is the progress.
/// - A new decision keeps the number of attempts, and nothing else of the progress: it was the session's before.
/// - What was answered first is known as long as the notification is.
/// - A settlement is final: nothing changes a settled notification.
///
/// `apply` throws `conflict` if a change breaks a law, and may then have applied the changes before it; `undo` takes
/// back everything since `begin`.
struct StoreModel: Sendable {
    private(set) var applications: [ApplicationID: Application] = [:]
    private(set) var sessions: [SessionKey: SceneSession] = [:]
    private(set) var notifications: [NotificationSequence: Entry] = [:]
    private(set) var sequences: [NotificationID: NotificationSequence] = [:]
    private(set) var dedupeKeys: [DedupeKey: NotificationSequence] = [:]
    private(set) var answers: [DedupeKey: KeptAnswer] = [:]
    private(set) var census = NotificationCensus(accepted: 0, byState: [:])
    private(set) var lastSequence = NotificationSequence(0)
    private(set) var lastCreationSequence: Int64 = 0
    private var journal: [Undo] = []
    private var marks = Marks()

    struct Entry: Hashable, Sendable {
        var stored: StoredNotification
        var heldUntil: Timestamp?
        /// What was decided when it was accepted.
        let first: FirstAnswer
    }

    struct FirstAnswer: Hashable, Sendable {
        let decision: Decision
        let state: NotificationState
    }

    /// What stood there before.
    private enum Undo: Sendable {
        case application(ApplicationID, Application?)
        case session(SessionKey, SceneSession?)
        case notification(NotificationSequence, Entry?)
        case sequence(NotificationID)
        case dedupeKey(DedupeKey)
        case answer(DedupeKey)
    }

    /// The figures as they stood before.
    private struct Marks: Sendable {
        var accepted = 0
        var lastSequence = NotificationSequence(0)
        var lastCreationSequence: Int64 = 0
    }

    /// Starts a transaction.
    mutating func begin() {
        journal.removeAll(keepingCapacity: true)
        marks = Marks(
            accepted: census.accepted, lastSequence: lastSequence, lastCreationSequence: lastCreationSequence)
    }

    /// Takes everything back that was applied since `begin`.
    mutating func undo() {
        while let change = journal.popLast() {
            switch change {
            case .application(let id, let before): applications[id] = before
            case .session(let key, let before): sessions[key] = before
            case .notification(let sequence, let before): replace(sequence, by: before)
            case .sequence(let id): sequences[id] = nil
            case .dedupeKey(let key): dedupeKeys[key] = nil
            case .answer(let key): answers[key] = nil
            }
        }
        census.accepted = marks.accepted
        lastSequence = marks.lastSequence
        lastCreationSequence = marks.lastCreationSequence
    }

    mutating func apply(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .putApplication(let application): set(application, for: application.id)
        case .deleteApplication(let id): delete(id)
        case .putSession(let session): try put(session)
        case .deleteSession(let key): set(nil, for: key)
        case .keepAnswer(let key, let answer): try keep(answer, for: key)
        case .insert(let notification): try insert(notification)
        case .recordAttempt(let attempt): try record(attempt)
        case .reschedule(let sequence, let progress): try reschedule(sequence, progress)
        case .reassign(let sequence, let decision, let placement): try reassign(sequence, decision, placement)
        case .settle(let sequence, let settlement, let time): try settle(sequence, settlement, at: time)
        }
    }

    // MARK: - Registry

    private mutating func delete(_ id: ApplicationID) {
        for key in sessions.keys where key.application == id { set(nil, for: key) }
        set(nil, for: id)
    }

    private mutating func put(_ session: SceneSession) throws(StoreError) {
        try check(applications[session.key.application] != nil, "the session \(session.key) has no application")
        if session.creationSequence > lastCreationSequence {
            lastCreationSequence = session.creationSequence
        } else {
            let known = sessions[session.key]?.creationSequence == session.creationSequence
            try check(known, "the creation sequence \(session.creationSequence) has been given before")
        }
        set(session, for: session.key)
    }

    private mutating func keep(_ answer: KeptAnswer, for key: DedupeKey) throws(StoreError) {
        try check(answers[key] == nil, "the key of an answer is taken")
        answers[key] = answer
        journal.append(.answer(key))
    }

    // MARK: - Notifications

    private mutating func insert(_ new: NewNotification) throws(StoreError) {
        try check(new.sequence > lastSequence, "the sequence \(new.sequence) has been given before")
        try check(sequences[new.id] == nil, "the id \(new.id) has been given before")
        lastSequence = new.sequence
        census.accepted += 1
        sequences[new.id] = new.sequence
        journal.append(.sequence(new.id))
        for key in new.dedupeKeys {
            let key = DedupeKey(application: new.application, source: new.source, key: key)
            try check(dedupeKeys[key] == nil, "a dedupe key of \(new.sequence) is taken")
            dedupeKeys[key] = new.sequence
            journal.append(.dedupeKey(key))
        }
        var entry = Entry(accepted: new)
        entry.place(new.placement, settledAt: new.receivedAt)
        set(entry, for: new.sequence)
    }

    private mutating func record(_ attempt: AttemptRecord) throws(StoreError) {
        var entry = try unsettled(attempt.sequence)
        try check(entry.stored.state == .waiting, "\(attempt.sequence) is in no lane")
        try check(attempt.number > entry.stored.progress.attempts, "attempt \(attempt.number) has been recorded before")
        entry.stored.progress.attempts = attempt.number
        entry.stored.attempts.append(attempt)
        set(entry, for: attempt.sequence)
    }

    private mutating func reschedule(
        _ sequence: NotificationSequence, _ progress: DeliveryProgress
    ) throws(StoreError) {
        var entry = try unsettled(sequence)
        try check(entry.stored.state == .waiting, "\(sequence) is in no lane")
        try check(progress.attempts >= entry.stored.progress.attempts, "the attempts of \(sequence) go backwards")
        entry.stored.progress = progress
        set(entry, for: sequence)
    }

    private mutating func reassign(
        _ sequence: NotificationSequence, _ decision: Decision, _ placement: Placement
    ) throws(StoreError) {
        var entry = try unsettled(sequence)
        entry.stored.decision = decision
        entry.stored.progress = DeliveryProgress(attempts: entry.stored.progress.attempts)
        entry.place(placement, settledAt: nil)
        set(entry, for: sequence)
    }

    private mutating func settle(
        _ sequence: NotificationSequence, _ settlement: Settlement, at time: Timestamp
    ) throws(StoreError) {
        var entry = try unsettled(sequence)
        entry.place(.settled(settlement), settledAt: time)
        set(entry, for: sequence)
    }

    private func unsettled(_ sequence: NotificationSequence) throws(StoreError) -> Entry {
        guard let entry = notifications[sequence] else { throw StoreError(.conflict, "\(sequence) is unknown") }
        try check(!entry.stored.state.isSettled, "\(sequence) is settled")
        return entry
    }

    private func check(_ condition: Bool, _ message: @autoclosure () -> String) throws(StoreError) {
        if !condition { throw StoreError(.conflict, message()) }
    }

    // MARK: - Changing with a way back

    private mutating func set(_ application: Application?, for id: ApplicationID) {
        journal.append(.application(id, applications[id]))
        applications[id] = application
    }

    private mutating func set(_ session: SceneSession?, for key: SessionKey) {
        journal.append(.session(key, sessions[key]))
        sessions[key] = session
    }

    private mutating func set(_ entry: Entry, for sequence: NotificationSequence) {
        journal.append(.notification(sequence, notifications[sequence]))
        replace(sequence, by: entry)
    }

    /// The only place where a notification changes, so that the census cannot miss one.
    private mutating func replace(_ sequence: NotificationSequence, by entry: Entry?) {
        if let before = notifications[sequence] { count(before.stored.state, -1) }
        if let entry { count(entry.stored.state, 1) }
        notifications[sequence] = entry
    }

    private mutating func count(_ state: NotificationState, _ difference: Int) {
        let count = census.byState[state, default: 0] + difference
        census.byState[state] = count == 0 ? nil : count
    }
}

extension StoreModel.Entry {
    fileprivate init(accepted new: NewNotification) {
        stored = StoredNotification(new)
        heldUntil = nil
        first = StoreModel.FirstAnswer(decision: new.decision, state: new.placement.state)
    }

    fileprivate mutating func place(_ placement: Placement, settledAt: Timestamp?) {
        heldUntil = nil
        switch placement {
        case .lane:
            stored.state = .waiting
        case .held(let until):
            stored.state = .held
            heldUntil = until
        case .settled(let settlement):
            stored.state = settlement.state
            stored.reason = settlement.reason
            stored.settledAt = settledAt
        }
    }
}

extension StoredNotification {
    fileprivate init(_ new: NewNotification) {
        self.init(
            sequence: new.sequence, id: new.id, application: new.application, source: new.source, device: new.device,
            contentID: new.contentID, priority: new.priority, expiration: new.expiration, collapseID: new.collapseID,
            traceparent: new.traceparent, receivedAt: new.receivedAt, decision: new.decision, state: .waiting,
            reason: nil, settledAt: nil,
            progress: DeliveryProgress(), payload: new.payload, attempts: [])
    }
}
