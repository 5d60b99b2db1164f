import Router
import RouterPlugin

/// The data of a store as plain values, and the laws of its changes.
///
/// - A sequence is given once, and each is greater than the one before; so are the creation sequences of sessions.
/// - A notification id belongs to one notification permanently.
/// - A dedupe key belongs to one notification, and the key of an answer to one answer, as long as the application
///   exists and neither has been forgotten.
/// - An application whose deletion has begun stays as it is until it is deleted; no other one is swept.
/// - A session belongs to an application that exists, and so do a gate and the lock of a passcode; the term of a gate
///   does not decrease.
/// - Attempts and retries belong to a notification in a lane; their numbers increase; the last number is the progress.
/// - A new decision keeps the number of attempts, and no other progress: that belonged to the session before.
/// - A notification in a lane may be recalled; the first recall counts.
/// - The first answer is known as long as the notification is.
/// - A settlement is final: no change alters a settled notification, but it may be forgotten, together with its keys.
/// - Only replays that have ended are forgotten.
/// - A forgotten notification still counts under its final state.
/// - The numbers of a session's deliveries begin with 1, have no gap, and belong to one delivery each.
///
/// `apply` throws `conflict` if a change breaks a law, and may then have applied the changes before it; `undo` reverts
/// all changes since `begin`.
struct ModelRows: Sendable {
    private(set) var applications: [ApplicationID: Application] = [:]
    private(set) var deleting: Set<ApplicationID> = []
    private(set) var sources: [SourceID: SourceDefinition] = [:]
    private(set) var resourceSets: [String: ResourceSet] = [:]
    private(set) var keys: [String: APIKey] = [:]
    private(set) var changes: [LoggedChange] = []
    private(set) var rules: KeptRules?
    private(set) var sessions: [SessionKey: SceneSession] = [:]
    private(set) var numberings: [SessionKey: Numbering] = [:]
    private(set) var gates: [GateKey: OnboardingGate] = [:]
    private(set) var notifications: [NotificationSequence: Entry] = [:]
    private(set) var sequences: [NotificationID: NotificationSequence] = [:]
    private(set) var dedupeKeys: [DedupeKey: NotificationSequence] = [:]
    private(set) var answers: [DedupeKey: Answer] = [:]
    private(set) var replays: [ReplayID: Replay] = [:]
    private(set) var passcodeLocks: [GateKey: PasscodeLock] = [:]
    private(set) var census = NotificationCensus(accepted: 0, byState: [:])
    private(set) var lastSequence = NotificationSequence(0)
    private(set) var lastCreationSequence: Int64 = 0
    private var journal: [Undo] = []
    private var marks = Marks()

    struct Entry: Hashable, Sendable {
        var stored: StoredNotification
        var heldUntil: Timestamp?
        var heldBy: GateKey?
        var recall: Recall?
        /// The decision when it was accepted.
        let first: FirstAnswer
    }

    /// The numbered deliveries of a session: number n is at place n - 1, nil once its notification is forgotten.
    struct Numbering: Hashable, Sendable {
        var deliveries: [NotificationSequence?] = []
    }

    struct Answer: Hashable, Sendable {
        let answer: KeptAnswer
        let keptAt: Timestamp
    }

    struct FirstAnswer: Hashable, Sendable {
        let decision: Decision
        let state: NotificationState
    }

    /// A former value.
    private enum Undo: Sendable {
        case application(ApplicationID, Application?)
        case deleting(Set<ApplicationID>)
        case source(SourceID, SourceDefinition?)
        case resourceSet(String, ResourceSet?)
        case key(String, APIKey?)
        case changes([LoggedChange])
        case rules(KeptRules?)
        case session(SessionKey, SceneSession?)
        case numbering(SessionKey, Numbering?)
        case gate(GateKey, OnboardingGate?)
        case notification(NotificationSequence, Entry?)
        case sequence(NotificationID, NotificationSequence?)
        case dedupeKey(DedupeKey, NotificationSequence?)
        case answer(DedupeKey, Answer?)
        case replay(ReplayID, Replay?)
        case passcodeLock(GateKey, PasscodeLock?)
        case forgotten(NotificationState)
    }

    /// The figures before the transaction.
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

