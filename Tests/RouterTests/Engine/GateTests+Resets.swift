import Router
import RouterPlugin
import RouterTesting
import Testing

/// A reset keeps nothing of one person for the next one.
extension GateTests {
    /// Two notifications that wait in a lane, the first one for its retry.
    fileprivate static func waiting(_ bench: inout Workbench) throws -> [NotificationSequence] {
        try open(&bench)
        let first = try #require(try bench.accept(device: "phone").accepted?.sequence)
        try bench.finish(try #require(try bench.start().first { $0.receiver == A }), .status(500))
        let second = try #require(try bench.accept(device: "phone").accepted?.sequence)
        return [first, second]
    }

    @Test("A reset ends the notifications of the leaving person step by step; later ones are for the next person")
    func forgetting() throws {
        var bench = try Self.bench(moveLimit: 1)
        let waiting = try Self.waiting(&bench)
        let (_, followUps) = try bench.step(.gate(.reset(Self.phone)))
        #expect(followUps == [.forgetHeld(Self.phone)])
        let later = try #require(try bench.accept(device: "phone").accepted?.sequence)
        try bench.follow(followUps)
        for sequence in waiting {
            let stored = try #require(try bench.stored(sequence))
            #expect(stored.state == .deadLettered && stored.reason == "gate-reset")
        }
        #expect(bench.engine.held.keys.elementsEqual([later]))
        let reset = try #require(bench.engine.gate(Self.phone))
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: reset.term)))
        try Self.reopen(&bench)
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }.map(\.notification.sequence)
        #expect(sent == [later])
    }

    @Test("A reset ends it although the process dies, and before the next person can be let in")
    func forgettingAfterCrash() throws {
        for dies in [true, false] {
            var bench = try Self.bench(moveLimit: 1)
            let waiting = try Self.waiting(&bench)
            _ = try bench.step(.gate(.reset(Self.phone)))
            if dies { try bench.crash() }
            let reset = try #require(bench.engine.gate(Self.phone))
            _ = try bench.step(.gate(.report(.succeed(storing: nil), by: Self.A, term: reset.term)))
            #expect(try waiting.allSatisfy { try bench.stored($0)?.reason == "gate-reset" })
            #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
        }
    }

    @Test("An attempt under way at a reset is the last one")
    func forgettingUnderWay() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        let sequence = try #require(try bench.accept(device: "phone").accepted?.sequence)
        let attempt = try #require(try bench.start().first { $0.notification.sequence == sequence })
        try bench.run(.gate(.reset(Self.phone)))
        #expect(bench.engine.isInFlight(sequence))
        try bench.finish(attempt, .status(500))
        #expect(try bench.stored(sequence)?.reason == "gate-reset")
    }

    @Test("The reset of one device ends nothing of another one")
    func forgettingElsewhere() throws {
        var bench = try Self.bench()
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", device: "pad"))))
        let here = try #require(try bench.accept(device: "phone").accepted?.sequence)
        let there = try #require(try bench.accept(device: "pad").accepted?.sequence)
        try bench.run(.gate(.reset(Self.phone)))
        #expect(try bench.stored(here)?.reason == "gate-reset")
        #expect(bench.engine.held.keys.elementsEqual([there]))
    }

    @Test("An application may keep waiting notifications for the next person")
    func keeping() throws {
        var bench = try Self.bench(OnboardingSettings(keepsHeldOnReset: true))
        let waiting = try Self.waiting(&bench)
        try bench.run(.gate(.reset(Self.phone)))
        let reset = try #require(bench.engine.gate(Self.phone))
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: reset.term)))
        try Self.reopen(&bench)
        // The first one's retry is due after 5 s and a fifth of them at most; the second one waits behind it.
        try bench.advance(to: bench.now.advanced(byMilliseconds: 6000))
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }.map(\.notification.sequence)
        #expect(sent == waiting)
    }

    @Test("A gate that is switched off during a reset ends the notifications of the previous person")
    func forgettingSwitchedOff() throws {
        var bench = try Self.bench(moveLimit: 1)
        let waiting = try Self.waiting(&bench)
        _ = try bench.step(.gate(.reset(Self.phone)))
        try bench.run(.putApplication(.of(Self.application(nil))))
        #expect(try waiting.allSatisfy { try bench.stored($0)?.reason == "gate-reset" })
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
    }
}
