/// A rule that takes part in the choice of a notification's receiver.
///
/// Candidates are shown best first, one at a time, and only as long as needed: among a million sessions a rule that
/// accepts the first one costs one call. A rule is a pure value: the same arguments always give the same verdict. Every
/// rule runs `RoutingRuleSuite` of RouterTesting.
public protocol RoutingRule: Sendable {
    /// The rule's own name.
    var id: PluginID { get }
    /// Whether the rule may answer `prefer`. If one rule does, the router shows up to `RoutingLimits.lookAhead`
    /// candidates of the tier before it settles on the first accepted one.
    var looksAhead: Bool { get }
    /// The rule's verdict on one candidate.
    func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict
}

extension RoutingRule {
    /// Most rules take or leave the best candidate.
    public var looksAhead: Bool { false }
}

/// A rule with an order for the best candidates of a tier: the session with the smallest rank is taken first.
///
///     func rank(of candidate: Candidate, for _: NotificationView, at _: Timestamp) -> Int {
///         candidate.userInfo["battery"]?.asInt64.map(Int.init) ?? .max
///     }
///
/// Among equal ranks the better candidate comes first. The order is that of the best `RoutingLimits.lookAhead` candidates; the
/// others follow as they are. Of several such rules the first one that decides on a notification orders.
public protocol OrderingRule: RoutingRule {
    /// The place of a candidate in the order; a pure value, as a verdict is.
    func rank(of candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> Int
}

/// A rule's verdict on one candidate.
public enum RoutingVerdict: Hashable, Sendable {
    /// No objection.
    case accept
    /// Take this candidate before better ranked ones of its tier.
    case prefer(reason: String)
    /// Not this candidate.
    case veto(reason: String)
    /// This session instead, if it is registered and not disabled.
    case redirect(to: SessionID, reason: String)
    /// No session now; the router decides again at that time.
    case hold(until: Timestamp, reason: String)
    /// No session, now or later.
    case drop(reason: String)
}

/// A notification as rules see it.
public struct NotificationView: Sendable {
    /// The kind of payload: a push, a user activity, a URL or a shortcut item.
    public let kind: NotificationKind
    /// The tenant.
    public let application: ApplicationID
    /// The device that it is for, if it names one.
    public let device: DeviceID?
    /// The target content identifier, if the payload names one.
    public let contentID: ContentID?
    /// The urgency.
    public let priority: Priority
    /// The bytes as received.
    public let payload: [UInt8]
    /// The time at which it came; nil if it comes just now.
    package let receivedAt: Timestamp?
    /// The answers of remote rules, if there are any.
    package let answers: RuleAnswers?

    /// All parts at once.
    public init(
        kind: NotificationKind = .notification, application: ApplicationID, device: DeviceID?, contentID: ContentID?,
        priority: Priority, payload: [UInt8]
    ) {
        self.kind = kind
        self.application = application
        self.device = device
        self.contentID = contentID
        self.priority = priority
        self.payload = payload
        answers = nil
        receivedAt = nil
    }

    /// A notification under another priority.
    package init(_ view: NotificationView, priority: Priority) {
        kind = view.kind
        application = view.application
        device = view.device
        contentID = view.contentID
        self.priority = priority
        payload = view.payload
        answers = view.answers
        receivedAt = view.receivedAt
    }

    /// A notification with the answers of remote rules, or one that came before. Most have neither, and are made without a
    /// second copy.
    package init(_ view: NotificationView, answers: RuleAnswers? = nil, receivedAt: Timestamp? = nil) {
        kind = view.kind
        application = view.application
        device = view.device
        contentID = view.contentID
        priority = view.priority
        payload = view.payload
        self.answers = answers
        self.receivedAt = receivedAt
    }
}
