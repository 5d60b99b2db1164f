package import RouterPlugin

extension DeliveryMessage {
    /// The message that an attempt brings.
    ///
    /// A notification shows its session as it is at the attempt. An event keeps the facts of its time. Only a
    /// connecting scene receives its restoration activity and user info as they are now, because at the time of the
    /// event the scene may still have been about to report them. At a closed gate they wait for the event that shows the
    /// application: the person is not known to be there.
    package init(_ attempt: AttemptStart, _ payload: MessagePayload) {
        let notification = attempt.notification
        self.init(
            id: Identity.delivery(of: notification.id), attempt: attempt.number, type: "",
            timestamp: notification.receivedAt, application: notification.application, session: nil,
            content: .event(JSONObject()))
        switch payload {
        case .facts(let facts): tell(facts, of: notification.event, attempt.isCovered ? nil : attempt.session)
        case .json(let bytes): bring(bytes, MessagePayload.jsonContentType, of: attempt)
        case .headed(let bytes, let head): bring(bytes, head.contentType, of: attempt)
        }
    }

    /// The message of a delivery that has arrived. It shows the session as it is now, as a connected one at an open gate.
    package init(arrived notification: StoredNotification, _ payload: MessagePayload, at session: SceneSession) {
        var session = session
        if session.activationState == .unattached { session.activationState = .background }
        self.init(
            AttemptStart(
                notification: UnsettledNotification(notification.header, decision: notification.decision),
                number: notification.progress.attempts, receiver: session.key, session: session,
                endpoint: .stream(secret: ""), keys: [], timeoutSeconds: 0, isCovered: false),
            payload)
    }

    /// The message of an event without an attempt: as the store and the API show it.
    package init(of event: SceneEvent, _ facts: EventFacts, for application: ApplicationID, at time: Timestamp) {
        self.init(
            id: "", attempt: 0, type: "", timestamp: time, application: application, session: nil,
            content: .event(JSONObject()))
        tell(facts, of: event, nil)
    }

    private mutating func bring(_ bytes: [UInt8], _ contentType: String, of attempt: AttemptStart) {
        let notification = attempt.notification
        let state = attempt.session?.activationState
        type = WebhookType.name(of: notification.kind, for: state)
        if let session = attempt.session {
            self.session = SessionView(session)
            if state == .unattached {
                self.session?.userInfo = session.shownUserInfo
                let content = SceneContent(
                    kind: notification.kind, contentID: notification.contentID,
                    payload: notification.kind == .notification ? [] : bytes)
                connection = ConnectionView(ConnectionOptions(bringing: content), of: session)
            }
        }
        step = attempt.connects.map(SessionStep.init)
        content = .notification(
            DeliveredNotification(
                kind: notification.kind, targetContentIdentifier: notification.contentID,
                tier: notification.decision.tier, rerouteOf: notification.decision.rerouteOf, payload: bytes,
                payloadContentType: contentType))
    }

    /// - Parameter now: The session as it is now, which is shown to a scene that connects, or that is to show the
    ///   application; nil if it may not show it.
    private mutating func tell(_ facts: EventFacts, of event: SceneEvent?, _ now: SceneSession?) {
        type = event?.kind.rawValue ?? ""
        session = facts.session
        step = event?.number.map(SessionStep.init)
        var details = JSONObject()
        switch facts {
        case .session: break
        case .connection(_, let options):
            let mayShow = event?.kind == .willConnect && options.gate?.isOpen != false
            let now = mayShow ? now : nil
            session?.userInfo = now?.shownUserInfo
            connection = ConnectionView(options, of: now)
            // Before the scene shows anything, it learns whether it may.
            if let gate = options.gate, let id = session?.id {
                details["applicationScreen"] = .string((options.screen ?? gate.screen(of: id)).rawValue)
                details["gate"] = .object(gate.json)
            }
        case .disconnection(_, let dismissal): details["dismissal"] = dismissal.map { .string($0.rawValue) }
        case .gate(let gate, let view):
            details["gate"] = .object(gate.json)
            // A scene that has connected at the closed gate has not got them yet.
            guard event?.kind == .showApplicationScreen, gate.isOpen, let now, now.key.session == view?.id else {
                break
            }
            session?.userInfo = now.shownUserInfo
            if now.stateRestorationActivity != nil { connection = ConnectionView(ConnectionOptions(), of: now) }
        case .discarded(let sessions): details["sessions"] = .array(sessions.map { .object($0.json) })
        }
        content = .event(details)
    }
}

