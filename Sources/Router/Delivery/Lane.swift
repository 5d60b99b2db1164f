package import RouterPlugin

/// A delivery in its lane. A million may wait: a field that makes it larger costs a megabyte a byte.
package struct QueuedDelivery: Hashable, Sendable {
    package var notification: UnsettledNotification
    private var state = DeliveryStateMachine.State.waiting
    /// Whether its end is being committed: it has expired, or was recalled.
    package var isEnding = false
    /// Whether it names a device, and its session has moved to another one; or its session takes no part in routing.
    package var isMisaddressed = false
    /// Nil if it is to be read from the store when an attempt starts.
    package var payload: MessagePayload?

    package var isEvent: Bool { notification.event != nil }

    var isDiscard: Bool { notification.event?.kind == .didDiscardSceneSessions }
    var isOpening: Bool { notification.event?.kind == .showApplicationScreen }

    package init(_ notification: UnsettledNotification, payload: MessagePayload?) {
        self.notification = notification
        self.payload = payload
    }

    /// The state of the delivery, whose progress is the notification's.
    package var machine: DeliveryStateMachine {
        get {
            DeliveryStateMachine(
                expiration: notification.expiration, receivedAt: notification.receivedAt,
                progress: notification.progress, state)
        }
        set {
            state = newValue.state
            notification.progress = newValue.progress
        }
    }

    /// The delivery as a recovery would find it. An attempt under way is in doubt, and is made again under the same
    /// number. An end that was not committed has to be found again.
    var interrupted: QueuedDelivery {
        var delivery = self
        delivery.isEnding = false
        guard !machine.isWaiting else { return delivery }
        delivery.machine.rescheduled(machine.progress)
        delivery.notification.isInDoubt = true
        return delivery
    }
}

extension UnsettledNotification {
    /// Whether it names another device than that of its session, or its session takes no part in routing. Events are for their
    /// session anywhere.
    func isMisaddressed(on place: DeviceID?, takesPart: Bool) -> Bool {
        event == nil && (device != nil && device != place || !takesPart)
    }
}

