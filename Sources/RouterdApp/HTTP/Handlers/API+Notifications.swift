import HTTPTypes
import Hummingbird
import Plugins
import Router
import RouterPlugin

extension API {
    static let pushSource = PushPayloadSource()
    private static let sceneSource = ScenePayloadSource()

    @Sendable func postNotification(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let query = try request.query("device", "broadcast")
        let isBroadcast = try query.flag("broadcast")
        return try await post(request, context, query, isBroadcast: isBroadcast, to: Self.pushSource)
    }

    /// The other events that UIKit routes like notifications: user activities, URLs and shortcut items.
    @Sendable func postEvent(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var query = try request.query("device")
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        if let own = try caller.ownDevice(insteadOf: device) { query["device"] = own.text }
        return try await post(request, context, query, to: Self.sceneSource)
    }

    private func post(
        _ request: Request, _ context: RouterdContext, _ query: [String: String], isBroadcast: Bool = false,
        to source: any PayloadSource
    ) async throws -> Response {
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        let reply = try await host.accepting(from: request.trace) { trace in
            var accept = try await accept(request, context, device, by: source)
            accept.trace = trace
            if isBroadcast { accept.broadcast = .all }
            let start = ContinuousClock.now
            let reply = try await submit(isBroadcast ? .acceptAll([accept]) : .accept(accept))
            accepting.add(start.duration(to: .now))
            return reply
        }
        switch reply {
        case .accepted(let accepted):
            return .json(.accepted, NotificationBody.answer(accepted))
        case .duplicate(let receipt):
            return .json(.ok, NotificationBody.answer(receipt))
        case .acceptedAll(let replies): return Self.answer(replies)
        default: throw Problem.unexpectedReply
        }
    }

    @Sendable func getNotification(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let notification = try await stored(context, caller)
        let standing = await standings(of: [notification])[0]
        let broadcast = try await notifications(ofBroadcastWith: notification, caller)
        return .json(
            .ok,
            JSONWriter.object {
                NotificationBody.write(notification, standing, for: caller, broadcast: broadcast, to: &$0)
            })
    }

    /// The notifications of the same broadcast, in their order; none if the notification is of no broadcast.
    private func notifications(
        ofBroadcastWith notification: StoredNotification, _ caller: Caller
    ) async throws -> [(StoredNotification, NotificationStanding)] {
        guard let first = notification.broadcast, notification.replayOf == nil else { return [] }
        let filter = NotificationFilter(
            application: notification.application,
            broadcast: BroadcastPlace(first, near: notification.sequence))
        let found = try await reading(for: caller) {
            try $0.notifications(matching: filter, limit: RouterLimits.broadcastSessions)
        }
        let all = Array(found.reversed())
        return Array(zip(all, await standings(of: all)))
    }

    /// The notification that the path names, if the caller may see it.
    func stored(_ context: RouterdContext, _ caller: Caller) async throws -> StoredNotification {
        let id = try context.identifier("notification", of: IdentifierKinds.Notification.self)
        let found = try await reading(for: caller) { try $0.notification(id) }
        guard let notification = found, caller.mayUse(notification.application) else {
            throw Problem(.unknownNotification(id))
        }
        return notification
    }

    @Sendable func cancelNotification(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try await stored(context, caller).id
        guard case .cancelled(let state) = try await submit(.cancel(id)) else { throw Problem.unexpectedReply }
        return .json(
            .ok,
            JSONWriter.object {
                $0.field("id", id)
                $0.field("state", state.rawValue)
            })
    }

    /// Sends a settled notification again, as a new notification with a new decision.
    @Sendable func replayNotification(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let earlier = try await stored(context, caller)
        guard earlier.state.isSettled else {
            throw Problem(.conflict, "notification-not-settled", "The notification \(earlier.id) is still on its way.")
        }
        guard earlier.event == nil else {
            throw Problem(.conflict, "not-a-notification", "An event of a session cannot be sent again.")
        }
        let keys = try request.idempotencyKey().map { ["replay:\(earlier.id):\($0)"] } ?? []
        let reply = try await host.accepting(from: request.trace) { trace in
            try await submit(.accept(AcceptRequest(replaying: earlier, trace: trace, dedupeKeys: keys)))
        }
        switch reply {
        case .accepted(let accepted): return .json(.accepted, NotificationBody.answer(accepted))
        case .duplicate(let receipt): return .json(.ok, NotificationBody.answer(receipt))
        default: throw Problem.unexpectedReply
        }
    }

    @Sendable func listNotifications(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query(
            "application", "state", "session", "contentId", "type", "since", "until", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let filter = try NotificationQuery.filter(query, caller: caller)
        let stored = filter.stored
        let found = try await reading(for: caller) { try $0.notifications(matching: stored, limit: limit + 1) }
        let first = Array(found.prefix(limit))
        let shown = Array(zip(first, await standings(of: first)))
        let page = Page(shown[...], hasMore: found.count > limit) { String($0.0.sequence.value) }
        let wanted = filter.inFlight
        return try await answer("notifications", page, to: caller) { notification, standing in
            if let wanted, (standing.state == .inFlight) != wanted { return nil }
            return JSONWriter.object { NotificationBody.write(notification, standing, for: caller, to: &$0) }
        }
    }

    func accept(
        _ request: Request, _ context: RouterdContext, _ device: DeviceID?, by source: any PayloadSource
    ) async throws -> AcceptRequest {
        let application = try context.application()
        try request.refuseForeignMarks()
        let body = try await request.bytes(in: context)
        let received = SourceRequest(headers: request.sourceHeaders, body: body, receivedAt: host.now)
        let run = SourceRun(binding: source, to: application, device: device)
        return try Self.accept(received, by: run, request.trace)
    }

    /// The notification of a request to a built-in binding, whose answer has room for one notification.
    static func accept(
        _ received: SourceRequest, by run: SourceRun, _ trace: TraceContext?
    ) throws(Problem) -> AcceptRequest {
        let requests = try acceptRequests(of: received, by: run, trace).requests
        guard let request = requests.first, requests.count == 1 else { throw .unexpectedReply }
        if request.notification.kind == .notification, request.notification.contentID == nil,
            let (kind, mark) = ForeignBodies.sender(of: received.body)
        {
            throw .foreignFormat(kind, mark: mark)
        }
        return request
    }

    /// The engine, not the store, knows which deliveries are under way at this moment.
    private func standings(of notifications: [StoredNotification]) async -> [NotificationStanding] {
        guard notifications.contains(where: { !$0.state.isSettled }) else {
            return notifications.map { NotificationStanding($0.state) }
        }
        return await host.read { engine in
            notifications.map { NotificationStanding($0.state, of: $0.sequence, in: engine) }
        }
    }
}
