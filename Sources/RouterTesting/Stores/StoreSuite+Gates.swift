import Router
import RouterPlugin

extension StoreSuite {
    /// Gates are read back as they were put, and so are the notifications that they hold; terms do not decrease.
    static func gates(_ trial: StoreTrial<some Store>) throws {
        try trial.store.commit([.putApplication(StoreSamples.application(StoreSamples.gallery))])
        let key = GateKey(application: StoreSamples.gallery, device: nil)
        var gates = StoreSamples.hostileTexts.enumerated().map { place, text in
            StoreSamples.gate(StoreSamples.gallery, text, term: Int64(place))
        }
        gates.append(OnboardingGate(key))
        try trial.store.commit(gates.map(StoreChange.putGate))
        try expectGates(trial, gates)

        gates.removeLast()
        gates.append(
            OnboardingGate(
                key, state: .opened, responsible: SessionID(unchecked: "s1"), term: .max, onboardingID: nil,
                progress: nil))
        try trial.store.commit(gates.suffix(1).map(StoreChange.putGate))
        try expectGates(trial, gates)
        try trial.expectConflict([.putGate(OnboardingGate(key))], "a term that falls")
        let orphan = OnboardingGate(GateKey(application: StoreSamples.clinic, device: nil))
        try trial.expectConflict([.putGate(orphan)], "a gate without an application")

        try holds(trial)
        try trial.store.commit([.deleteApplication(StoreSamples.gallery)])
        try expectGates(trial, [])
    }

    private static func expectGates(_ trial: StoreTrial<some Store>, _ gates: [OnboardingGate]) throws {
        for _ in 0..<2 {
            trial.expectSame(try trial.store.recover().gates, gates.sorted { $0.key < $1.key }, "the gates")
            try trial.reopen()
        }
    }

    /// Behind a gate, in a lane, behind another gate, held by a rule, settled.
    private static func holds(_ trial: StoreTrial<some Store>) throws {
        var new = StoreSamples.notification(1)
        new.placement = .gated(DeviceID(unchecked: "caf\u{E9}"))
        try trial.store.commit([.insert(new)])
        var expected = UnsettledNotification(expected: new)
        let steps: [Placement] = [.gated(nil), .lane, .gated(DeviceID(unchecked: "d")), .held(until: .distantFuture)]
        for step in steps {
            try expectHold(trial, expected)
            try trial.store.commit([.reassign(new.sequence, new.decision, step)])
            expected.stand(at: step)
        }
        try expectHold(trial, expected)
        try trial.store.commit([.reassign(new.sequence, new.decision, .gated(nil))])
        try trial.expectConflict([.recall(new.sequence, .cancelled)], "a held notification is called back on its way")
        try trial.store.commit([.settle(new.sequence, .expired, at: new.receivedAt)])
        trial.expect(try trial.store.recover().unsettled.isEmpty, "something is unsettled")
    }

    private static func expectHold(_ trial: StoreTrial<some Store>, _ expected: UnsettledNotification) throws {
        trial.expectSame(try trial.store.recover().unsettled, [expected], "held notifications")
        let stored = try trial.store.notification(expected.id)
        trial.expectSame(stored?.state, expected.isHeld ? .held : .waiting, "the state of a held notification")
        try trial.reopen()
    }
}
