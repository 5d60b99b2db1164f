import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: broadcasts")
struct BroadcastTests {
    private static let scenes = [
        Scene("A"), Scene("B", prefers: "SELF == 'x'"), Scene("C", can: "SELF == 'y'"), Scene("D", disabled: true),
    ]

    private func bench(
        _ scenes: [Scene] = Self.scenes, rules: [any RoutingRule] = [], allows: Bool = true,
        _ change: (inout Application) -> Void = { _ in }
    ) throws -> Workbench {
        var application = Application.gallery()
        application.routing.broadcasts = allows
        change(&application)
        return try Workbench(application, scenes.filter { !$0.disabled }, rules: rules)
    }

    private func broadcast(
        _ bench: inout Workbench, _ content: ContentID? = "x", device: DeviceID? = nil, keys: [String] = [],
        payload: String = "{}", _ change: (inout AcceptRequest) -> Void = { _ in }
    ) throws -> Reply {
        var request = AcceptRequest.of(content, device: device, keys: keys, payload: payload)
        request.broadcast = .all
        change(&request)
        return try bench.run(.acceptAll([request]))
    }

    private func accepted(_ reply: Reply) throws -> [NewNotification] {
        guard case .acceptedAll(let replies) = reply else {
            Issue.record("\(reply)")
            return []
        }
        return try replies.map { try #require($0.accepted) }
    }

    @Test("Each session that can have it gets a notification of its own, best first, in one plan")
    func all() throws {
        var bench = try bench()
        let parts = try accepted(try broadcast(&bench, keys: ["k"], payload: "{\"n\": 1}"))
        #expect(parts.map(\.decision.session) == ["B", "A"] && parts.map(\.decision.tier) == [.prefers, .can])
        #expect(parts.map(\.broadcast) == [parts[0].id, parts[0].id] && parts[0].id != parts[1].id)
        #expect(parts.map(\.dedupeKeys) == [["k"], []] && parts.map(\.sequence) == [1, 2])
        #expect(Set(try bench.start().map(\.receiver.session)) == ["A", "B"])
        #expect(try bench.stored(2)?.payload?.bytes == Array("{\"n\": 1}".utf8))
    }

    @Test("A device restricts it to its sessions, and a content that is not named goes to all")
    func scope() throws {
        var bench = try bench([Scene("A", device: "d1"), Scene("B", device: "d1"), Scene("C", device: "d2")])
        #expect(try accepted(try broadcast(&bench, device: "d1")).map(\.decision.session) == ["A", "B"])
        #expect(try accepted(try broadcast(&bench, nil)).map(\.decision.session) == ["A", "B", "C"])
    }

    @Test("A repetition names the same notifications with their first answers, after a restart too")
    func repeated() throws {
        var bench = try bench()
        let parts = try accepted(try broadcast(&bench, keys: ["k"]))
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        try bench.crash()
        for keys in [["k"], ["k", "other"], ["other"]] {
            guard case .acceptedAll(let replies) = try broadcast(&bench, keys: keys) else {
                Issue.record("no answer to \(keys)")
                continue
            }
            let receipts = try replies.map { try #require($0.duplicate) }
            #expect(receipts.map(\.id) == parts.map(\.id) && receipts.map(\.decision) == parts.map(\.decision))
            #expect(receipts.allSatisfy { $0.state == .waiting })
        }
        #expect(try bench.store.census().accepted == 2)
    }

    @Test("The key of a broadcast for another body, or for one receiver, is refused, and so the other way round")
    func conflict() throws {
        var bench = try bench()
        _ = try broadcast(&bench, keys: ["k"])
        #expect(try broadcast(&bench, keys: ["k"], payload: "{ }").refusal == .idempotencyConflict)
        #expect(try bench.accept(keys: ["k"]).refusal == .idempotencyConflict)
        try bench.accept(keys: ["l"])
        #expect(try broadcast(&bench, keys: ["l"]).refusal == .idempotencyConflict)
    }

    @Test("Without a session that can have it, the request is accepted as any other, and repeated as a broadcast")
    func nobody() throws {
        var bench = try bench([Scene("C", can: "SELF == 'y'")])
        let parts = try accepted(try broadcast(&bench, keys: ["k"]))
        #expect(parts.map(\.placement) == [.settled(.deadLettered(.noEligibleSession))])
        guard case .acceptedAll(let replies) = try broadcast(&bench, keys: ["k"]) else {
            Issue.record("no answer")
            return
        }
        #expect(replies.map(\.duplicate?.id) == [parts[0].id])
        var empty = try self.bench([])
        #expect(try accepted(try broadcast(&empty)).map(\.decision.tier) == [.newSession])
    }

    @Test("Rules decide on each session: a veto and a drop leave it out, a hold waits, a redirect goes there once")
    func rules() throws {
        let rule = SayingRule([
            "A": .veto(reason: "no"), "B": .drop(reason: "no"), "C": .hold(until: .second(60), reason: "later"),
            "D": .redirect(to: "E", reason: "there"), "F": .prefer(reason: "best"),
        ])
        var bench = try bench(["A", "B", "C", "D", "E", "F"].map { Scene($0) }, rules: [rule])
        let parts = try accepted(try broadcast(&bench))
        #expect(parts.map(\.decision.session) == ["C", "E", "F"])
        #expect(parts.map(\.placement) == [.held(until: .second(60)), .lane, .lane])
        #expect(Set(try bench.start().map(\.receiver.session)) == ["E", "F"])
    }

    @Test("A hold that ends gives it to its own session, or to none")
    func released() throws {
        let rule = SayingRule { candidate in
            candidate.activationState == .background ? .hold(until: .second(60), reason: "later") : .accept
        }
        var bench = try bench(["A", "B"].map { Scene($0) }, rules: [rule])
        _ = try broadcast(&bench)
        try bench.patch(.gallery("A")) { $0.activationState = .foregroundActive }
        try bench.run(.deleteSession(.gallery("B")))
        try bench.advance(to: .second(60))
        #expect(try bench.stored(1)?.decision.session == "A")
        #expect(try bench.start().map(\.receiver.session) == ["A"])
        let gone = try #require(try bench.stored(2))
        #expect(gone.state == .deadLettered && gone.reason == "no-eligible-session")
        #expect(gone.decision.session == nil && gone.decision.rerouteOf == "B")
    }

    @Test("A notification of a broadcast ends with its session, and goes to no other one")
    func gone() throws {
        var bench = try bench([Scene("A"), Scene("B"), Scene("C")]) { $0.delivery.reroute.onExhausted = true }
        _ = try broadcast(&bench)
        try bench.run(.deleteSession(.gallery("A")))
        let first = try #require(try bench.stored(1))
        #expect(first.reason == "receiver-gone" && first.decision.session == "A")
        let attempts = try bench.start()
        let second = try #require(attempts.first { $0.receiver.session == "B" })
        try bench.finish(second, .status(410))
        #expect(try bench.stored(2)?.reason == "receiver-gone")
        #expect(try bench.stored(3)?.state == .waiting)
        #expect(bench.engine.unsettledCount == 1)
    }

    @Test("A schedule that ends moves it to no other session")
    func exhausted() throws {
        var bench = try bench([Scene("A"), Scene("B")]) {
            $0.delivery.reroute.onExhausted = true
            $0.delivery.retrySchedule = []
        }
        _ = try broadcast(&bench)
        for attempt in try bench.start() where attempt.receiver.session == "A" {
            try bench.finish(attempt, .status(500))
        }
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test("A replay goes to the session of the notification alone")
    func replayed() throws {
        var bench = try bench([Scene("A"), Scene("B")])
        let parts = try accepted(try broadcast(&bench))
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        try bench.run(.deleteSession(.gallery("A")))
        let filter = NotificationFilter()
        let tally = try bench.store.tally(of: filter, settledBy: bench.now)
        let draft = ReplayDraft(filter: filter, perSecond: 1000, tally: tally, askedAt: bench.now, request: nil)
        try bench.run(.replay(draft))
        let copies = try bench.store.notifications(matching: filter, limit: 9).filter { $0.replayOf != nil }
        #expect(copies.map(\.decision.session) == ["B", nil] && copies.map(\.broadcast) == [parts[0].id, parts[0].id])
        #expect(copies.map(\.state) == [.waiting, .deadLettered])
    }

    @Test("More receivers than a broadcast may have refuse all of it, and a large payload may have fewer")
    func bounds() throws {
        let many = RouterLimits.broadcastSessions + 1
        var bench = try bench((0..<many).map { Scene(SessionID(unchecked: "s\($0)"), device: $0 == 0 ? "d" : nil) })
        #expect(
            try broadcast(&bench).refusal == .broadcast(.tooManyReceivers(limit: RouterLimits.broadcastSessions)))
        #expect(bench.engine.unsettledCount == 0)
        try bench.run(.deleteSession(.gallery("s1")))
        #expect(try accepted(try broadcast(&bench)).count == RouterLimits.broadcastSessions)
        let large = String(repeating: " ", count: RouterLimits.payloadBytes)
        #expect(
            try broadcast(&bench, payload: large).refusal
                == .broadcast(.tooManyReceivers(limit: RouterLimits.broadcastBytes / RouterLimits.payloadBytes)))
        #expect(try accepted(try broadcast(&bench, device: "d", payload: large)).count == 1)
    }

    @Test("An application has to allow it, and a collapse id is refused")
    func refusals() throws {
        var bench = try bench(allows: false)
        #expect(try broadcast(&bench).refusal == .broadcast(.off(.gallery)))
        bench = try self.bench()
        #expect(try broadcast(&bench) { $0.notification.collapseID = "c" }.refusal == .broadcast(.collapses))
        bench = try self.bench { $0.routing.requiresContentID = true }
        #expect(try broadcast(&bench, nil).refusal == .contentIDMissing(.gallery))
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A closed gate holds the notification of each of its sessions, and releases it to that session")
    func gated() throws {
        var bench = try bench([Scene("A", .foregroundActive, device: "d"), Scene("B", device: "e")]) {
            $0.gates.onboarding = OnboardingSettings()
        }
        let parts = try accepted(try broadcast(&bench))
        #expect(parts.map(\.placement) == [.gated("d"), .gated("e")] && parts.map(\.decision.session) == ["A", "B"])
        try open(&bench, "A")
        #expect(try sent(&bench) == ["A"])
        #expect(try bench.stored(2)?.state == .held)
        // The other one has gone when its gate opens, and so its notification goes to no session.
        try bench.run(.deleteSession(.gallery("B")))
        try bench.run(.putSession(.gallery("C"), .of(Scene("C", .foregroundActive, device: "e"))))
        try open(&bench, "C")
        #expect(try sent(&bench) == [])
        #expect(try bench.stored(2)?.reason == "no-eligible-session")
    }

    /// Opens the gate of a session.
    private func open(_ bench: inout Workbench, _ id: SessionID) throws {
        let term = try #require(try bench.run(.gate(.open(.gallery(id)))).gate?.term)
        let succeeded = GateRequest.report(.succeed(storing: "person"), by: .gallery(id), term: term)
        #expect(try bench.run(.gate(succeeded)).gate?.state == .opened)
    }

    /// The receivers of the notifications that are sent now.
    private func sent(_ bench: inout Workbench) throws -> [SessionID] {
        try bench.deliverAll().filter { $0.notification.event == nil }.map(\.receiver.session)
    }

    /// A bench with the only session of a device, whose application offers a demo.
    private func demoBench() throws -> Workbench {
        let demo = SceneConfiguration(
            name: "Demo", role: SceneRole.windowApplication,
            endpoint: Endpoint(url: "https://demo.example/", secret: "whsec_ZA=="))
        return try bench([Scene("A", .foregroundActive, device: "d"), Scene("B", device: "e")]) {
            $0.manifest.sceneConfigurations.append(demo)
            $0.gates.onboarding = OnboardingSettings(demoConfiguration: "Demo", closesWithLastScene: true)
        }
    }

    /// The place of a notification when its session begins the demo.
    enum Place: CaseIterable { case gate, lane }

    @Test(
        "A notification waits for its session while that shows the demo, and for no other one",
        arguments: Place.allCases)
    func demo(place: Place) throws {
        var bench = try demoBench()
        if place == .lane { try open(&bench, "A") }
        let parts = try accepted(try broadcast(&bench))
        #expect(parts.map(\.placement) == [place == .lane ? .lane : .gated("d"), .gated("e")])
        if place == .lane {
            // The gate closes behind the last scene, and its lane is paused.
            try bench.run(.disconnectSession(.gallery("A")))
            try bench.run(.patchSession(.gallery("A"), SessionPatch(state: .foregroundInactive)))
        }
        try bench.run(.putSession(.gallery("C"), .of(Scene("C", device: "d"))))
        try bench.run(.gate(.showDemo(.gallery("A"))))
        #expect(bench.engine.held[1]?.heldBy == GateKey(application: .gallery, device: "d"))
        try bench.crash()
        #expect(try sent(&bench) == [])
        try open(&bench, "A")
        #expect(try sent(&bench) == ["A"])
    }

    @Test("A notification ends when the gate is opened by another session while its own shows the demo")
    func passedOver() throws {
        var bench = try demoBench()
        _ = try broadcast(&bench)
        try bench.run(.putSession(.gallery("C"), .of(Scene("C", .foregroundActive, device: "d"))))
        try bench.run(.gate(.showDemo(.gallery("A"))))
        try open(&bench, "C")
        #expect(try sent(&bench) == [])
        #expect(try bench.stored(1)?.reason == "no-eligible-session")
    }

    @Test("A 410 of an address that the session has left since ends nothing: the next attempt goes to the new one")
    func moved() throws {
        var bench = try bench([Scene("A"), Scene("B")])
        _ = try broadcast(&bench)
        let attempt = try #require(try bench.start().first { $0.receiver.session == "A" })
        try bench.patch(.gallery("A")) {
            $0.endpoint = .set(EndpointPatch(url: "https://new.example/", secret: nil, freshSecret: "s"))
        }
        try bench.finish(attempt, .status(410))
        #expect(try bench.stored(1)?.state == .waiting && bench.session("A")?.disabled == nil)
        let next = try #require(try bench.start().first { $0.receiver.session == "A" })
        #expect(next.endpoint.url == "https://new.example/")
        try bench.finish(next, .status(410))
        #expect(try bench.stored(1)?.reason == "receiver-gone")
        #expect(bench.session("A")?.disabled != nil)
    }

    @Test("The trial of a broadcast shows the receivers, and a rule in shadow in their reasons")
    func explained() throws {
        let shadow = RuleInstance(SayingRule(named: "test.veto", ["A": .veto(reason: "no")]), mode: .shadow)
        let tenant = Tenant(Application.gallery(), Self.scenes)
        var work = DecisionWork.unlimited
        let chooser = Chooser(rules: [shadow])
        let receivers = chooser.explainReceivers(of: .about("x"), in: tenant, &work, at: .epoch, limit: 9)
        #expect(receivers.map(\.decision.session) == ["B", "A"])
        #expect(receivers[1].decision.reason == "can: TRUEPREDICATE; in shadow test.veto: undeliverable")
        #expect(receivers[0].decision.reason == "prefers: SELF == 'x'")
        #expect(chooser.explainReceivers(of: .about("x"), in: tenant, &work, at: .epoch, limit: 1).count == 1)
    }
}
