/// A committed event: an entry of the feed that streams and observers receive.
///
/// The event names its subjects and holds none of their content: no payload, no `userInfo`, no secret, no passcode.
public struct RouterEvent: Hashable, Sendable {
    /// The event's place among all events of this run of the daemon. Numbers grow; some are missing where the feed had
    /// no listener.
    public let sequence: Int64
    /// The kind of event.
    public let type: RouterEventType
    /// The time of the commit.
    public let time: Timestamp
    /// The tenant.
    public let application: ApplicationID
    /// The session that the event is about, or that has to do with it; nil if it is about no session.
    public let session: SessionID?
    /// The device of the session, of the notification or of the gate; nil if there is none.
    public let device: DeviceID?
    /// Further facts of the event.
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

/// The facts of an event beyond its subjects. Words are those of the HTTP API.
public enum RouterEventDetail: Hashable, Sendable {
    /// No further facts.
    case none
    /// The state of the session after the event.
    case session(ActivationState)
    /// The reason why the session takes no part, such as `gone`.
    case disabled(reason: String)
    /// The screen of the session: `app`, `onboarding` or `screenshot`.
    case screen(String)
    /// The state of the gate.
    case gate(GateView)
    /// The progress of onboarding at the gate.
    case progress(ProgressReport)
    /// The decision on a notification.
    case decision(DeliveryView, tier: Tier, state: String)
    /// The outcome of an attempt.
    case attempt(DeliveryView, AttemptView)
    /// The end of a delivery; the reason is that of a dead letter.
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
    /// The duration of the attempt.
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
    /// The state of the gate, such as `onboarding` or `opened`.
    public let state: String
    /// The responsible session; nil if there is none.
    public let responsible: SessionID?
    /// The number of times that a session became responsible.
    public let term: Int64
    /// Why the last flow failed, as the session that reported it says; nil if it says nothing, or if none failed.
    public let reason: String?
    /// Likewise, for people.
    public let message: String?
    /// The issuer of the outside proof that has unlocked the gate; nil if it was not unlocked by one.
    public let issuer: String?
    /// The person or program that the proof is about.
    public let subject: String?

    /// All parts at once.
    public init(
        state: String, responsible: SessionID?, term: Int64, reason: String? = nil, message: String? = nil,
        issuer: String? = nil, subject: String? = nil
    ) {
        self.state = state
        self.responsible = responsible
        self.term = term
        self.reason = reason
        self.message = message
        self.issuer = issuer
        self.subject = subject
    }
}
