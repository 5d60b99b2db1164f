import Router
import RouterPlugin

/// Runs worlds: first with faults, where only safety counts, then without, where all notifications have to settle.
package enum Simulation {
    /// The result of a run.
    package struct Report: Sendable, CustomStringConvertible {
        package var seed: UInt64
        package var options: SimulationOptions
        /// The number of ticks before the end or the first violation.
        package var ticks: Int
        package var fingerprint: UInt64
        package var actions: Int
        package var statistics: SimulationStatistics
        package var violations: [String]
        package var lastActions: [String]

        package var isSound: Bool { violations.isEmpty }

        package var description: String {
            """
            seed \(seed), tick \(ticks): \(options)
            \(statistics)
            violations:
              \(violations.joined(separator: "\n  "))
            last actions of \(actions):
              \(lastActions.joined(separator: "\n  "))
            """
        }
    }

    /// Maximum number of rounds until all notifications have settled.
    private static let roundsToSettle = 2000

    /// Runs a world for that many ticks and then until it has settled.
    ///
    /// - Parameters:
    ///   - actionsShown: How many of the last actions the report has.
    ///   - change: Changes options from those of the seed.
    package static func run(
        seed: UInt64, ticks: Int, sabotage: Sabotage? = nil, actionsShown: Int = 50,
        with change: (inout SimulationOptions) -> Void = { _ in }
    ) -> Report {
        var options = SimulationOptions(seed: seed)
        change(&options)
        var world = World(
            seed: seed, options: options, sabotage: sabotage, log: ActionLog(keeping: actionsShown))
        world.setUp()
        var tick = 0
        while tick < ticks, world.violations.isEmpty {
            world.tick()
            tick += 1
        }
        world.settle(rounds: roundsToSettle)
        return Report(
            seed: seed, options: world.options, ticks: tick, fingerprint: world.log.fingerprint,
            actions: world.log.count, statistics: world.statistics, violations: world.violations,
            lastActions: world.log.tail)
    }
}

extension World {
    /// Registers applications and some sessions, so that the first tick has work.
    mutating func setUp() {
        faults = false
        defer { faults = true }
        for number in 0..<options.applications {
            let id = ApplicationID(unchecked: "app\(number)")
            putApplication(id)
            for session in 0..<options.sessionsPerApplication where happens(600) {
                let key = SessionKey(application: id, session: SessionID(unchecked: "s\(session)"))
                ask(.putSession(key, drawSession(key)), "put \(key)")
            }
        }
        drive()
        check(thoroughly: true)
    }

    /// One step of all parts of the world.
    mutating func tick() {
        if happens(options.behaviourChange), let url = pick(endpoints.keys.sorted()) {
            let behaviour = drawBehaviour()
            endpoints[url]?.behaviour = behaviour
            log.add("\(stamp) \(url) is \(behaviour) now")
        }
        if happens(options.ingest) {
            for _ in 0..<(happens(100) ? 8 : 1) { produce() }
        }
        if happens(options.registration) { register() }
        if happens(options.recall) { callBack() }
        if happens(options.replay) { sendOnceMore() }
        if happens(options.motion) { move() }
        moveReceivers()
        if happens(options.gate) { speakAtGate() }
        if happens(options.passcode) { speakOfPasscode() }
        maybeReload()
        if happens(options.crash / 2) { crash("before its turn") }
        drive()
        if happens(options.crash / 2) { crash("after its turn") }
        maybeStop()
        guard violations.isEmpty else { return }
        let pause = pick([0, 1, 50, 50, 500, 500, 5000, 60_000, 3_600_000] as [Int64]) ?? 0
        advance(byMilliseconds: Int64.random(in: 0...pause, using: &generator), late: happens(100))
        if violations.isEmpty { check(thoroughly: happens(300)) }
    }

    /// Ends the faults: every endpoint and every commit succeeds. All notifications have to settle, and no timer may be
    /// left in the end.
    mutating func settle(rounds: Int) {
        guard violations.isEmpty else { return }
        faults = false
        disk.revive()
        log.add("\(stamp) no more faults")
        drive()
        hub.calm()
        gatherReceivers(for: Set(witness.ledger.registrations.sessions.keys))
        drive()
        comeIn()
        switchGatesOff()
        drive()
        var round = 0
        while violations.isEmpty, round < rounds {
            gatherReceivers(for: Set(witness.ledger.unsettled.compactMap { witness.ledger.entries[$0]?.lane }))
            if options.streamed > 0 { drive() }
            let times =
                transfers.map(\.endsAt) + edge.map(\.endsAt) + [driver.nextDue, nextAtStreams].compactMap(\.self)
            guard let next = times.min() else { break }
            advance(byMilliseconds: max(0, next.milliseconds - now.milliseconds), late: false)
            check(thoroughly: round % 8 == 0)
            round += 1
        }
        guard violations.isEmpty else { return }
        witness.require(
            driver.engine.unsettledCount == 0 && driver.engine.planner.count == 0 && driver.engine.held.isEmpty,
            "liveness: \(driver.engine.unsettledCount) notifications are not settled after \(round) rounds")
        witness.require(driver.engine.planner.lanes.isEmpty, "liveness: lanes are left over")
        witness.require(driver.engine.planner.payloadBytes == 0, "liveness: payload bytes are still counted")
        witness.require(driver.nextDue == nil, "liveness: something is still waited for")
        witness.require(
            witness.replays.values.allSatisfy { $0.state != .running }, "liveness: a replay has not come to its end")
        witness.require(asked.isEmpty, "liveness: a request was not answered")
        witness.checkAcknowledged(witness.acknowledged.indices, in: disk)
    }
}
