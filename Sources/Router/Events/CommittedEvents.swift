import RouterPlugin

/// The events of a transaction, gathered change by change.
///
/// Memory stands as it was before the transaction. The results of its earlier changes are kept here, so that each change is
/// compared with the state just before it.
struct CommittedEvents {
    private(set) var events: [RouterEvent] = []
    private var sequence: Int64
    private let time: Timestamp

    var applications: [ApplicationID: Application] = [:]
    /// Sessions as changed; nil for deleted ones.
    var sessions: [SessionKey: SceneSession?] = [:]
    var gates: [GateKey: OnboardingGate] = [:]
    var deliveries: [NotificationSequence: Delivery] = [:]

    /// A delivery, as far as events name it.
    struct Delivery {
        var view: DeliveryView
        var application: ApplicationID
        var device: DeviceID?
        /// The session in whose lane it is.
        var session: SessionID?
    }

    init(after sequence: Int64, at time: Timestamp) {
        self.sequence = sequence
        self.time = time
    }

    mutating func add(
        _ type: RouterEventType, _ application: ApplicationID, _ session: SessionID? = nil, device: DeviceID? = nil,
        _ detail: RouterEventDetail = .none
    ) {
        sequence += 1
        events.append(
            RouterEvent(
                sequence: sequence, type: type, time: time, application: application,
                session: session?.isDelegate == true ? nil : session, device: device, detail: detail))
    }

    mutating func add(_ type: RouterEventType, _ session: SceneSession, _ detail: RouterEventDetail = .none) {
        add(type, session.key.application, session.key.session, device: session.device, detail)
    }

    mutating func add(_ type: RouterEventType, _ delivery: Delivery, _ detail: RouterEventDetail) {
        add(type, delivery.application, delivery.session, device: delivery.device, detail)
    }
}

extension CommittedEvents.Delivery {
    init(_ notification: NewNotification) {
        self.init(
            view: DeliveryView(id: notification.id, kind: notification.kind, event: notification.event),
            application: notification.application, device: notification.device,
            session: notification.decision.session)
    }

    init(_ notification: UnsettledNotification) {
        self.init(
            view: DeliveryView(id: notification.id, kind: notification.kind, event: notification.event),
            application: notification.application, device: notification.device,
            session: notification.decision.session)
    }
}

extension DeliveryView {
    fileprivate init(id: NotificationID, kind: NotificationKind, event: SceneEvent?) {
        self.init(id: id, webhook: event?.kind.rawValue ?? WebhookType.name(of: kind))
    }
}

extension RouterEventType {
    /// The end of a delivery.
    init(_ settlement: Settlement) {
        switch settlement {
        case .delivered: self = .notificationDelivered
        case .expired: self = .notificationExpired
        case .deadLettered: self = .notificationDeadLettered
        case .superseded: self = .notificationSuperseded
        case .cancelled: self = .notificationCancelled
        }
    }

    /// A step of a session's life; nil for other events.
    init?(step kind: SceneEventKind) {
        guard kind.enters != nil, let type = Self(rawValue: kind.rawValue) else { return nil }
        self = type
    }
}
