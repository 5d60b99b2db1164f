import Router
import RouterPlugin
import RouterTesting
import Testing

/// The order and number of attempts when every lane has something to send.
@Suite("The lane planner: shares")
struct FairnessTests {
    /// A planner with work, in which every attempt succeeds at once.
    private struct Bench {
        var planner: LanePlanner
        var weights: [ApplicationID: Int] = [:]
        var urls: [SessionKey: String] = [:]
        var last: Int64 = 0
        var now = Timestamp.epoch
        var generator = SeededGenerator(seed: 1)

        init(_ caps: DeliveryCaps) { planner = LanePlanner(caps: caps) }

        mutating func add(
            _ count: Int, of application: ApplicationID = .gallery, to session: SessionID, _ priority: Priority = .high
        ) {
            for _ in 0..<count {
                last += 1
                let notification = UnsettledNotification.numbered(
                    NotificationSequence(last), to: session, of: application, priority: priority)
                let key = SessionKey(application: application, session: session)
                planner.enqueue(QueuedDelivery(notification, payload: nil), in: key, sessionExists: true)
            }
        }

        /// The next attempt that may start now.
        mutating func next() -> QueuedDelivery? {
            let (urls, weights) = (urls, weights)
            while true {
                let step = planner.next(
                    at: now, terms: { LaneTerms(url: urls[$0] ?? "https://\($0.session).example/") },
                    weight: { weights[$0] ?? 1 })
                switch step {
                case .attempt(_, let delivery, _): return delivery
                case nil: return nil
                default: continue
                }
            }
        }

        /// All attempts that may start now.
        mutating func all() -> [QueuedDelivery] {
            var all: [QueuedDelivery] = []
            while let delivery = next() { all.append(delivery) }
            return all
        }

        /// Makes attempts one after another, each of which succeeds.
        mutating func serve(_ count: Int) -> [UnsettledNotification] {
            (0..<count).compactMap { _ in
                guard let delivery = next() else { return nil }
                planner.remove(delivery.notification.sequence)
                return delivery.notification
            }
        }

        mutating func learn(
            _ delivery: QueuedDelivery, _ outcome: ResponseClass, status: Int? = nil, milliseconds: Int64 = 1,
            hasRunOutOfTime: Bool = false
        ) {
            planner.learn(
                from: delivery.notification.sequence, outcome, status: status, milliseconds: milliseconds,
                hasRunOutOfTime: hasRunOutOfTime, at: now, using: &generator)
        }
    }

