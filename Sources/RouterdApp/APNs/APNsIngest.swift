import NIOCore
import Plugins
import Router
import RouterPlugin
import Synchronization

/// The path of a push into the engine: topic and token become application and device, and the engine's answer becomes a
/// verdict.
struct APNsIngest: Sendable {
    let host: EngineHost
    let settings: APNsSettings
    /// Request rates by device token.
    private let rates = SharedRates<[UInt8]>()

    init(host: EngineHost, settings: APNsSettings) {
        self.host = host
        self.settings = settings
    }

    func take(_ push: APNsPush, _ answer: @escaping @Sendable (APNsVerdict) -> Void) {
        var request: AcceptRequest
        do throws(APNsRefusal) { request = try accept(push) } catch { return answer(.refused(error)) }
        let mayNameOthers = push.head.authority == .everyTopic
        let host = host
        let span = host.beginAccepting(from: request.trace)
        if let span { request.trace = span.trace }
        let taken = host.submit(.accept(request)) { reply in
            span?.end(at: host.clock.instant)
            answer(APNsVerdict(reply, at: host.now, namingOthers: mayNameOthers))
        }
        guard !taken else { return }
        span?.end(at: host.clock.instant)
        answer(.refused(.busy))
    }

    func knows(_ id: ApplicationID, _ answer: @escaping @Sendable (Bool) -> Void) { host.knows(id, answer) }

    private func accept(_ push: APNsPush) throws(APNsRefusal) -> AcceptRequest {
        if let perSecond = settings.requestsPerSecondPerDevice {
            do throws(Problem) {
                try rates.take(Array(push.head.token.utf8), perSecond: perSecond, at: .now())
            } catch {
                throw APNsRefusal(.tooManyRequests, "The token gets more than \(perSecond) pushes in a second.")
            }
        }
        let device: DeviceID?
        switch settings.devices {
        case .none: device = nil
        case .token:
            do { device = try DeviceID(push.head.token) } catch {
                throw APNsRefusal(.badDeviceToken, "The token is no id of a device.")
            }
        }
        let event = push.event
        return AcceptRequest(
            application: push.head.application, source: PushPayloadSource.id, device: device,
            trace: push.head.trace,
            notification: IncomingNotification(
                kind: event.kind, contentID: event.contentID, payload: event.payload,
                priority: event.priority ?? .high, expiration: event.expiration ?? .never,
                collapseID: event.collapseID, dedupeKeys: event.dedupeKeys),
            deviceDemand: settings.demand)
    }
}

extension APNsRefusal {
    /// The engine's inbox is full.
    fileprivate static let busy = APNsRefusal(.serviceUnavailable, "Too many pushes are waiting: try again.")

    static func unknownApplication(_ id: ApplicationID) -> APNsRefusal {
        APNsRefusal(.badTopic, "There is no application \(id): put it, or name it in apns.topics.")
    }
}

extension APNsVerdict {
    /// - Parameter namingOthers: Whether the answer may tell the sender that a token belongs to another application.
    fileprivate init(_ reply: Reply, at now: Timestamp, namingOthers: Bool) {
        switch reply {
        case .accepted(let accepted):
            self = .accepted(uniqueID: accepted.id.text, session: accepted.decision.session?.text)
        case .duplicate(let receipt):
            self = .accepted(uniqueID: receipt.id.text, session: receipt.decision.session?.text)
        case .refused(let refusal): self = .refused(APNsRefusal(refusal, at: now, namingOthers: namingOthers))
        default: self = .refused(APNsRefusal(.internalServerError, "The push could not be answered."))
        }
    }
}

extension APNsRefusal {
    fileprivate init(_ refusal: Refusal, at now: Timestamp, namingOthers: Bool) {
        switch refusal {
        case .unknownApplication(let id), .applicationDeleting(let id): self = .unknownApplication(id)
        case .unknownDevice(let isElsewhere):
            let isForeign = isElsewhere && namingOthers
            self.init(
                isForeign ? .deviceTokenNotForTopic : .badDeviceToken,
                "No session of the topic's application is on the device.")
        case .retiredDevice(let since):
            self.init(
                .unregistered, "The endpoints of all sessions on the device have answered 410.", timestamp: since ?? now
            )
        case .idempotencyConflict:
            self.init(.badMessageID, "The apns-id came before, with another payload or for another device.")
        case .contentIDMissing:
            self.init(.badPayload, "The application takes notifications with a content id: set aps.target-content-id.")
        case .storeUnavailable: self.init(.serviceUnavailable, "The store cannot take this now: try again.")
        default: self.init(.internalServerError, "The push could not be answered.")
        }
    }
}
