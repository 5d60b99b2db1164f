import Router
import RouterPlugin

/// A random but repeatable life of a router, as the changes that it commits: legal batches, and now and then an illegal
/// one.
struct StoreHistory {
    private var generator: Generator
    private var nextSequence: Int64 = 1
    private var nextCreation: Int64 = 1
    private var term: Int64 = 0
    private(set) var sessions: [SceneSession] = []
    private var applications: Set<ApplicationID> = []
    private var open: [Open] = []
    private var settled: [NotificationSequence] = []
    private(set) var ids: [NotificationID] = []
    private(set) var dedupeKeys: [DedupeKey] = []

    /// A notification that is not settled.
    private struct Open {
        var sequence: NotificationSequence
        var attempts = 0
        var isHeld: Bool
    }

    init(seed: UInt64) { generator = Generator(state: seed) }

    /// The next batch of changes, and whether it breaks a law.
    mutating func next() -> (changes: [StoreChange], isLegal: Bool) {
        if draw(12) == 0, let illegal = illegalChange() {
            // The changes before the illegal one must be undone, so the history drops them too.
            let before = self
            let changes = batch()
            let drawn = generator
            self = before
            generator = drawn
            return (changes + [illegal], false)
        }
        return (batch(), true)
    }

    private mutating func batch() -> [StoreChange] {
        (0...draw(6)).compactMap { _ in change() }
    }

    private mutating func change() -> StoreChange? {
        switch draw(20) {
        case 0: return putApplication()
        case 1 where draw(6) == 0: return deleteApplication()
        case 1, 2: return putSession()
        case 3: return draw(2) == 0 ? changeSession() : putGate()
        case 5 where draw(3) == 0: return numberDeliveries()
        case 5 where draw(4) == 0: return putLock()
        case 4 where draw(3) == 0: return deleteSession()
        case 4...10: return insert()
        case 11...13: return recordAttempt()
        case 14: return reschedule()
        case 15: return draw(2) == 0 ? reassign() : recall()
        case 16: return draw(2) == 0 ? forget() : settle()
        default: return settle()
        }
    }

    private mutating func putApplication() -> StoreChange {
        let id = pick([StoreSamples.gallery, StoreSamples.clinic])
        applications.insert(id)
        return .putApplication(StoreSamples.fullApplication(id, text()))
    }

    private mutating func deleteApplication() -> StoreChange {
        let id = pick([StoreSamples.gallery, StoreSamples.clinic])
        applications.remove(id)
        sessions.removeAll { $0.key.application == id }
        return .deleteApplication(id)
    }

    private mutating func putSession() -> StoreChange? {
        guard !applications.isEmpty else { return nil }
        let name = "s\(draw(9))\(text())"
        let session = StoreSamples.session(name, created: nextCreation, in: pick(applications.sorted()))
        nextCreation += 1 + Int64(draw(3))
        sessions.removeAll { $0.key == session.key }
        sessions.append(session)
        return .putSession(session)
    }

    private mutating func changeSession() -> StoreChange? {
        guard !sessions.isEmpty else { return nil }
        let index = draw(sessions.count)
        sessions[index].enter(pick(ActivationState.allCases), at: time())
        sessions[index].device = draw(2) == 0 ? nil : DeviceID(unchecked: text())
        return .putSession(sessions[index])
    }

    private mutating func putGate() -> StoreChange? {
        guard !applications.isEmpty else { return nil }
        // Terms only grow, across all gates.
        term += Int64(draw(2))
        return .putGate(StoreSamples.gate(pick(applications.sorted()), text(), term: term))
    }

    private mutating func deleteSession() -> StoreChange? {
        guard !sessions.isEmpty else { return nil }
        return .deleteSession(sessions.remove(at: draw(sessions.count)).key)
    }

    private mutating func numberDeliveries() -> StoreChange? {
        sessions.randomElement(using: &generator).map { .numberDeliveries($0.key) }
    }

    private mutating func putLock() -> StoreChange? {
        guard !applications.isEmpty else { return nil }
        return .putPasscodeLock(pick(StoreSamples.passcodeLocks(pick(applications.sorted()), text())))
    }