/// The types of messages for sessions.
package enum WebhookType {
    /// The type of a notification: an unattached session is told to connect, a connected session receives the
    /// notification.
    package static func name(of kind: NotificationKind, for state: ActivationState?) -> String {
        state == .unattached ? SceneEventKind.willConnect.rawValue : name(of: kind)
    }

    /// The type of a notification for a connected session, which names the UIKit callback that handles it.
    package static func name(of kind: NotificationKind) -> String {
        switch kind {
        case .notification: "scene.notification"
        case .userActivity: "scene.continueUserActivity"
        case .url: "scene.openURLContexts"
        case .shortcutItem: "scene.performAction"
        }
    }
}

extension SessionStep {
    fileprivate init(_ number: EventNumber) { self.init(epoch: number.epoch, sequence: number.sequence) }
}

extension ConnectionView {
    /// - Parameter session: The session whose scene connects; nil leaves its restoration activity out.
    fileprivate init(_ options: ConnectionOptions, of session: SceneSession?) {
        self.init(
            options: options.members(for: session), activation: options.activation,
            userActivity: options.userActivity(of: session))
    }
}

extension SceneSession {
    /// The dictionary, unless it is empty.
    fileprivate var shownUserInfo: JSONValue? {
        guard userInfo != .emptyObject else { return nil }
        return userInfo.value
    }
}

extension DiscardedSession {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object["id"] = .string(id.text)
        object["role"] = .string(role)
        if !configuration.isEmpty { object["configuration"] = .string(configuration) }
        if let device { object["device"] = .string(device.text) }
        object["userInfo"] = userInfo.value
        return object
    }
}

extension OnboardingGate {
    /// The gate as receivers and clients see it.
    package var json: JSONObject {
        func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        var object = JSONObject()
        object["device"] = text(key.device?.text)
        object["state"] = .string(state.rawValue)
        object["responsible"] = text(responsible?.text)
        object["term"] = .number(JSONNumber(term))
        object["onboardingId"] = text(onboardingID)
        if let failure {
            object["failure"] = [
                "session": .string(failure.session.text), "reason": text(failure.reason),
                "message": text(failure.message),
            ]
        }
        if let proof { object["proof"] = ["issuer": .string(proof.issuer), "subject": .string(proof.subject)] }
        guard let progress else { return object }
        object["progress"] = .object(progress.json)
        var all = JSONObject()
        for report in operations { all[report.operationID] = .object(report.json) }
        object["operations"] = .object(all)
        return object
    }
}

extension ProgressReport {
    fileprivate var json: JSONObject {
        var report = JSONObject()
        report["operationId"] = .string(operationID)
        report["step"] = .string(step)
        report["currentStepNumber"] = .number(JSONNumber(Int64(currentStepNumber)))
        report["totalNumberOfSteps"] = .number(JSONNumber(Int64(totalNumberOfSteps)))
        report["parameters"] = .array(parameters.map { .string($0) })
        report["defaultMessage"] = .string(defaultMessage)
        report["time"] = time.map { .string($0) }
        if let failure {
            report["failure"] = [
                "status": failure.status.map { .number(JSONNumber(Int64($0))) } ?? .null,
                "reason": .string(failure.reason),
            ]
        }
        return report
    }
}
