import HTTPTypes
import Hummingbird
import Plugins
import Router
import RouterPlugin

extension API {
    private static let pushSource = PushPayloadSource()

    @Sendable func postNotification(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        let accept = try await accept(request, context, device)
        switch try await submit(.accept(accept)) {
        case .accepted(let accepted):
            let answer = NotificationBody.receipt(accepted.id, accepted.state, accepted.decision, duplicate: false)
            return .json(.accepted, answer)
        case .duplicate(let receipt):
            let answer = NotificationBody.receipt(receipt.id, receipt.firstState, receipt.decision, duplicate: true)
            return .json(.ok, answer)
        default: throw Problem.unexpectedReply
        }
    }

    @Sendable func postNotificationBatch(
        _ request: Request, _ context: RouterdContext, _: Caller
    ) async throws -> Response {
        let application = try context.application()
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
        let receivedAt = host.now
        let key = request.sourceHeaders.first { $0.name == "idempotency-key" }?.value
        var number = 0
        var results: [[UInt8]] = []
        for chunk in Lines(of: body).chunks(of: DaemonLimits.batchLines) {
            let entries = chunk.map { line in
                Result { () throws(Problem) in
                    // A line is a payload. Of the headers only the key means something for many of them: with the
                    // number of the line it is the key of that line.
                    number += 1
                    let headers = key.map { [(name: "idempotency-key", value: "\($0)#\(number)")] } ?? []
                    let request = SourceRequest(headers: headers, body: line, receivedAt: receivedAt)
                    return try Self.decode(request, application, device)
                }
            }
            let commands = entries.compactMap { entry in (try? entry.get()).map { Command.accept($0) } }
            var next = try await submitAll(commands).makeIterator()
            for entry in entries {
                switch entry {
                case .failure(let problem): results.append(BatchLine.write(problem))
                case .success: results.append(Self.line(for: next.next()))
                }
            }
        }
        return .lines(results)
    }

    private static func line(for reply: Reply?) -> [UInt8] {
        switch reply {
        case .accepted(let accepted):
            NotificationBody.receipt(accepted.id, accepted.state, accepted.decision, duplicate: false)
        case .duplicate(let receipt):
            NotificationBody.receipt(receipt.id, receipt.firstState, receipt.decision, duplicate: true)
        case .refused(let refusal): BatchLine.write(Problem(refusal))
        default: BatchLine.write(.unexpectedReply)
        }
    }

    @Sendable func explain(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let query = try request.query("device", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: RouterLimits.explainedCandidates)
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        let accept = try await accept(request, context, device)
        let now = host.now
        let view = NotificationView(
            application: accept.application, device: accept.device, contentID: accept.notification.contentID,
            priority: accept.notification.priority, payload: accept.notification.payload)
        let explained = await host.read { engine in
            engine.tenants[accept.application].map { chooser.explain(view, from: $0, at: now, limit: limit) }
        }
        guard let explained else { throw Problem(.unknownApplication(accept.application)) }
        return .json(.ok, ExplanationBody.write(explained, view))
    }

    @Sendable func getNotification(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.identifier("notification", of: IdentifierKinds.Notification.self)
        guard let notification = try store.notification(id), caller.mayUse(notification.application) else {
            throw Problem(.notFound, "unknown-notification", "There is no notification \(id).")
        }
        let state = await state(of: notification.sequence, notification.state)
        return .json(.ok, JSONWriter.object { NotificationBody.write(notification, state, to: &$0) })
    }

    @Sendable func listNotifications(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let query = try request.query(
            "application", "state", "session", "contentId", "since", "until", "cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let filter = try NotificationQuery.filter(query, caller: caller)
        let found = try store.notifications(matching: filter.stored, limit: limit + 1)
        var shown: [(StoredNotification, NotificationState)] = []
        for notification in found.prefix(limit) {
            shown.append((notification, await state(of: notification.sequence, notification.state)))
        }
        let cursor = found.count > limit ? shown.last.map { Cursor.write(String($0.0.sequence.value)) } : nil
        if let wanted = filter.inFlight { shown.removeAll { ($0.1 == .inFlight) != wanted } }
        return .json(
            .ok,
            JSONWriter.object { body in
                body.array("notifications") { array in
                    for (notification, state) in shown {
                        array.object { NotificationBody.write(notification, state, to: &$0) }
                    }
                }
                body.field("cursor", cursor)
            })
    }

    /// Reads the request by the push source.
    private func accept(
        _ request: Request, _ context: RouterdContext, _ device: DeviceID?
    ) async throws -> AcceptRequest {
        let application = try context.application()
        let body = try await request.bytes(atMost: RouterLimits.payloadBytes)
        let source = SourceRequest(headers: request.sourceHeaders, body: body, receivedAt: host.now)
        return try Self.decode(source, application, device)
    }

    private static func decode(
        _ request: SourceRequest, _ application: ApplicationID, _ device: DeviceID?
    ) throws(Problem) -> AcceptRequest {
        let notifications: [IncomingNotification]
        do { notifications = try pushSource.decode(request) } catch { throw Problem(error) }
        guard let notification = notifications.first else { throw .unexpectedReply }
        return AcceptRequest(
            application: application, source: pushSource.id, device: device, notification: notification)
    }

    /// The store does not know what is under way at this moment; the engine does.
    private func state(
        of sequence: NotificationSequence, _ stored: NotificationState
    ) async -> NotificationState {
        guard stored == .waiting else { return stored }
        return await host.read { $0.isInFlight(sequence) } ? .inFlight : .waiting
    }
}

extension NewNotification {
    /// The state in which it was accepted.
    fileprivate var state: NotificationState {
        switch placement {
        case .lane: .waiting
        case .held: .held
        case .settled(let settlement): settlement.state
        }
    }
}

extension Receipt {
    /// The state of the first answer, which a repeated request is given again: what has come of the notification since
    /// is asked for under its id.
    fileprivate var firstState: NotificationState {
        if decision.session != nil { return .waiting }
        return state == .held ? .held : .deadLettered
    }
}