    private mutating func insert() -> StoreChange {
        var new = StoreSamples.notification(nextSequence)
        if draw(3) == 0 {
            new = StoreSamples.fullNotification(nextSequence, text(), payload: [0, UInt8(draw(256)), 0])
        }
        new.application = pick([StoreSamples.gallery, StoreSamples.clinic])
        if draw(2) == 0, let session = sessions.randomElement(using: &generator) {
            new.application = session.key.application
            new.decision.session = session.key.session
        }
        let application = new.application
        new.receivedAt = time()
        new.dedupeKeys = draw(2) == 0 ? [] : ["key-\(nextSequence)"]
        new.placement = placement()
        nextSequence += 1 + Int64(draw(3))
        ids.append(new.id)
        dedupeKeys += new.dedupeKeys.map { DedupeKey(application: application, source: new.source, key: $0) }
        place(Open(sequence: new.sequence, isHeld: false), new.placement)
        return .insert(new)
    }

    private mutating func recordAttempt() -> StoreChange? {
        guard let index = waiting() else { return nil }
        open[index].attempts += 1 + draw(2)
        return .recordAttempt(StoreSamples.attempt(open[index].sequence.value, open[index].attempts))
    }

    private mutating func reschedule() -> StoreChange? {
        guard let index = waiting() else { return nil }
        open[index].attempts += draw(2)
        let progress = DeliveryProgress(
            attempts: open[index].attempts, failures: draw(4), rejections: draw(3),
            notBefore: draw(2) == 0 ? nil : time())
        return .reschedule(open[index].sequence, progress: progress)
    }

    private mutating func reassign() -> StoreChange? {
        guard !open.isEmpty else { return nil }
        let moved = open.remove(at: draw(open.count))
        let placement = placement()
        place(moved, placement)
        let reason = text()
        let known = draw(2) == 0 ? sessions.randomElement(using: &generator)?.key.session : nil
        return .reassign(
            moved.sequence,
            Decision(
                tier: pick(Tier.allCases), session: known ?? SessionID(unchecked: reason), reason: reason,
                rulesVersion: Int64(reason.utf8.count)),
            placement)
    }

    private mutating func recall() -> StoreChange? {
        guard let index = waiting() else { return nil }
        return .recall(open[index].sequence, draw(2) == 0 ? .superseded : .cancelled)
    }

    private mutating func settle() -> StoreChange? {
        guard !open.isEmpty else { return nil }
        let sequence = open.remove(at: draw(open.count)).sequence
        settled.append(sequence)
        return .settle(sequence, settlement(), at: time())
    }

    private mutating func forget() -> StoreChange? {
        guard !settled.isEmpty else { return nil }
        return .forget(settled.remove(at: draw(settled.count)))
    }

    private mutating func illegalChange() -> StoreChange? {
        guard let done = settled.randomElement(using: &generator) else { return nil }
        let decision = Decision(tier: .can, session: nil, reason: "")
        return pick([
            .settle(done, .delivered, at: time()), .recordAttempt(StoreSamples.attempt(done.value, 99)),
            .reschedule(done, progress: DeliveryProgress(attempts: 99)), .reassign(done, decision, .lane),
            .recall(done, .cancelled), .forget(NotificationSequence(nextSequence + 1000)),
            .insert(StoreSamples.notification(done.value)),
            .settle(NotificationSequence(nextSequence + 1000), .delivered, at: time()),
        ])
    }

    private mutating func place(_ notification: Open, _ placement: Placement) {
        var notification = notification
        switch placement {
        case .settled:
            return settled.append(notification.sequence)
        case .held, .gated: notification.isHeld = true
        case .lane: notification.isHeld = false
        }
        open.append(notification)
    }

    private mutating func placement() -> Placement {
        switch draw(6) {
        case 0: draw(2) == 0 ? .held(until: time()) : .gated(draw(2) == 0 ? nil : DeviceID(unchecked: text()))
        case 1: .settled(settlement())
        default: .lane
        }
    }

    private mutating func settlement() -> Settlement {
        pick(
            [.delivered, .delivered, .expired, .superseded, .cancelled]
                + DeadLetterReason.allCases.map(Settlement.deadLettered))
    }

    private mutating func waiting() -> Int? {
        open.indices.filter { !open[$0].isHeld }.randomElement(using: &generator)
    }

    private mutating func text() -> String { pick(StoreSamples.hostileTexts) }
    private mutating func time() -> Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + Int64(draw(100_000))) }
    private mutating func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[draw(elements.count)] }

    /// SplitMix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }
}
