import Router
import RouterPlugin
import RouterTesting
import Testing

/// Every state with every event.
@Suite("Breaker")
struct BreakerTests {
    private static let failure = Breaker.Signal.failed(.status(500))

    private static func end(
        _ breaker: inout Breaker, _ signal: Breaker.Signal, probe: Bool = false, at now: Timestamp = .epoch
    ) -> Breaker.Transition? {
        var generator = LeastGenerator()
        return breaker.ended(signal, isProbe: probe, at: now, using: &generator)
    }

    /// A breaker that has just opened, at the beginning of the test's time.
    private static func opened() -> Breaker {
        var breaker = Breaker()
        for _ in 0..<BreakerLimits.failuresInARow { _ = end(&breaker, failure) }
        return breaker
    }

    private static func halfOpen() -> Breaker {
        var breaker = opened()
        _ = breaker.started(at: .second(5))
        return breaker
    }

    @Test("Five failures in a row open it, unless an answer came in between")
    func inARow() {
        var breaker = Breaker()
        for _ in 0..<4 { #expect(Self.end(&breaker, Self.failure) == nil) }
        #expect(Self.end(&breaker, .answered) == nil)
        for _ in 0..<4 { #expect(Self.end(&breaker, Self.failure) == nil) }
        #expect(breaker.admits(underWay: 99, at: .epoch) == .start)
        let transition = Self.end(&breaker, Self.failure)
        #expect(transition?.from == .closed && transition?.to == .open && transition?.reason == .status(500))
        #expect(breaker.state == .open(until: .second(5)))
    }

    @Test("Every second failure of twenty opens it, fewer do not")
    func share() {
        for (answers, isOpening) in [(1, true), (2, false)] {
            var breaker = Breaker()
            var transition: Breaker.Transition?
            for number in 0..<60 where transition == nil {
                transition = Self.end(&breaker, number % (answers + 1) == 0 ? Self.failure : .answered)
                #expect(transition == nil || number + 1 >= BreakerLimits.leastInWindow)
            }
            #expect((transition != nil) == isOpening)
        }
    }

    @Test("An attempt that was not sent changes nothing", arguments: [Breaker(), opened(), halfOpen()])
    func nothing(breaker: Breaker) {
        var other = breaker
        #expect(Self.end(&other, .nothing) == nil)
        #expect(other == breaker)
    }

    @Test("While it is open no attempt starts; at its time one attempt does")
    func probe() {
        var breaker = Self.opened()
        #expect(breaker.admits(underWay: 0, at: .millisecond(4999)) == .wait(until: .second(5)))
        #expect(breaker.admits(underWay: 3, at: .second(5)) == .start)
        let (isProbe, transition) = breaker.started(at: .second(5))
        #expect(isProbe && transition?.to == .halfOpen && transition?.at == .second(5))
        #expect(breaker.admits(underWay: 1, at: .second(99)) == .waitForOthers)
    }

    @Test("A failed probe opens it for twice as long, up to ten minutes")
    func backOff() {
        var breaker = Self.opened()
        var now = Timestamp.epoch
        var waits: [Int64] = []
        while waits.count < 10, case .open(let until) = breaker.state {
            waits.append((until.milliseconds - now.milliseconds) / 1000)
            now = until
            _ = breaker.started(at: now)
            #expect(Self.end(&breaker, Self.failure, probe: true, at: now)?.to == .open)
        }
        #expect(waits == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600])
    }

    @Test("Probes of endpoints that failed together are spread out, and none is early")
    func jitter() {
        var times: Set<Timestamp> = []
        for seed in 0..<50 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var breaker = Breaker()
            for _ in 0..<5 { _ = breaker.ended(Self.failure, isProbe: false, at: .epoch, using: &generator) }
            guard case .open(let until) = breaker.state else { continue }
            #expect(until >= .second(5) && until <= .second(6))
            times.insert(until)
        }
        #expect(times.count > 30)
    }

    @Test("An attempt that started before it opened does not open it again, and its answer closes it")
    func late() {
        for breaker in [Self.opened(), Self.halfOpen()] {
            var failing = breaker
            #expect(Self.end(&failing, Self.failure) == nil && failing == breaker)
            var answered = breaker
            #expect(Self.end(&answered, .answered)?.to == .closed)
        }
    }

    @Test("A probe without an outcome lets the next one start at once")
    func unsent() {
        var breaker = Self.halfOpen()
        #expect(Self.end(&breaker, .nothing, probe: true, at: .second(6))?.to == .open)
        #expect(breaker.admits(underWay: 0, at: .second(6)) == .start)
    }

    @Test("After recovery each answer admits one more attempt, until there is no limit")
    func ramp() {
        var breaker = Self.halfOpen()
        #expect(Self.end(&breaker, .answered, probe: true)?.reason == .answered)
        var rounds: [Int] = []
        while let limit = breaker.slowStartLimit, rounds.count < 20 {
            #expect(breaker.admits(underWay: limit - 1, at: .epoch) == .start)
            #expect(breaker.admits(underWay: limit, at: .epoch) == .waitForOthers)
            rounds.append(limit)
            for _ in 0..<limit { #expect(Self.end(&breaker, .answered) == nil) }
        }
        #expect(rounds == [1, 2, 4, 8, 16, 32, 64])
        #expect(breaker.admits(underWay: 10_000, at: .epoch) == .start)
    }

    @Test("While it recovers one failure opens it, and the wait goes on growing")
    func relapse() {
        var breaker = Self.halfOpen()
        _ = Self.end(&breaker, .answered, probe: true)
        #expect(Self.end(&breaker, Self.failure)?.to == .open)
        #expect(breaker.state == .open(until: .second(10)))
    }

    @Test("After a requested pause, one failure does not open it")
    func pause() {
        var breaker = Breaker()
        breaker.pause()
        #expect(breaker.slowStartLimit == 1)
        for _ in 0..<4 { #expect(Self.end(&breaker, Self.failure) == nil) }
        #expect(Self.end(&breaker, Self.failure)?.to == .open)
    }

    @Test("An operator closes it at once, and the transition is reported", arguments: [opened(), halfOpen()])
    func resumed(breaker: Breaker) {
        var breaker = breaker
        #expect(breaker.resume(at: .second(1))?.reason == .resumed)
        #expect(breaker.phase == .closed && breaker.slowStartLimit == 1)
        #expect(breaker.resume(at: .second(2)) == nil, "It is closed.")
        #expect(breaker.slowStartLimit == nil)
    }

    @Test(
        "Words for the API",
        arguments: [
            (Breaker.Reason.status(503), "status-503"), (.failure(.timedOut), "timed-out"), (.answered, "answered"),
            (.resumed, "resumed"), (.forgotten, "forgotten"), (.gone, "gone"),
        ])
    func words(reason: Breaker.Reason, word: String) {
        #expect(reason.description == word)
    }
}
