package import RouterPlugin

/// A notification to accept.
package struct AcceptRequest: Sendable {
    package var application: ApplicationID
    package var source: PluginID
    package var device: DeviceID?
    /// Of the request that brought it.
    package var trace: TraceContext?
    package var notification: IncomingNotification
    /// Whether a key alone makes a request a repetition: the ids of a source's events are stable, and other members, such as a
    /// counter of deliveries, are not.
    package var isRepeatedByKey: Bool
    package var deviceDemand: DeviceDemand
    private var rare: Rare?

    /// Rare parts, optional together: a copy of a request without them checks one reference.
    private struct Rare: Sendable {
        var replayOf: NotificationID?
        var answers: RuleAnswers?
        var further: Indirect<Further>?
    }

    private struct Further: Sendable {
        var amendment: Amendment?
        var broadcast: BroadcastPart?
        var released: [String] = []
    }

    /// The notification of a replay.
    package var replayOf: NotificationID? { rare?.replayOf }

    /// Answers of remote rules from before the plan.
    package var answers: RuleAnswers? {
        get { rare?.answers }
        set {
            guard newValue != nil || rare != nil else { return }
            rare = Rare(replayOf: replayOf, answers: newValue, further: rare?.further)
        }
    }

    /// The changes by rules.
    var amendment: Amendment? {
        get { rare?.further?.value.amendment }
        set { set(Further(amendment: newValue, broadcast: broadcast, released: released)) }
    }

    /// Its part in a broadcast; nil if it asks for one receiver.
    package var broadcast: BroadcastPart? {
        get { rare?.further?.value.broadcast }
        set { set(Further(amendment: amendment, broadcast: newValue, released: released)) }
    }

    private var released: [String] { rare?.further?.value.released ?? [] }

    /// Keys of earlier notifications, free for its sender after this one.
    package var releasedKeys: [DedupeKey] {
        released.map { DedupeKey(application: application, source: source, key: $0) }
    }

    /// Names the keys of its sender that are free after this notification.
    package mutating func release(_ keys: [String]) {
        guard !keys.isEmpty else { return }
        set(Further(amendment: amendment, broadcast: broadcast, released: keys))
    }

    /// The one session that may have it; nil if any may.
    var onlyReceiver: SessionID? { if case .only(let session, _) = broadcast { session } else { nil } }

    private mutating func set(_ further: Further) {
        rare = Rare(replayOf: replayOf, answers: answers, further: Indirect(further))
    }

    /// The part of a request in a broadcast.
    package enum BroadcastPart: Hashable, Sendable {
        /// A notification for each session that can have it.
        case all
        /// The notification for this session, of the broadcast with that first notification.
        case only(SessionID, of: NotificationID)
    }

    /// The demand of a request on its device.
    package enum DeviceDemand: Hashable, Sendable {
        /// No device is refused.
        case none
        /// A device is refused if it has sessions and all of them are disabled.
        case notRetired
        /// A device without sessions is refused too.
        case registered
    }

    package init(
        application: ApplicationID, source: PluginID, device: DeviceID?, trace: TraceContext? = nil,
        replayOf: NotificationID? = nil, notification: IncomingNotification, isRepeatedByKey: Bool = false,
        deviceDemand: DeviceDemand = .none
    ) {
        self.isRepeatedByKey = isRepeatedByKey
        self.deviceDemand = deviceDemand
        self.application = application
        self.source = source
        self.device = device
        self.trace = trace
        rare = replayOf.map { Rare(replayOf: $0) }
        self.notification = notification
    }

    /// The keys under which its sender may repeat it.
    package var dedupeKeys: [DedupeKey] {
        notification.dedupeKeys.map { DedupeKey(application: application, source: source, key: $0) }
    }
}