    /// One application had many lanes there before the other one arrived.
    @Test("Applications take turns at an origin with a low limit of attempts")
    func turnsAtAnOrigin() throws {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 1))
        for number in 0..<9 {
            let id = SessionID(unchecked: "busy\(number)")
            bench.urls[.gallery(id)] = "https://one.example/\(number)"
            bench.add(1, to: id)
        }
        let first = bench.all()
        var underWay = try #require(first.first)
        bench.urls[SessionKey(application: .other, session: "single")] = "https://one.example/single"
        bench.add(1, of: .other, to: "single")
        let none = bench.all()
        #expect(none.isEmpty)
        var order: [ApplicationID] = []
        while order.count < 9 {
            bench.planner.remove(underWay.notification.sequence)
            let next = bench.next()
            underWay = try #require(next)
            order.append(underWay.notification.application)
        }
        #expect(order.firstIndex(of: .other).map { $0 <= 1 } == true)
        #expect(order.count { $0 == .gallery } == 8)
    }

    enum Scarcity: CaseIterable {
        case origin, originShare, share, slowSlots

        var caps: DeliveryCaps {
            switch self {
            case .origin: DeliveryCaps(slots: 64, perOrigin: 2)
            case .originShare: DeliveryCaps(slots: 64, perOrigin: 18)
            case .share: DeliveryCaps(slots: 16)
            case .slowSlots: DeliveryCaps(slots: 64, slow: 2)
            }
        }
    }

    /// A lane with more to send does not take the resource that it has just released, while other lanes are blocked on
    /// it.
    @Test("Lanes that always have more to send take turns at a scarce resource", arguments: Scarcity.allCases)
    func turnsOfLanes(_ scarcity: Scarcity) throws {
        var bench = Bench(scarcity.caps)
        for number in 0..<30 {
            let id = SessionID(unchecked: "s\(number)")
            let isAtOneOrigin = [.origin, .originShare].contains(scarcity)
            if isAtOneOrigin { bench.urls[.gallery(id)] = "https://one.example/\(number)" }
            bench.add(40, to: id)
        }
        var starts: [SessionID: Int] = [:]
        var underWay: [QueuedDelivery] = []
        for _ in 0..<900 {
            for delivery in bench.all() {
                starts[try #require(delivery.notification.decision.session), default: 0] += 1
                underWay.append(delivery)
            }
            let ended = try #require(underWay.first)
            underWay.removeFirst()
            bench.learn(ended, .success, milliseconds: scarcity == .slowSlots ? 6000 : 1)
            bench.planner.remove(ended.notification.sequence)
        }
        #expect(starts.count == 30)
        let (least, most) = (try #require(starts.values.min()), try #require(starts.values.max()))
        #expect(most - least <= 1, "\(least) to \(most)")
    }

    @Test("An application with fifty lanes gets no more than an application with a single lane")
    func applications() {
        var bench = Bench(DeliveryCaps(slots: 1))
        for lane in 0..<50 { bench.add(4, to: SessionID(unchecked: "s\(lane)")) }
        bench.add(40, of: .other, to: "A")
        let served = bench.serve(80).map(\.application)
        #expect(served.count { $0 == .other } == 40)
        #expect(zip(served, served.dropFirst()).allSatisfy { $0 != $1 }, "In turn, one each.")
    }

    @Test("A weight is the number of attempts in a turn")
    func weights() {
        var bench = Bench(DeliveryCaps(slots: 1))
        bench.weights = [.gallery: 3]
        bench.add(60, to: "A")
        bench.add(60, of: .other, to: "A")
        let served = bench.serve(40).map { $0.application == .gallery ? 1 : 0 }
        #expect(served == (0..<10).flatMap { _ in [1, 1, 1, 0] })
    }

    @Test("Urgent deliveries go first, and every class gets its turn")
    func classes() {
        var bench = Bench(DeliveryCaps(slots: 1))
        for (session, priority) in [("A", Priority.low), ("B", .normal), ("C", .high)] as [(SessionID, Priority)] {
            bench.add(200, to: session, priority)
        }
        let served = bench.serve(130).map(\.priority)
        #expect(
            served.prefix(13)
                == ArraySlice(Array(repeating: .high, count: 8) + Array(repeating: .normal, count: 4) + [.low]))
        for (priority, count) in [(Priority.high, 80), (.normal, 40), (.low, 10)] {
            #expect(served.count { $0 == priority } == count)
        }
    }

    @Test("Slots are kept free for each class")
    func reserved() {
        var bench = Bench(DeliveryCaps(slots: 32, perOrigin: 32))
        // Uses many applications, so that no application's share is the limit.
        func application(_ lane: Int) -> ApplicationID { ApplicationID(unchecked: "app\(lane)") }
        for lane in 0..<100 { bench.add(1, of: application(lane), to: SessionID(unchecked: "low\(lane)"), .low) }
        #expect(bench.all().count == 32 - 4 - 2, "An eighth is for high, a sixteenth for normal.")
        for lane in 0..<100 { bench.add(1, of: application(lane), to: SessionID(unchecked: "normal\(lane)"), .normal) }
        #expect(bench.all().map(\.notification.priority) == [.normal, .normal])
        for lane in 0..<100 { bench.add(1, of: application(lane), to: SessionID(unchecked: "high\(lane)"), .high) }
        #expect(bench.all().map(\.notification.priority) == [.high, .high, .high, .high])
        #expect(bench.planner.inFlight == 32)
    }

    @Test("An urgent delivery raises the class of the deliveries before it in its lane")
    func inheritance() {
        var bench = Bench(DeliveryCaps(slots: 1))
        bench.add(1, to: "A", .low)
        bench.add(20, to: "B", .normal)
        bench.add(1, to: "A", .high)
        #expect(bench.serve(2).map(\.priority) == [.low, .high])
    }

    @Test("An origin gets no more than its share, and other origins go on")
    func origins() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 3))
        for lane in 0..<10 {
            let id = SessionID(unchecked: "s\(lane)")
            bench.urls[.gallery(id)] = lane < 8 ? "https://One.example/\(lane)" : "https://two.example/\(lane)"
            bench.add(1, to: id)
        }
        let started = bench.all()
        #expect(started.map(\.notification.sequence.value) == [1, 2, 3, 9, 10])
        bench.planner.remove(1)
        #expect(bench.all().map(\.notification.sequence.value) == [4], "In the order in which they came.")
    }

    @Test(
        "An origin is scheme, host and port",
        arguments: [
            ("https://a.example/x", "https://a.example/y", true), ("https://a.example", "https://A.EXAMPLE?x", true),
            ("https://a.example/", "http://a.example/", false), ("https://a.example/", "https://a.example:8/", false),
            ("https://a.example/", "https://b.example/", false), ("https://[::1]:8/a", "https://[::1]:8#b", true),
            ("https://a.example:443/", "https://a.example/", true), ("http://[::1]:80", "http://[::1]", true),
            ("http://a.example:443/", "http://a.example/", false),
            ("http://a.example:8080/", "http://a.example/", false),
        ])
    func origin(one: String, other: String, isSame: Bool) {
        #expect((Origin(url: one) == Origin(url: other)) == isSame)
    }

    @Test("An endpoint whose attempt ran out of time is slow, however short the limit, sent or not sent")
    func outOfTime() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 64, slow: 2))
        for lane in 0..<6 { bench.add(2, to: SessionID(unchecked: "s\(lane)")) }
        for (number, delivery) in bench.all().enumerated() {
            let outcome: ResponseClass = .unreachable(number < 3 ? .timedOut : .connectFailed)
            bench.learn(delivery, outcome, milliseconds: 200, hasRunOutOfTime: true)
            bench.planner.remove(delivery.notification.sequence)
        }
        #expect(bench.planner.endpoints.values.allSatisfy { $0.isSlow })
        #expect(bench.all().count == 2)
    }

    @Test("Slow endpoints share few slots until they are quick again")
    func slow() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 64, slow: 2))
        for lane in 0..<6 { bench.add(9, to: SessionID(unchecked: "s\(lane)")) }
        for delivery in bench.all() {
            bench.learn(delivery, .success, status: 200, milliseconds: 5000)
            bench.planner.remove(delivery.notification.sequence)
        }
        bench.add(1, to: "quick")
        let started = bench.all()
        #expect(started.count == 3 && started.contains { $0.notification.decision.session == "quick" })
        #expect(bench.planner.slowUnderWay == 2)
        // Two are served at a time, each of them three times, until all are quick again.
        var underWay = started
        var rounds = 0
        while let delivery = underWay.popLast(), rounds < 99 {
            rounds += 1
            bench.learn(delivery, .success, status: 200)
            bench.planner.remove(delivery.notification.sequence)
            underWay += bench.all()
            #expect(bench.planner.slowUnderWay <= 2)
        }
        #expect(bench.planner.count == 0 && bench.planner.endpoints.values.allSatisfy { !$0.isSlow })
    }

    /// For example, endpoints whose names wait for a look-up thread: each of them has a slot while it waits.
    @Test("Endpoints whose attempts could not be sent share few slots until one is sent, and are not slow")
    func notSent() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 64, slow: 2))
        for lane in 0..<6 { bench.add(1, to: SessionID(unchecked: "s\(lane)")) }
        for delivery in bench.all() {
            bench.planner.reschedule(delivery.notification.sequence, DeliveryProgress(notBefore: .second(2)))
        }
        bench.now = .second(2)
        bench.add(1, to: "other")
        var underWay = bench.all()
        #expect(underWay.count == 3 && underWay.contains { $0.notification.decision.session == "other" })
        #expect(bench.planner.endpoints.values.allSatisfy { !$0.isSlow })
        var served = 0
        while let delivery = underWay.popLast(), served < 99 {
            served += 1
            bench.learn(delivery, .success, status: 200)
            bench.planner.remove(delivery.notification.sequence)
            underWay += bench.all()
            #expect(bench.planner.slowUnderWay <= 2)
        }
        #expect(served == 7)
        for lane in 0..<6 { bench.add(1, to: SessionID(unchecked: "s\(lane)")) }
        #expect(bench.all().count == 6)
    }

    // MARK: Breakers

    @Test("An open breaker blocks its endpoint's lanes, one attempt probes it, and the others follow by slow start")
    func breaker() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 64))
        for lane in 0..<20 {
            let id = SessionID(unchecked: "s\(lane)")
            bench.urls[.gallery(id)] = "https://shared.example/"
            bench.add(1, to: id)
        }
        let failed = bench.all().prefix(5)
        for delivery in failed {
            bench.learn(delivery, .transient(retryAfterSeconds: nil), status: 500)
            bench.planner.reschedule(delivery.notification.sequence, DeliveryProgress(attempts: 1))
        }
        let endpoint = EndpointKey(application: .gallery, url: "https://shared.example/")
        #expect(bench.planner.endpoints[endpoint]?.breaker.phase == .open)
        #expect(bench.all().isEmpty)
        bench.now = .second(6)
        bench.planner.timeHasCome(for: endpoint, at: bench.now)
        // Attempts that were under way when the breaker opened have not ended; they do not count.
        let probe = bench.all()
        #expect(probe.count == 1)
        bench.learn(probe[0], .success, status: 200)
        bench.planner.remove(probe[0].notification.sequence)
        #expect(bench.planner.endpoints[endpoint]?.breaker.slowStartLimit == 1)
        #expect(bench.all().isEmpty, "Fifteen are under way still.")
    }

    @Test("Retry-After blocks every lane of the endpoint, and no other lane")
    func gate() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 64))
        for id in ["A", "B", "C"] as [SessionID] {
            bench.urls[.gallery(id)] = "https://\(id == "C" ? "other" : "shared").example/"
            bench.add(2, to: id)
        }
        let first = bench.all()
        for delivery in first {
            let isOther = delivery.notification.decision.session == "C"
            bench.learn(
                delivery, isOther ? .success : .backPressure(retryAfterSeconds: 30), status: isOther ? 200 : 429)
            bench.planner.remove(delivery.notification.sequence)
        }
        #expect(bench.all().map(\.notification.decision.session) == ["C"])
        bench.now = .second(30)
        let endpoint = EndpointKey(application: .gallery, url: "https://shared.example/")
        bench.planner.timeHasCome(for: endpoint, at: bench.now)
        #expect(bench.all().map(\.notification.decision.session) == ["A"], "At first one session is tried.")
    }

    @Test("Settled deliveries leave no state behind")
    func forgotten() {
        var bench = Bench(DeliveryCaps(slots: 4))
        bench.add(3, to: "A")
        _ = bench.serve(3)
        #expect(bench.planner.endpoints.isEmpty)
        bench.add(1, to: "A")
        let delivery = bench.all()[0]
        bench.learn(delivery, .transient(retryAfterSeconds: nil), status: 500)
        bench.planner.remove(delivery.notification.sequence)
        let endpoint = EndpointKey(application: .gallery, url: "https://A.example/")
        #expect(bench.planner.endpoints[endpoint] != nil)
        bench.planner.timeHasCome(for: endpoint, at: .millisecond(RouterLimits.endpointMemoryMilliseconds))
        #expect(bench.planner.endpoints.isEmpty)
    }

    /// Attempts may take nearly as long as slow ones, and no slot becomes free until they end.
    @Test("An application with many attempts under way leaves slots for others", arguments: [1, 2, 5])
    func shares(hogs: Int) {
        var bench = Bench(DeliveryCaps(slots: 256))
        let names = (0..<hogs).map { ApplicationID(unchecked: "hog\($0)") }
        for hog in names {
            for lane in 0..<300 { bench.add(2, of: hog, to: SessionID(unchecked: "s\(lane)"), .normal) }
        }
        let started = bench.all()
        // Shares of the 208 slots that the normal class may use.
        #expect(started.count >= 208 * 8 * hogs / (8 * hogs + 1) && started.count <= 208 - 208 / (8 * hogs + 1) + 1)
        for hog in names {
            #expect(abs(started.count { $0.notification.application == hog } - started.count / hogs) <= 8)
        }
        bench.add(1, of: "late", to: "a", .normal)
        bench.add(1, of: "late", to: "b", .normal)
        #expect(bench.all().map(\.notification.application) == ["late", "late"])
        // One attempt ends: another one starts, and the last slot is still free.
        bench.planner.remove(started[0].notification.sequence)
        bench.add(1, of: "later", to: "a", .normal)
        let next = bench.all().map(\.notification.application)
        #expect(next.contains("later") && next.count <= 2)
    }

    /// Shares of 64 slots at an origin that other applications use too.
    @Test("An application with many attempts under way at an origin leaves some for others", arguments: [1, 2, 5])
    func sharesOfAnOrigin(hogs: Int) {
        var bench = Bench(DeliveryCaps(slots: 1024, perOrigin: 64))
        func add(_ application: ApplicationID, _ session: String) {
            let id = SessionID(unchecked: session)
            let key = SessionKey(application: application, session: id)
            bench.urls[key] = "https://hub.example/\(application)/\(id)"
            bench.add(2, of: application, to: id, .normal)
        }
        let names = (0..<hogs).map { ApplicationID(unchecked: "hog\($0)") }
        for hog in names { for lane in 0..<100 { add(hog, "s\(lane)") } }
        let started = bench.all()
        #expect(started.count >= 64 * 8 * hogs / (8 * hogs + 1) && started.count <= 64 - 64 / (8 * hogs + 1) + 1)
        for hog in names {
            #expect(abs(started.count { $0.notification.application == hog } - started.count / hogs) <= 8)
        }
        // Lanes of the application at other origins go on.
        bench.add(1, of: names[0], to: "elsewhere", .normal)
        #expect(bench.all().map(\.notification.decision.session) == ["elsewhere"])
        add("late", "a")
        #expect(bench.all().map(\.notification.application) == ["late"])
        // One attempt ends: another one starts, and the last slot is still free.
        bench.planner.remove(started[0].notification.sequence)
        add("later", "a")
        let next = bench.all()
        #expect(next.contains { $0.notification.application == "later" } && next.count <= 2)
        // As attempts end, all remaining deliveries have their turn.
        var underWay = started.dropFirst() + next
        var ended = 1
        while let delivery = underWay.popFirst() {
            ended += names.contains(delivery.notification.application) ? 1 : 0
            bench.planner.remove(delivery.notification.sequence)
            underWay += bench.all()
        }
        #expect(ended == 200 * hogs)
    }

    /// While its lanes wait, all attempts at the origin end before the next lane is called.
    @Test("An origin that is empty for a moment is shared as before")
    func anOriginThatWasEmpty() {
        var bench = Bench(DeliveryCaps(slots: 64, perOrigin: 9))
        for lane in 0..<60 {
            let id = SessionID(unchecked: "s\(lane)")
            bench.urls[.gallery(id)] = "https://hub.example/\(lane)"
            bench.add(1, to: id)
        }
        for _ in 0..<4 {
            let started = bench.all()
            #expect(started.count == 8)
            for delivery in started { bench.planner.remove(delivery.notification.sequence) }
        }
        #expect(bench.all().count == 8)
        bench.urls[.gallery("more")] = "https://hub.example/more"
        bench.add(1, to: "more")
        #expect(bench.all().isEmpty)
        bench.urls[SessionKey(application: .other, session: "late")] = "https://hub.example/late"
        bench.add(1, of: .other, to: "late")
        #expect(bench.all().map(\.notification.application) == [.other])
    }
}