    /// Reverts all changes applied since `begin`.
    mutating func undo() {
        while let change = journal.popLast() {
            switch change {
            case .application(let id, let before): applications[id] = before
            case .deleting(let before): deleting = before
            case .source(let id, let before): sources[id] = before
            case .resourceSet(let name, let before): resourceSets[name] = before
            case .key(let name, let before): keys[name] = before
            case .changes(let before): changes = before
            case .rules(let before): rules = before
            case .session(let key, let before): sessions[key] = before
            case .numbering(let key, let before): numberings[key] = before
            case .gate(let key, let before): gates[key] = before
            case .notification(let sequence, let before): replace(sequence, by: before)
            case .sequence(let id, let before): sequences[id] = before
            case .dedupeKey(let key, let before): dedupeKeys[key] = before
            case .answer(let key, let before): answers[key] = before
            case .replay(let id, let before): replays[id] = before
            case .passcodeLock(let key, let before): passcodeLocks[key] = before
            case .forgotten(let state):
                census.forgotten -= 1
                count(state, -1)
            }
        }
        census.accepted = marks.accepted
        lastSequence = marks.lastSequence
        lastCreationSequence = marks.lastCreationSequence
    }

    mutating func apply(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .putApplication(let application):
            try check(!deleting.contains(application.id), "the application \(application.id) is being deleted")
            set(application, for: application.id)
        case .deleteApplication(let id): delete(id)
        case .beginDeletion(let id):
            try check(
                applications[id] != nil && !deleting.contains(id), "there is no application \(id) to delete")
            journal.append(.deleting(deleting))
            deleting.insert(id)
        case .sweep(let id, let limit):
            try check(deleting.contains(id), "the application \(id) is not being deleted")
            sweep(id, limit: limit)
        case .putSource(let source): try put(source)
        case .deleteSource(let id): set(nil, for: id)
        case .putResourceSet(let resources):
            journal.append(.resourceSet(resources.name, resourceSets[resources.name]))
            resourceSets[resources.name] = resources
        case .putKey(let key): set(key, for: key.name)
        case .deleteKey(let name): set(nil as APIKey?, for: name)
        case .log(let note, let time, let limit): log(note, at: time, keeping: limit)
        case .putRules(let used):
            journal.append(.rules(rules))
            rules = used.kept
        case .putSession(let session): try put(session)
        case .deleteSession(let key): remove(key)
        case .numberDeliveries(let key): try numberDeliveries(of: key)
        case .putGate(let gate): try put(gate)
        case .keepAnswer(let key, let answer, let time): try keep(Answer(answer: answer, keptAt: time), for: key)
        case .insert(let notification): try insert(notification)
        case .addDedupeKeys(let sequence, let keys):
            try check(notifications[sequence] != nil, "there is no notification \(sequence) to know by other keys")
            try take(keys, for: sequence)
        case .releaseDedupeKey(let key):
            journal.append(.dedupeKey(key, dedupeKeys[key]))
            dedupeKeys[key] = nil
        case .recordAttempt(let attempt): try record(attempt)
        case .recall(let sequence, let recall): try self.recall(sequence, recall)
        case .reschedule(let sequence, let progress): try reschedule(sequence, progress)
        case .reassign(let sequence, let decision, let placement): try reassign(sequence, decision, placement)
        case .settle(let sequence, let settlement, let time): try settle(sequence, settlement, at: time)
        case .forget(let sequence): try forget(sequence)
        case .forgetAnswer(let key): try forgetAnswer(key)
        case .putReplay(let replay): set(replay, for: replay.id)
        case .forgetReplay(let id):
            let ended = replays[id].map { $0.state != .running } ?? false
            try check(ended, "the replay \(id) is not there, or under way")
            set(nil, for: id)
        case .putPasscodeLock(let lock): try put(lock)
        }
    }

    // MARK: - Registry

    private mutating func delete(_ id: ApplicationID) {
        for source in sources.values where source.application == id { set(nil, for: source.id) }
        for key in sessions.keys where key.application == id { remove(key) }
        for key in gates.keys where key.application == id { set(nil, for: key) }
        for (key, lock) in passcodeLocks where key.application == id {
            passcodeLocks[key] = nil
            journal.append(.passcodeLock(key, lock))
        }
        for (key, sequence) in dedupeKeys where key.application == id {
            dedupeKeys[key] = nil
            journal.append(.dedupeKey(key, sequence))
        }
        for (key, answer) in answers where key.application == id {
            answers[key] = nil
            journal.append(.answer(key, answer))
        }
        set(nil, for: id)
        journal.append(.deleting(deleting))
        deleting.remove(id)
    }

    /// How many rows a sweep of the application has to delete.
    func belongings(of id: ApplicationID) -> Int {
        answers.keys.count { $0.application == id } + sessions.keys.count { $0.application == id }
            + gates.keys.count { $0.application == id } + passcodeLocks.keys.count { $0.application == id }
    }

    private mutating func sweep(_ id: ApplicationID, limit: Int) {
        var room = limit
        func next<Key>(_ keys: some Sequence<Key>, _ application: (Key) -> ApplicationID) -> [Key] {
            Array(keys.filter { application($0) == id }.prefix(room))
        }
        for key in next(answers.keys, \.application) {
            journal.append(.answer(key, answers[key]))
            answers[key] = nil
            room -= 1
        }
        for key in next(sessions.keys, \.application) {
            remove(key)
            room -= 1
        }
        for key in next(gates.keys, \.application) {
            set(nil, for: key)
            room -= 1
        }
        for key in next(passcodeLocks.keys, \.application) {
            journal.append(.passcodeLock(key, passcodeLocks[key]))
            passcodeLocks[key] = nil
            room -= 1
        }
    }

    private mutating func put(_ source: SourceDefinition) throws(StoreError) {
        try check(applications[source.application] != nil, "the source \(source.id) has no application")
        let owner = sources[source.id]?.application
        try check(owner == nil || owner == source.application, "the source \(source.id) is another application's")
        set(source, for: source.id)
    }

    private mutating func log(_ note: ChangeNote, at time: Timestamp, keeping limit: Int) {
        journal.append(.changes(changes))
        changes.append(LoggedChange(number: (changes.last?.number ?? 0) + 1, note: note, time: time))
        let kept = Set(changes.filter { $0.note.application == note.application }.suffix(max(1, limit)))
        changes.removeAll { $0.note.application == note.application && !kept.contains($0) }
    }

    private mutating func set(_ key: APIKey?, for name: String) {
        journal.append(.key(name, keys[name]))
        keys[name] = key
    }

    private mutating func set(_ source: SourceDefinition?, for id: SourceID) {
        journal.append(.source(id, sources[id]))
        sources[id] = source
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

    private mutating func put(_ gate: OnboardingGate) throws(StoreError) {
        try check(applications[gate.key.application] != nil, "the gate \(gate.key) has no application")
        try check(gates[gate.key].map { $0.term <= gate.term } ?? true, "the term of the gate \(gate.key) falls")
        set(gate, for: gate.key)
    }

    private mutating func put(_ lock: PasscodeLock) throws(StoreError) {
        try check(applications[lock.key.application] != nil, "the lock \(lock.key) has no application")
        journal.append(.passcodeLock(lock.key, passcodeLocks[lock.key]))
        passcodeLocks[lock.key] = lock
    }

    private mutating func keep(_ answer: Answer, for key: DedupeKey) throws(StoreError) {
        try check(answers[key] == nil, "the key of an answer is taken")
        answers[key] = answer
        journal.append(.answer(key, nil))
    }

    // MARK: - Notifications

    private mutating func insert(_ new: NewNotification) throws(StoreError) {
        try check(new.sequence > lastSequence, "the sequence \(new.sequence) has been given before")
        try check(sequences[new.id] == nil, "the id \(new.id) has been given before")
        lastSequence = new.sequence
        census.accepted += 1
        sequences[new.id] = new.sequence
        journal.append(.sequence(new.id, nil))
        let keys = new.dedupeKeys.map { DedupeKey(application: new.application, source: new.source, key: $0) }
        try take(keys, for: new.sequence)
        var entry = Entry(accepted: new)
        entry.place(new.placement, settledAt: new.receivedAt)
        set(entry, for: new.sequence)
        number(entry, new.placement)
    }

    private mutating func take(_ keys: [DedupeKey], for sequence: NotificationSequence) throws(StoreError) {
        for key in keys {
            try check(dedupeKeys[key] == nil, "a dedupe key of \(sequence) is taken")
            dedupeKeys[key] = sequence
            journal.append(.dedupeKey(key, nil))
        }
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

    private mutating func recall(_ sequence: NotificationSequence, _ recall: Recall) throws(StoreError) {
        var entry = try unsettled(sequence)
        try check(entry.stored.state == .waiting, "\(sequence) is in no lane")
        entry.recall = entry.recall ?? recall
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
        number(entry, placement)
    }

    private mutating func settle(
        _ sequence: NotificationSequence, _ settlement: Settlement, at time: Timestamp
    ) throws(StoreError) {
        var entry = try unsettled(sequence)
        entry.place(.settled(settlement), settledAt: time)
        set(entry, for: sequence)
    }

    // MARK: - Numbers

    private mutating func numberDeliveries(of key: SessionKey) throws(StoreError) {
        try check(sessions[key] != nil, "there is no session \(key) whose deliveries to number")
        guard numberings[key] == nil else { return }
        let waiting = NotificationFilter(application: key.application, state: .waiting, session: key.session)
        let lane = notifications.values.map(\.stored).filter(waiting.matches).map(\.sequence).sorted()
        set(Numbering(deliveries: lane), for: key)
    }

    /// A notification has come into the lane of its session.
    private mutating func number(_ entry: Entry, _ placement: Placement) {
        guard placement == .lane, let session = entry.stored.decision.session else { return }
        let key = SessionKey(application: entry.stored.application, session: session)
        guard var numbering = numberings[key] else { return }
        numbering.deliveries.append(entry.stored.sequence)
        set(numbering, for: key)
    }

    private func unsettled(_ sequence: NotificationSequence) throws(StoreError) -> Entry {
        guard let entry = notifications[sequence] else { throw StoreError(.conflict, "\(sequence) is unknown") }
        try check(!entry.stored.state.isSettled, "\(sequence) is settled")
        return entry
    }

    private func check(_ condition: Bool, _ message: @autoclosure () -> String) throws(StoreError) {
        if !condition { throw StoreError(.conflict, message()) }
    }

    // MARK: - Retention

    private mutating func forget(_ sequence: NotificationSequence) throws(StoreError) {
        guard let entry = notifications[sequence], entry.stored.state.isSettled else {
            throw StoreError(.conflict, "\(sequence) is not settled")
        }
        journal.append(.notification(sequence, entry))
        replace(sequence, by: nil)
        journal.append(.sequence(entry.stored.id, sequence))
        sequences[entry.stored.id] = nil
        for (key, owner) in dedupeKeys where owner == sequence {
            dedupeKeys[key] = nil
            journal.append(.dedupeKey(key, sequence))
        }
        census.forgotten += 1
        count(entry.stored.state, 1)
        journal.append(.forgotten(entry.stored.state))
        for (key, var numbering) in numberings where numbering.deliveries.contains(sequence) {
            numbering.deliveries = numbering.deliveries.map { $0 == sequence ? nil : $0 }
            set(numbering, for: key)
        }
    }

    private mutating func forgetAnswer(_ key: DedupeKey) throws(StoreError) {
        try check(answers[key] != nil, "nothing is kept under the key")
        journal.append(.answer(key, answers[key]))
        answers[key] = nil
    }

    // MARK: - Changing with a way back

    private mutating func set(_ application: Application?, for id: ApplicationID) {
        journal.append(.application(id, applications[id]))
        applications[id] = application
    }

    private mutating func remove(_ key: SessionKey) { set(nil as SceneSession?, for: key) }

    private mutating func set(_ session: SceneSession?, for key: SessionKey) {
        if numberings[key] != nil, session?.creationSequence != sessions[key]?.creationSequence {
            set(nil as Numbering?, for: key)
        }
        journal.append(.session(key, sessions[key]))
        sessions[key] = session
    }

    private mutating func set(_ numbering: Numbering?, for key: SessionKey) {
        journal.append(.numbering(key, numberings[key]))
        numberings[key] = numbering
    }

    private mutating func set(_ gate: OnboardingGate?, for key: GateKey) {
        journal.append(.gate(key, gates[key]))
        gates[key] = gate
    }

    private mutating func set(_ replay: Replay?, for id: ReplayID) {
        journal.append(.replay(id, replays[id]))
        replays[id] = replay
    }

    private mutating func set(_ entry: Entry, for sequence: NotificationSequence) {
        journal.append(.notification(sequence, notifications[sequence]))
        replace(sequence, by: entry)
    }

    /// The only place that changes a notification, so that the census cannot miss a change.
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

extension ModelRows {
    /// The latest of the last acceptance, the last settlement and the last kept answer.
    var newestTime: Timestamp? {
        let accepted = notifications.keys.max().flatMap { notifications[$0] }?.stored.receivedAt
        let settled = notifications.values.lazy.compactMap(\.stored.settledAt).max()
        let kept = answers.values.lazy.map(\.keptAt).max()
        return [accepted, settled, kept].compactMap(\.self).max()
    }
}

extension ModelRows.Entry {
    fileprivate init(accepted new: NewNotification) {
        stored = StoredNotification(
            new.header, source: new.source, replayOf: new.replayOf, decision: new.decision, state: .waiting,
            payload: new.payload)
        heldUntil = nil
        first = ModelRows.FirstAnswer(decision: new.decision, state: new.placement.state)
    }

    fileprivate mutating func place(_ placement: Placement, settledAt: Timestamp?) {
        heldUntil = nil
        heldBy = nil
        switch placement {
        case .lane:
            stored.state = .waiting
        case .held(let until):
            stored.state = .held
            heldUntil = until
        case .gated(let device):
            stored.state = .held
            heldBy = GateKey(application: stored.application, device: device)
        case .settled(let settlement):
            stored.state = settlement.state
            stored.reason = settlement.reason
            stored.settledAt = settledAt
        }
    }
}
