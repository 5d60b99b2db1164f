/// Something that has happened and is durable: an entry of the feed that streams and observers are told from.
///
/// It names what it is about, and holds nothing of what was said: no payload, no `userInfo`, no secret, no passcode.
public struct RouterEvent: Hashable, Sendable {
    /// Its place among all events of this run of the daemon. They grow; numbers are missing where nobody listened.
    public let sequence: Int64
    /// What has happened.
    public let type: RouterEventType
    /// When it was committed.
    public let time: Timestamp
    /// The tenant.
    public let application: ApplicationID
    /// The session that it happened to, or that has to do with it; nil if it is about no session.
    public let session: SessionID?
    /// The device of the session, of the notification or of the gate; nil if there is none.
    public let device: DeviceID?
    /// What there is to say beside.
    public let detail: RouterEventDetail

    /// All parts at once.
    public init(
        sequence: Int64, type: RouterEventType, time: Timestamp, application: ApplicationID,
        session: SessionID? = nil, device: DeviceID? = nil, detail: RouterEventDetail = .none
    ) {
        self.sequence = sequence
        self.type = type
        self.time = time
        self.application = application
        self.session = session
        self.device = device
        self.detail = detail
    }
}

/// What an event says beside who it is about. Words are those of the HTTP API.
public enum RouterEventDetail: Hashable, Sendable {
    /// Nothing.
    case none
    /// Where the session stands after it.
    case session(ActivationState)
    /// Why the session takes no part, such as `gone`.
    case disabled(reason: String)
    /// What the session shows: `app`, `onboarding` or `screenshot`.
    case screen(String)
    /// How the gate stands.
    case gate(GateView)
    /// How far it has come at the gate.
    case progress(ProgressReport)
    /// How a notification was decided.
    case decision(DeliveryView, tier: Tier, state: String)
    /// What came of an attempt.
    case attempt(DeliveryView, AttemptView)
    /// How a delivery ended; the reason is that of a dead letter.
    case settlement(DeliveryView, reason: String?)
}

/// A delivery as events name it.
public struct DeliveryView: Hashable, Sendable {
    /// The notification, or the event of a session's life that is delivered like one.
    public let id: NotificationID
    /// The type of its webhook, such as `scene.notification`.
    public let webhook: String

    /// Both parts.
    public init(id: NotificationID, webhook: String) {
        self.id = id
        self.webhook = webhook
    }
}

/// An attempt as events show it.
public struct AttemptView: Hashable, Sendable {
    /// 1 for the first.
    public let number: Int
    /// The status of the answer; nil if there was none.
    public let status: Int?
    /// The kind of failure in kebab-case; nil if there was an answer.
    public let failure: String?
    /// How long it took.
    public let milliseconds: Int64

    /// All parts at once.
    public init(number: Int, status: Int?, failure: String?, milliseconds: Int64) {
        self.number = number
        self.status = status
        self.failure = failure
        self.milliseconds = milliseconds
    }
}

/// A gate as events show it.
public struct GateView: Hashable, Sendable {
    /// Such as `onboarding` or `opened`.
    public let state: String
    /// Who is responsible; nil if nobody is.
    public let responsible: SessionID?
    /// How often somebody became responsible.
    public let term: Int64

    /// All parts at once.
    public init(state: String, responsible: SessionID?, term: Int64) {
        self.state = state
        self.responsible = responsible
        self.term = term
    }
}
