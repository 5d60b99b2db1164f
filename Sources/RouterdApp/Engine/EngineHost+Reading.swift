import Dispatch
package import Router
package import RouterPlugin

// Reads of the engine between two rounds, and tests of endpoints.

extension EngineHost {
    /// Reads the engine between two batches.
    package func read<Value: Sendable, Failure>(
        _ body: @Sendable (Engine) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(loop.engine)
    }

    /// The refusal of a request to an application that is not there; nil if it is.
    func absence(of id: ApplicationID) -> Refusal? {
        loop.engine.tenants[id] == nil ? loop.engine.absence(of: id) : nil
    }

    /// Makes a decision that has no effect, in turns: `body` is called again with the rest of the work until that is finished,
    /// and commands have their turn in between.
    package func decide<Value: Sendable, Failure>(
        _ body: @Sendable (Engine, inout DecisionWork) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        var work = DecisionWork(limit: RouterLimits.stepsPerTurn)
        while true {
            let value = try body(loop.engine, &work)
            if !work.isUnfinished { return value }
            work.resume(RouterLimits.stepsPerTurn)
            await Task.yield()
        }
    }

    /// Asks whether an application exists; `answer` is called on the engine's queue.
    package nonisolated func knows(_ id: ApplicationID, _ answer: @escaping @Sendable (Bool) -> Void) {
        executor.queue.async { self.assumeIsolated { answer($0.loop.engine.tenants[id] != nil) } }
    }

    /// The sizes of the engine's collections, and the times of decisions.
    package var figures: (EngineFigures, planning: RecentTimes) {
        let engine = loop.engine
        let figures = EngineFigures(
            applications: engine.tenants.count, sessions: engine.tenants.values.reduce(0) { $0 + $1.sessions.count },
            lanes: engine.planner.lanes.count, inFlight: engine.planner.inFlight, events: reports.eventCounts)
        return (figures, reports.planningTimes)
    }

    /// Counts and durations since the start.
    package var meters: EngineMeters { reports.meters }

    /// The time at which commands are decided.
    package nonisolated var now: Timestamp { clock.now }

    /// A time that divides settlements for readers of the store: all settlements up to it have been committed, and all
    /// others will have a later time. Waits for the transaction that is under way, and for a millisecond.
    package func settledTime() async throws -> Timestamp {
        let time = clock.now
        while clock.now <= time { try await Task.sleep(for: .milliseconds(1)) }
        // No transaction is open here: each is planned and committed without a suspension.
        return time
    }

    /// By how much the engine's time is ahead of the wall clock, which may have been set; negative if it is behind.
    package nonisolated var millisecondsAhead: Int64 { clock.now.milliseconds - clock.wall.milliseconds }

    /// Sends a test webhook to the endpoint of a session.
    ///
    /// - Returns: The attempt.
    /// - Throws: `Refusal`, if there is no such session, or it has no URL.
    package func test(_ key: SessionKey) async throws(Refusal) -> AttemptRecord {
        let engine = loop.engine
        guard let tenant = engine.tenants[key.application] else { throw engine.absence(of: key.application) }
        guard let session = tenant.sessions[key.session] else { throw .unknownSession(key) }
        guard let endpoint = tenant.endpoint(of: session) else { throw .endpointNotHere }
        if endpoint.isStream { throw .notAWebhook(key) }
        return await sender.test(session, at: endpoint, timeoutSeconds: tenant.application.delivery.timeoutSeconds)
    }
}