/// The ordered queue of deliveries of one session.
///
///     head                                        tail
///      │ 17 inFlight │ 21 waiting │ 22 waiting │ 30 │     in order of acceptance
///
/// First in, first out: the lane offers its first waiting delivery while fewer than `maxInFlight` are under way. A
/// delivery that waits for its retry holds back the deliveries behind it; otherwise they would arrive out of order. An
/// application may limit that to the first attempts: after those, later deliveries overtake the delivery while it
/// waits, and it comes first again at its time.
///
/// An event is sent alone: it starts when no attempt is under way, no attempt starts beside it, and no delivery
/// overtakes it. While a gate is closed, events go on and notifications wait. They wait until the session has been told
/// that the gate is open: it must not show a held notification before it may show anything.
package struct Lane: Sendable {
    package private(set) var queue = SplitDeque<QueuedDelivery>()
    package private(set) var inFlight = 0
    /// The number of the lane in its table.
    var number: UInt32 = 0
    /// Whether its session is gone; waiting deliveries are then moved to other lanes.
    package var isClosed = false
    /// Whether its session was discarded and is still to be told so: events go on, and notifications move to other
    /// lanes.
    package var isLeaving = false
    /// The time of the timer that is set.
    var wakesAt: Timestamp?
    private var tally = LaneTally()
    private(set) var expiries = ExpiryQueue()
    private var isEventInFlight = false

    package init() {}

    package var isEmpty: Bool { queue.isEmpty }
    package var hasEvents: Bool { tally.events > 0 }
    /// How many deliveries beside events wait in it.
    var notificationsWaiting: Int { max(0, queue.count - inFlight - tally.events) }
    var hasDiscards: Bool { tally.discards > 0 }

    /// The class of the lane: that of its most urgent waiting delivery, because the deliveries before that have to go
    /// first.
    package var urgency: Priority? { tally.urgency }

    /// Whether deliveries may have to move: the session is gone, is about to go, or is on another device.
    var isLeft: Bool { isClosed || isLeaving || tally.misaddressed > 0 }

    /// Whether a waiting delivery has to move to another lane.
    package var needsDraining: Bool { isLeft && queue.contains(where: hasToGo) }

    /// Whether the delivery can no longer start in this lane.
    private func hasToGo(_ delivery: QueuedDelivery) -> Bool {
        delivery.machine.isWaiting && !delivery.isEnding
            && (isClosed || isLeaving && !delivery.isEvent || delivery.isMisaddressed)
    }

    /// At most `limit` deliveries that have to move to another lane, first ones first.
    package func outgoing(limit: Int) -> [QueuedDelivery] { Array(queue.lazy.filter(hasToGo).prefix(limit)) }

    /// The first step of the session after a delivery.
    package func nextStep(after sequence: NotificationSequence) -> SceneEvent? {
        guard hasEvents else { return nil }
        return queue[place(of: sequence)...].first {
            $0.notification.sequence > sequence && $0.notification.event?.kind.leaves != nil
        }?.notification.event
    }

    /// Inserts a delivery in order of acceptance: nearly always at the end; deliveries from another session's lane,
    /// each behind the one before.
    package mutating func enqueue(_ delivery: QueuedDelivery) {
        var delivery = delivery
        let sequence = delivery.notification.sequence
        var isLast = true
        if !queue.isEmpty {
            isLast = queue.read(at: queue.count - 1) { last in
                delivery.notification.shareTexts(of: last.notification)
                return last.notification.sequence < sequence
            }
        }
        queue.insert(delivery, at: isLast ? queue.endIndex : place(of: sequence))
        tally.add(delivery)
        watchTime(of: delivery)
    }

    /// Adds the expiration of a delivery that waits from now on.
    private mutating func watchTime(of delivery: QueuedDelivery) {
        guard let end = delivery.machine.endsWaitingAt else { return }
        expiries.add(delivery.notification.sequence, at: end)
        // Entries of deliveries that left early must not pile up behind one that expires late.
        guard expiries.count > 2 * tally.expiring + RouterLimits.expiriesPassedOver else { return }
        expiries.rebuild(
            queue.lazy.compactMap { delivery in
                delivery.machine.endsWaitingAt.map { .init(time: $0, sequence: delivery.notification.sequence) }
            })
    }

    /// The session is on another device now, or its demo has begun or ended: misaddressed notifications have to move.
    mutating func move(to session: SceneSession) {
        for index in queue.indices {
            queue.update(at: index) {
                $0.isMisaddressed = $0.notification.isMisaddressed(on: session.device, takesPart: !session.takesNoPart)
            }
        }
        tally.misaddressed = queue.count(where: \.isMisaddressed)
    }

    package func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        index(of: sequence).map { queue[$0] }
    }

    /// The deliveries that are under way, first ones first.
    package var underWay: [NotificationSequence] {
        let places = queue.indices.lazy.filter { !queue.read(at: $0) { $0.machine.isWaiting } }.prefix(inFlight)
        return places.map { queue.read(at: $0) { $0.notification.sequence } }
    }

    /// At most `limit` deliveries that are not under way, first ones first.
    package func waiting(limit: Int) -> [QueuedDelivery] {
        Array(queue.lazy.filter { $0.machine.isWaiting && !$0.isEnding }.prefix(limit))
    }

    /// The last delivery; nil in an empty lane.
    var last: NotificationSequence? {
        queue.isEmpty ? nil : queue.read(at: queue.count - 1) { $0.notification.sequence }
    }

    /// Waiting deliveries after a place.
    ///
    /// - Returns: The deliveries; the last visited delivery, nil at the end of the lane; the last one before any under way.
    func waiting(
        after sequence: NotificationSequence?, limit: Int
    ) -> (deliveries: [QueuedDelivery], last: NotificationSequence?, examined: NotificationSequence?) {
        var deliveries: [QueuedDelivery] = []
        var (last, examined): (NotificationSequence?, NotificationSequence?)
        var isAllWaiting = true
        for index in (sequence.map { place(of: NotificationSequence($0.value + 1)) } ?? 0)..<queue.count {
            guard deliveries.count < max(1, limit) else { return (deliveries, last, examined) }
            let delivery = queue[index]
            last = delivery.notification.sequence
            if delivery.machine.isWaiting {
                if !delivery.isEnding { deliveries.append(delivery) }
            } else {
                isAllWaiting = false
            }
            if isAllWaiting { examined = last }
        }
        return (deliveries, nil, examined)
    }

    /// At most `limit` deliveries that wait for the time of their next attempt, first ones first.
    package func retrying(limit: Int) -> [QueuedDelivery] {
        let places = queue.indices.lazy.filter { place in
            queue.read(at: place) { $0.machine.isWaiting && !$0.isEnding && $0.machine.progress.notBefore != nil }
        }
        return places.prefix(limit).map { queue[$0] }
    }

    /// Takes a delivery out of the lane.
    @discardableResult
    package mutating func remove(_ sequence: NotificationSequence) -> QueuedDelivery? {
        guard let index = index(of: sequence) else { return nil }
        let delivery = queue.remove(at: index)
        tally.remove(delivery)
        if case .inFlight = delivery.machine.state {
            inFlight -= 1
            if delivery.isEvent { isEventInFlight = false }
        }
        return delivery
    }

    /// The next attempt was postponed, or the last one was not made.
    package mutating func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) {
        guard let index = index(of: sequence) else { return }
        let wasInFlight = queue.read(at: index) { if case .inFlight = $0.machine.state { true } else { false } }
        queue.update(at: index) { $0.machine.rescheduled(progress) }
        guard wasInFlight else { return }
        inFlight -= 1
        if queue[index].isEvent { isEventInFlight = false }
        tally.change(queue[index], isWaiting: true)
        watchTime(of: queue[index])
    }

    /// Recalls a delivery: its attempt under way is the last one.
    package mutating func recall(_ sequence: NotificationSequence, as recall: Recall) {
        guard let index = index(of: sequence) else { return }
        queue.update(at: index) { $0.notification.recall = recall }
    }

    /// Marks a recalled delivery that is not under way as one whose end is being committed; false if it cannot end.
    mutating func end(recalled sequence: NotificationSequence) -> Bool {
        guard let index = index(of: sequence), queue[index].notification.recall != nil,
            queue[index].machine.isWaiting,
            !queue[index].isEnding
        else { return false }
        queue.update(at: index) { $0.isEnding = true }
        return true
    }

    /// Turns each delivery into the state that a recovery would give it, and clears the timer, which the caller keeps.
    mutating func interrupt() {
        var lane = Lane()
        (lane.isClosed, lane.isLeaving) = (isClosed, isLeaving)
        for delivery in queue { lane.enqueue(delivery.interrupted) }
        self = lane
    }

    private func index(of sequence: NotificationSequence) -> Int? {
        let place = place(of: sequence)
        return place < queue.endIndex && queue.read(at: place, { $0.notification.sequence }) == sequence ? place : nil
    }

    /// The position of a delivery, or the position that it would have. The queue is in order of sequences, and may be
    /// long.
    private func place(of sequence: NotificationSequence) -> Int {
        var (low, high, middle) = (0, queue.count, 0)
        // The first delivery is looked up most of the time, and compared first.
        while low < high {
            if queue.read(at: middle, { $0.notification.sequence }) < sequence {
                low = middle + 1
            } else {
                high = middle
            }
            middle = low + (high - low) / 2
        }
        return low
    }

    // MARK: Offers

    /// The next step of the lane.
    package enum Offer: Hashable, Sendable {
        case attempt(QueuedDelivery, number: Int)
        case ended(NotificationSequence)
        case wait(until: Timestamp)
        /// It has a delivery that may not start; look again at that time at the latest.
        case held(until: Timestamp?)
        case nothing
    }

    /// Starts the first delivery whose turn it is, if the lane's own limit, the time and others allow it.
    ///
    /// - Parameters:
    ///   - overtakenAfter: After how many attempts a delivery that waits for its retry may be overtaken; nil for never.
    ///   - isGated: Whether only events may start.
    ///   - isPermitted: Whether the planner permits an attempt.
    package mutating func offer(
        at now: Timestamp, maxInFlight: Int, overtakenAfter: Int? = nil, isGated: Bool = false, isPermitted: Bool = true
    ) -> Offer {
        guard !isClosed, !isEventInFlight, inFlight < maxInFlight else { return .nothing }
        let isGated = isResting(isGated)
        let (found, retryAt) = candidate(at: now, overtakenAfter, isGated)
        guard let index = found else {
            guard retryAt != nil || isGated else { return .nothing }
            // While the first delivery waits for its retry, the deliveries behind it may expire.
            return rest(at: now, until: retryAt)
        }
        let (isRecalled, endsAt) = queue.read(at: index) { ($0.notification.recall != nil, $0.machine.endsWaitingAt) }
        // It was recalled during an attempt that a crash has ended.
        guard !isRecalled else { return end(at: index) }
        if let endsAt, endsAt <= now { return end(at: index) }
        guard isPermitted else { return expired(at: now) ?? .held(until: nextExpiry()) }
        guard case .send(let attempt) = queue.update(at: index, { $0.machine.start(at: now) }) else { return .nothing }
        let delivery = queue[index]
        queue.update(at: index) { $0.payload = nil }
        inFlight += 1
        isEventInFlight = delivery.isEvent
        tally.change(delivery, isWaiting: false)
        return .attempt(delivery, number: attempt)
    }

    /// The next step of a lane that may start nothing: only the ends of expired deliveries.
    ///
    /// - Parameter time: The time at which it may start a delivery again; nil if that does not depend on time.
    mutating func rest(at now: Timestamp, until time: Timestamp? = nil) -> Offer {
        guard !isClosed else { return .nothing }
        if let ended = expired(at: now) { return ended }
        return [time, nextExpiry()].compactMap(\.self).min().map { .wait(until: $0) } ?? .nothing
    }

    /// Whether only events may start.
    func isResting(_ isGated: Bool) -> Bool { isGated || tally.openings > 0 }

    /// The first delivery that could start or end now; if there is none, the time at which the first of the deliveries
    /// looked at may be tried again.
    func candidate(
        at now: Timestamp, _ overtakenAfter: Int?, _ isGated: Bool
    ) -> (index: Int?, retryAt: Timestamp?) {
        // Only an event may start, and there is none: the queue may be long, and is not scanned.
        if isLeaving || isGated, !hasEvents { return (nil, nil) }
        var retryAt: Timestamp?
        var overtaken = 0
        var isBehindMisaddressed = false
        for index in queue.indices where queue.read(at: index, { $0.machine.isWaiting && !$0.isEnding }) {
            let (isEvent, isMisaddressed) = queue.read(at: index) { ($0.isEvent, $0.isMisaddressed) }
            if isMisaddressed { isBehindMisaddressed = true }
            if isLeaving || isGated || isMisaddressed, !isEvent { continue }
            // A delivery of this lane does not go before one that is about to be decided again: that one may stay in
            // this lane as well.
            if isBehindMisaddressed, !isEvent { return (nil, retryAt) }
            if isEvent, inFlight > 0 { return (nil, retryAt) }
            let (attempts, notBefore) = queue.read(at: index) {
                ($0.machine.progress.attempts, $0.machine.progress.notBefore)
            }
            let (isRecalled, end) = queue.read(at: index) { ($0.notification.recall != nil, $0.machine.endsWaitingAt) }
            guard !isRecalled, let notBefore, notBefore > now, end.map({ $0 > now }) ?? true
            else { return (index, nil) }
            retryAt = min(retryAt ?? notBefore, notBefore)
            guard !isEvent, let overtakenAfter, attempts >= overtakenAfter,
                overtaken < RouterLimits.overtakenDeliveries
            else { return (nil, retryAt) }
            overtaken += 1
        }
        return (nil, retryAt)
    }

    private mutating func end(at index: Int) -> Offer {
        queue.update(at: index) { $0.isEnding = true }
        return .ended(queue[index].notification.sequence)
    }

    private mutating func expired(at now: Timestamp) -> Offer? {
        guard let first = nextToExpire(), first.time <= now, let index = index(of: first.sequence) else {
            return nil
        }
        return end(at: index)
    }

    private mutating func nextExpiry() -> Timestamp? { nextToExpire()?.time }

    private mutating func nextToExpire() -> ExpiryQueue.Entry? {
        guard tally.expiring > 0 else { return nil }
        // Held apart while the queue is searched.
        var expiries = ExpiryQueue()
        swap(&expiries, &self.expiries)
        defer { swap(&expiries, &self.expiries) }
        return expiries.first { sequence in
            index(of: sequence).map { queue[$0].machine.isWaiting && !queue[$0].isEnding } ?? false
        }
    }
}
