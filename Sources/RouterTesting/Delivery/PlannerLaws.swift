import Router
import RouterPlugin

/// Laws of the lane planner: a random history, compared with a slow model that scans every lane.
///
/// - The planner starts no attempt that the model would not start: it exceeds no cap, bypasses no breaker, and keeps
///   the order.
/// - When the planner has nothing more to do, the model finds nothing that could start: no lane is forgotten.
/// - In the end, when every attempt is answered at once, all deliveries have started.
package struct PlannerLaws {
    package static func violations(seed: UInt64, steps: Int) -> [String] {
        var trial = PlannerLaws(seed: seed)
        for _ in 0..<steps where trial.violations.isEmpty { trial.step() }
        trial.finish()
        return trial.violations.map { "seed \(seed): \($0)" }
    }

    /// A delivery as the model knows it.
    private struct Item {
        var notification: UnsettledNotification
        var lane: SessionKey
        var isUnderWay = false
        var isEnded = false
        /// The class under which it was counted when it started.
        var urgency = Priority.low
        var isSlow = false

        var isEvent: Bool { notification.event != nil }
    }

    private let caps: DeliveryCaps
    private let origins: Int
    private var planner: LanePlanner
    private var items: [NotificationSequence: Item] = [:]
    private var terms: [SessionKey: LaneTerms] = [:]
    private var closed: Set<SessionKey> = []
    private var weights: [ApplicationID: Int] = [:]
    private var timers: [(at: Timestamp, step: LanePlanner.Step)] = []
    private var now = Timestamp(milliseconds: 1_000_000)
    private var last: Int64 = 0
    private var generator: SeededGenerator
    private var violations: [String] = []

    private init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func draw(_ choices: Int...) -> Int { choices.randomElement(using: &generator) ?? 1 }
        caps = DeliveryCaps(slots: draw(1, 2, 5, 16, 40), perOrigin: draw(1, 2, 4, 9, 12, 40), slow: draw(1, 2, 5))
        origins = draw(1, 2)
        planner = LanePlanner(caps: caps)
        self.generator = generator
        for application in 0..<draw(1, 2, 3) {
            let id = ApplicationID(unchecked: "app\(application)")
            weights[id] = draw(1, 2, 5)
            for session in 0..<draw(1, 4, 9, 24) {
                let key = SessionKey(application: id, session: SessionID(unchecked: "s\(session)"))
                terms[key] = drawTerms()
            }
        }
    }

    private mutating func draw(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// Few endpoints at few origins, so that lanes compete there.
    private mutating func drawTerms() -> LaneTerms {
        LaneTerms(
            url: "https://o\(draw(0..<origins)).example/\(draw(0..<3))", isShared: draw(0..<2) == 0,
            maxInFlight: draw(1..<3),
            overtakenAfter: [nil, nil, 1, 2][draw(0..<4)], isGated: draw(0..<5) == 0)
    }

    // MARK: History

    private mutating func step() {
        switch draw(0..<20) {
        case 0..<8: enqueue()
        case 8..<15:
            // Sometimes many end before others take their places.
            for _ in 0..<[1, 1, 1, 2, 40][draw(0..<5)] { finishOne(isGood: draw(0..<10) < 6) }
        case 15: change()
        case 16: remove()
        case 17:
            if let key = pick(terms.keys.sorted()), let url = terms[key]?.url {
                planner.resume(EndpointKey(application: key.application, url: url), at: now)
            }
        default:
            now = now.advanced(byMilliseconds: Int64([1, 500, 6000, 60_000, 700_000][draw(0..<5)]))
        }
        wakeUp()
        run()
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &generator) }

    private mutating func enqueue() {
        guard let key = pick(terms.keys.sorted()) else { return }
        for _ in 0..<draw(1..<5) {
            last += 1
            let header = NotificationHeader(
                sequence: NotificationSequence(last), id: NotificationID(unchecked: "ntf_\(last)"),
                application: key.application, priority: [Priority.high, .normal, .low][draw(0..<3)],
                expiration: draw(0..<6) == 0 ? .at(now.advanced(byMilliseconds: Int64(draw(0..<90_000)))) : .never,
                receivedAt: now, event: draw(0..<5) == 0 ? SceneEvent(.refresh) : nil)
            let notification = UnsettledNotification(
                header, decision: Decision(tier: .can, session: key.session, reason: ""))
            items[notification.sequence] = Item(notification: notification, lane: key)
            planner.enqueue(
                QueuedDelivery(notification, payload: .json([1])), in: key, sessionExists: !closed.contains(key))
        }
    }

    /// Ends an attempt: it succeeds, or is rescheduled.
    private mutating func finishOne(isGood: Bool) {
        let underWay = items.filter(\.value.isUnderWay).keys.sorted()
        guard let sequence = pick(underWay), let item = items[sequence] else { return }
        let outcomes: [(ResponseClass, Int?)] =
            isGood
            ? [(.success, 200)]
            : [
                (.transient(retryAfterSeconds: nil), 500), (.unreachable(.timedOut), nil),
                (.backPressure(retryAfterSeconds: 9), 429), (.rejected, 404),
            ]
        guard let (outcome, status) = pick(outcomes) else { return }
        let isSent = isGood || draw(0..<8) > 0
        if isSent {
            planner.learn(
                from: sequence, outcome, status: status, milliseconds: Int64([5, 5, 9000][draw(0..<3)]),
                hasRunOutOfTime: outcome == .unreachable(.timedOut), at: now,
                using: &generator)
        }
        if isGood {
            items[sequence] = nil
            planner.remove(sequence)
        } else {
            var progress = item.notification.progress
            progress.attempts += isSent ? 1 : 0
            progress.notBefore = now.advanced(byMilliseconds: Int64(draw(0..<20_000)))
            items[sequence]?.notification.progress = progress
            items[sequence]?.isUnderWay = false
            planner.reschedule(sequence, progress)
        }
    }

    private mutating func remove() {
        let waiting = items.filter { !$0.value.isUnderWay }.keys.sorted()
        guard let sequence = pick(waiting) else { return }
        items[sequence] = nil
        planner.remove(sequence)
    }

    /// A session is deleted, returns, or has another endpoint.
    private mutating func change() {
        guard let key = pick(terms.keys.sorted()) else { return }
        if closed.remove(key) != nil { return planner.reopen(key) }
        if draw(0..<2) == 0 {
            closed.insert(key)
            return planner.close(key)
        }
        terms[key] = drawTerms()
        planner.reopen(key)
    }

    private mutating func wakeUp() {
        let due = timers.filter { $0.at <= now }
        timers.removeAll { $0.at <= now }
        for timer in due {
            switch timer.step {
            case .wake(let key, _): planner.timeHasCome(for: key)
            case .wakeEndpoint(let endpoint, _): planner.timeHasCome(for: endpoint, at: now)
            default: break
            }
        }
    }

    // MARK: The planner, and the model

    private mutating func run() {
        let (terms, weights) = (terms, weights)
        var count = 0
        while violations.isEmpty {
            // The next attempt is checked against the state before it started.
            let before = planner
            let step = planner.next(at: now, terms: { terms[$0] }, weight: { weights[$0] ?? 1 })
            guard let step else { break }
            count += 1
            guard count < 10_000 else { return violations.append("it does not come to an end") }
            switch step {
            case .attempt(let key, let delivery, _): started(delivery.notification.sequence, in: key, before)
            case .ended(let sequence):
                guard let item = items[sequence], case .at(let end) = item.notification.expiration, end <= now,
                    !item.isUnderWay
                else { return violations.append("\(sequence) ends before its time") }
                items[sequence] = nil
                planner.remove(sequence)
            case .wake(_, let time), .wakeEndpoint(_, let time): timers.append((time, step))
            }
        }
        checkRest()
    }

    private mutating func started(_ sequence: NotificationSequence, in key: SessionKey, _ before: LanePlanner) {
        guard let item = items[sequence], item.lane == key else { return violations.append("\(sequence) is nowhere") }
        guard startable(in: key) == sequence else {
            return violations.append("\(sequence) starts; next in \(key) is \(startable(in: key) as Any)")
        }
        if let obstacle = obstacle(key, before) { violations.append("\(sequence) starts in spite of \(obstacle)") }
        let urgency = urgency(of: key)
        guard admits(urgency) else { return violations.append("there is no slot for \(sequence)") }
        let endpoint = endpoint(of: key)
        items[sequence]?.isUnderWay = true
        items[sequence]?.urgency = urgency
        items[sequence]?.isSlow = before.endpoints[endpoint]?.sharesFewSlots ?? false
        sentTo[sequence] = endpoint
    }

    private var sentTo: [NotificationSequence: EndpointKey] = [:]

    private func endpoint(of key: SessionKey) -> EndpointKey {
        EndpointKey(application: key.application, url: terms[key]?.url ?? "")
    }

    /// The delivery that the lane would start now, found by scanning all of its deliveries.
    private func startable(in key: SessionKey) -> NotificationSequence? {
        guard !closed.contains(key), let terms = terms[key] else { return nil }
        let lane = items.filter { $0.value.lane == key }.sorted { $0.key < $1.key }
        let underWay = lane.filter(\.value.isUnderWay)
        guard underWay.count < terms.maxInFlight, !underWay.contains(where: \.value.isEvent) else { return nil }
        for (sequence, item) in lane where !item.isUnderWay {
            // A gate is closed: only events go on.
            if terms.isGated, !item.isEvent { continue }
            if item.isEvent, !underWay.isEmpty { return nil }
            let progress = item.notification.progress
            guard let notBefore = progress.notBefore, notBefore > now else { return sequence }
            guard !item.isEvent, let after = terms.overtakenAfter, progress.attempts >= after else { return nil }
        }
        return nil
    }

    private func urgency(of key: SessionKey) -> Priority {
        let waiting = items.values.filter { $0.lane == key && !$0.isUnderWay }.map(\.notification.priority)
        return waiting.max { $0.rawValue < $1.rawValue } ?? .low
    }

    private func admits(_ urgency: Priority) -> Bool { free(for: urgency) > 0 }

    private func free(for urgency: Priority) -> Int {
        let underWay = items.values.filter(\.isUnderWay)
        var borrowed = 0
        for priority in Priority.allCases {
            borrowed += max(0, underWay.count { $0.urgency == priority } - caps.reserved(for: priority))
        }
        let own = underWay.count { $0.urgency == urgency }
        let reserved = Priority.allCases.reduce(0) { $0 + caps.reserved(for: $1) }
        return max(0, caps.reserved(for: urgency) - own) + max(0, caps.slots - reserved - borrowed)
    }

    /// The obstacle that keeps the lane from starting; nil if there is none.
    private func obstacle(_ key: SessionKey, _ planner: LanePlanner) -> String? {
        let endpoint = endpoint(of: key)
        let underWay = items.filter(\.value.isUnderWay)
        let here = underWay.keys.count { sentTo[$0] == endpoint }
        if terms[key]?.isShared == true, let pause = planner.trouble(of: key, at: endpoint)?.until, pause > now {
            return "its own failures"
        }
        if let health = planner.endpoints[endpoint] {
            if let gate = health.gatedUntil, gate > now { return "a gate" }
            guard health.breaker.admits(underWay: here, at: now) == .start else { return "a breaker" }
            if health.sharesFewSlots, underWay.values.count(where: \.isSlow) >= caps.slow {
                return "the cap of slow ones"
            }
        }
        let atOrigin = underWay.keys.count { sentTo[$0]?.origin == endpoint.origin }
        if atOrigin >= caps.perOrigin { return "the cap of its origin" }
        let own = underWay.values.count { $0.lane.application == key.application }
        let ownAtOrigin = underWay.keys.count {
            sentTo[$0]?.origin == endpoint.origin && sentTo[$0]?.application == key.application
        }
        if ownAtOrigin >= RouterLimits.attemptsPerFreeSlot * (caps.perOrigin - atOrigin) {
            return "the share of its application at its origin"
        }
        return own < RouterLimits.attemptsPerFreeSlot * free(for: urgency(of: key))
            ? nil : "the share of its application"
    }

    private mutating func checkRest() {
        guard violations.isEmpty else { return }
        if planner.inFlight != items.values.count(where: \.isUnderWay) { violations.append("inFlight is wrong") }
        for key in terms.keys.sorted() {
            guard let sequence = startable(in: key), admits(urgency(of: key)) else { continue }
            if obstacle(key, planner) == nil { violations.append("\(sequence) could start in \(key), and does not") }
        }
        for item in items.values {
            guard case .at(let end) = item.notification.expiration, end <= now, !item.isUnderWay,
                let lane = planner.lanes[item.lane], lane.inFlight == 0, !lane.isClosed,
                planner.slots.admits(urgency(of: item.lane))
            else { continue }
            violations.append("\(item.notification.sequence) has expired, and does not end")
        }
    }

    /// Every attempt succeeds from now on: all deliveries have to end, and no state may be left over.
    private mutating func finish() {
        for key in terms.keys.sorted() {
            terms[key]?.isGated = false
            planner.reopen(key)
        }
        closed = []
        var rounds = 0
        while violations.isEmpty, rounds < 10_000 {
            rounds += 1
            // The first run returns the timers that the planner needs.
            run()
            if items.values.contains(where: \.isUnderWay) {
                finishOne(isGood: true)
            } else if let next = timers.map(\.at).min() {
                now = max(now, next)
            } else {
                break
            }
            wakeUp()
        }
        guard violations.isEmpty else { return }
        if !items.isEmpty || !planner.lanes.isEmpty { violations.append("it does not settle") }
        if planner.payloadBytes != 0 { violations.append("payload bytes are left over") }
        if !planner.endpoints.isEmpty { violations.append("endpoints are left over: \(planner.endpoints.count)") }
    }
}
