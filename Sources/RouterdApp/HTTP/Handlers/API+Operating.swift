import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

extension API {
    /// Figures of all tenants, and therefore refused to the key of one tenant.
    @Sendable func status(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the status")
        let census = try await reading(for: caller) { try $0.census() }
        let (figures, times) = await host.figures
        let doubt = await host.clockDoubt
        return .json(
            .ok,
            JSONWriter.object { body in
                body.field("version", RouterdVersion.current)
                body.field("startedAt", host.startedAt)
                body.field("clockAheadMilliseconds", host.millisecondsAhead)
                if let doubt { body.object("clock") { Self.write(doubt, to: &$0) } }
                body.field("applications", figures.applications)
                body.field("sessions", figures.sessions)
                body.object("notifications") { notifications in
                    notifications.field("accepted", census.accepted)
                    for state in NotificationState.allCases where state != .inFlight {
                        notifications.field(state.rawValue, census.byState[state] ?? 0)
                    }
                    notifications.field("forgotten", census.forgotten)
                    notifications.field("unaccounted", census.unaccounted)
                }
                body.field("inFlight", figures.inFlight)
                body.field("lanes", figures.lanes)
                body.object("events") { events in
                    for kind in DeliveryEventKind.allCases {
                        if let count = figures.events[kind] { events.field(kind.rawValue, count) }
                    }
                }
                body.array("observers") { observers in
                    for figures in host.observers.figures {
                        observers.object { observer in
                            observer.field("id", figures.id)
                            observer.field("told", figures.told)
                            observer.field("failed", figures.failed)
                            observer.field("missed", figures.missed)
                            observer.field("hangs", figures.hangs)
                        }
                    }
                }
                body.object("planning") { planning in
                    planning.field("count", times.count)
                    let found = times.percentiles([0.5, 0.99, 0.999])
                    for (place, name) in ["nanosecondsP50", "nanosecondsP99", "nanosecondsP999"].enumerated() {
                        planning.field(name, (found?[place]).map { Int($0) })
                    }
                }
            })
    }

    /// The clock is every tenant's, so this is not for a key of one.
    @Sendable func confirmClock(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the clock")
        await host.confirmClock()
        return .json(
            .ok, JSONWriter.object { body in body.object("clock") { $0.field("trusted", true) } })
    }

    private static func write(_ doubt: ClockDoubt, to clock: inout JSONObjectWriter) {
        clock.field("trusted", false)
        clock.field("newestRowAt", doubt.newest)
        clock.field("heldBackMilliseconds", doubt.heldBackMilliseconds)
        clock.field("trustedAt", doubt.endsAt.advanced(byMilliseconds: doubt.heldBackMilliseconds))
    }

    @Sendable func listLanes(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        let query = try request.query("application", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let application = try query.identifier("application", of: IdentifierKinds.Application.self)
        // There may be as many lanes as sessions: the engine does not wait until they are sorted.
        let all = await host.read(\.lanes.inUse)
        // The cursor is the text of a key, and so the keys' texts determine the order.
        let named = try await reading(for: caller) { _ in
            all.lazy
                .filter { caller.mayUse($0.application) && (application == nil || $0.application == application) }
                .map { (key: $0, text: $0.description) }
                .sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
        }
        let keys = Page(of: named, after: after, limit: limit, key: \.text)
        let statuses = await host.read { engine in
            let lanes = engine.lanes
            return keys.elements.map { (text: $0.text, status: lanes.status(of: $0.key)) }
        }
        let page = Page(statuses[...], hasMore: keys.hasMore, key: \.text)
        return try await answer("lanes", page, to: caller) { lane in
            JSONWriter.object { Self.write(lane.status, to: &$0) }
        }
    }

    /// Session ids are unique within an application; a key of one application need not name it.
    @Sendable func resumeLane(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response
    {
        let query = try request.query("application")
        let named = try query.identifier("application", of: IdentifierKinds.Application.self)
        guard let application = named ?? caller.key?.application else {
            throw Problem(.badRequest, "invalid-parameter", "The parameter application must say whose session it is.")
        }
        guard caller.mayUse(application) else { throw Problem(.unknownApplication(application)) }
        let session = try context.identifier("session", of: IdentifierKinds.Session.self)
        return try await resume(SessionKey(application: application, session: session))
    }

    /// The lane of the application's delegate.
    @Sendable func resumeDelegate(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        _ = try request.query()
        return try await resume(.delegate(of: try context.application()))
    }

    private func resume(_ key: SessionKey) async throws -> Response {
        guard case .resumed = try await submit(.resume(key)) else { throw Problem.unexpectedReply }
        let status = await host.read { $0.lanes.status(of: key) }
        return .json(.ok, JSONWriter.object { Self.write(status, to: &$0) })
    }

    private static func write(_ status: LaneStatus, to lane: inout JSONObjectWriter) {
        lane.field("application", status.key.application)
        // Null for the lane of the delegate.
        lane.field("session", status.key.session.isDelegate ? nil : status.key.session)
        lane.field("waiting", status.waiting)
        lane.field("inFlight", status.inFlight)
        lane.field("oldestReceivedAt", status.oldestReceivedAt)
        lane.field("attempts", status.attempts)
        lane.field("nextAttemptAt", status.nextAttemptAt)
        lane.field("disabled", status.disabled?.name)
        lane.field("waitsFor", status.waitsFor.map(word))
        lane.object("breaker") { breaker in
            breaker.field("state", status.breaker.phase.rawValue)
            breaker.field("since", status.breaker.since)
            breaker.field("reason", status.breaker.reason?.description)
            breaker.field("nextProbeAt", status.breaker.nextProbeAt)
            breaker.field("gatedUntil", status.breaker.gatedUntil)
            breaker.field("inFlightLimit", status.breaker.slowStartLimit)
            breaker.field("slow", status.breaker.isSlow)
        }
    }

    private static func word(_ resource: Dispatcher.Resource) -> String {
        switch resource {
        case .endpoint: "endpoint"
        case .origin: "origin"
        case .consumer: "consumer"
        case .slowSlots: "slowSlots"
        case .originShare, .share, .streamShare: "share"
        }
    }
}

extension Caller {
    /// Refuses the key of one application.
    ///
    /// - Parameter subject: The resource, as the end of the refusal's sentence names it.
    func expectAllApplications(_ subject: String) throws(Problem) {
        guard key?.application == nil else {
            throw Problem(
                .forbidden, "key-of-one-application",
                "The key is for one application, and no key of one application may use \(subject).")
        }
    }
}
