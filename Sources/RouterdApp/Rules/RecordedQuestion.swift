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

    var sequence: NotificationSequence { notification.sequence }

    /// Whether a remote rule of the rules in use, or of proposed ones, has no recorded answer: it is new, or the decision is
    /// one of other rules and does not name it.
    func lacksAnswer(of current: Chooser, or proposed: Chooser? = nil) -> Bool {
        let decision = notification.decision
        let isCurrent = decision.rulesVersion == current.ruleSet.version
        let known = isCurrent ? Set(current.remoteRules.map(\.id)) : []
        return (current.remoteRules + (proposed?.remoteRules ?? [])).contains { rule in
            rule.applies(to: application) && !known.contains(rule.id) && !decision.names(rule.id)
        }
    }

    /// The notification with what its decision has kept of the answers of remote rules: nothing is asked again.
    private func view(under chooser: Chooser, heldUntil: Timestamp?) -> NotificationView {
        let isDropped = notification.state == .deadLettered
        let answers = chooser.recordedAnswers(
            of: notification.decision, heldUntil: heldUntil, isDropped: isDropped, for: receiver)
        return answers.map { NotificationView(view, answers: $0) } ?? view
    }

    /// Both decisions, at the time of the notification; nil if they agree.
    ///
    /// - Parameter until: The end of the hold, if a rule holds the notification.
    func difference(
        between current: Chooser, in tenant: Tenant, and proposed: Chooser, in other: Tenant,
        heldUntil until: Timestamp?, _ work: inout DecisionWork
    ) -> Difference? {
        let (before, after) = (view(under: current, heldUntil: until), view(under: proposed, heldUntil: until))
        let first = current.tryOut(before, only: receiver, in: tenant, &work, at: notification.receivedAt)
        let second = proposed.tryOut(after, only: receiver, in: other, &work, at: notification.receivedAt)
        guard first.outcome != second.outcome || !first.amendment.hasSameEffect(as: second.amendment) else {
            return nil
        }
        return Difference(notification: notification, current: first, proposed: second)
    }

    static func write(_ differences: [Difference], compared: Int, lacking: Int, to body: inout JSONObjectWriter) {
        body.field("compared", compared)
        body.field("withoutRemoteAnswers", lacking)
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

extension Decision {
    /// Whether the rule had a part in the decision that shows.
    fileprivate func names(_ rule: PluginID) -> Bool {
        reason.contains("\(rule): ") || vetoes.contains { $0.rule == rule }
    }
}
