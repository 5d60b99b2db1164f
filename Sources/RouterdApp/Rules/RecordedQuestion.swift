import Router
import RouterPlugin

/// A notification of the past, as a question to rules and sessions.
struct RecordedQuestion: Sendable {
    typealias Choice = (outcome: ChoiceOutcome, decision: Decision, amendment: Amendment)

    /// A notification that is decided about in two different ways.
    struct Difference: Sendable {
        let notification: StoredNotification
        let current: Choice
        let proposed: Choice
    }

    private let notification: StoredNotification
    private let view: NotificationView
    /// The one session that may have a notification of a broadcast.
    private let receiver: SessionID?

    init(_ notification: StoredNotification, _ payload: [UInt8]) {
        self.notification = notification
        receiver = notification.broadcast == nil ? nil : notification.decision.receiverOfBroadcast
        view = NotificationView(
            kind: notification.kind, application: notification.application, device: notification.device,
            contentID: notification.contentID, priority: notification.priority, payload: payload)
    }

    var application: ApplicationID { notification.application }

    /// Both decisions, at the time of the notification; nil if they agree.
    func difference(
        between current: Chooser, in tenant: Tenant, and proposed: Chooser, in other: Tenant,
        _ work: inout DecisionWork
    ) -> Difference? {
        let first = current.tryOut(view, only: receiver, in: tenant, &work, at: notification.receivedAt)
        let second = proposed.tryOut(view, only: receiver, in: other, &work, at: notification.receivedAt)
        guard first.outcome != second.outcome || !first.amendment.hasSameEffect(as: second.amendment) else {
            return nil
        }
        return Difference(notification: notification, current: first, proposed: second)
    }

    static func write(_ differences: [Difference], compared: Int, to body: inout JSONObjectWriter) {
        body.field("compared", compared)
        body.array("differences") { list in
            for difference in differences {
                list.object { object in
                    object.field("notification", difference.notification.id)
                    object.field("application", difference.notification.application)
                    object.field("receivedAt", difference.notification.receivedAt)
                    object.field("contentId", difference.notification.contentID)
                    object.object("current") { write(difference.current, to: &$0) }
                    object.object("proposed") { write(difference.proposed, to: &$0) }
                }
            }
        }
    }

    private static func write(_ choice: Choice, to object: inout JSONObjectWriter) {
        object.field("outcome", choice.outcome.word)
        object.field("session", choice.decision.session)
        if case .held(let until) = choice.outcome { object.field("heldUntil", until) }
        object.field("reason", choice.decision.reason)
        ExplanationBody.write(choice.amendment, to: &object)
    }
}
