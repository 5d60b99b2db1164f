extension RouterEvent {
    /// Writes the event as the stream and the built-in observers show it.
    public func write(to object: inout JSONObjectWriter) {
        object.field("type", type.rawValue)
        object.field("time", time)
        object.field("application", application)
        if let session { object.field("session", session) }
        if let device { object.field("device", device) }
        detail.write(to: &object)
    }
}

extension RouterEventDetail {
    fileprivate func write(to object: inout JSONObjectWriter) {
        switch self {
        case .none: break
        case .session(let state): object.field("activationState", state.name)
        case .disabled(let reason): object.field("reason", reason)
        case .screen(let screen): object.field("applicationScreen", screen)
        case .gate(let gate): object.object("gate") { gate.write(to: &$0) }
        case .progress(let progress): object.object("progress") { progress.write(to: &$0) }
        case .decision(let delivery, let tier, let state):
            delivery.write(to: &object)
            object.field("tier", tier.rawValue)
            object.field("state", state)
        case .attempt(let delivery, let attempt):
            delivery.write(to: &object)
            object.object("attempt") { attempt.write(to: &$0) }
        case .settlement(let delivery, let reason):
            delivery.write(to: &object)
            if let reason { object.field("reason", reason) }
        }
    }
}

extension DeliveryView {
    fileprivate func write(to object: inout JSONObjectWriter) {
        object.field("notification", id)
        object.field("webhook", webhook)
    }
}

extension AttemptView {
    fileprivate func write(to object: inout JSONObjectWriter) {
        object.field("number", number)
        if let status { object.field("status", status) }
        if let failure { object.field("error", failure) }
        object.field("milliseconds", milliseconds)
    }
}

extension GateView {
    fileprivate func write(to object: inout JSONObjectWriter) {
        object.field("state", state)
        object.field("responsible", responsible)
        object.field("term", term)
        if let reason { object.field("reason", reason) }
        if let message { object.field("message", message) }
        if let issuer, let subject {
            object.object("proof") {
                $0.field("issuer", issuer)
                $0.field("subject", subject)
            }
        }
    }
}

extension ProgressReport {
    fileprivate func write(to object: inout JSONObjectWriter) {
        object.field("operationId", operationID)
        object.field("step", step)
        object.field("currentStepNumber", currentStepNumber)
        object.field("totalNumberOfSteps", totalNumberOfSteps)
        object.array("parameters") { list in for parameter in parameters { list.element(parameter) } }
        object.field("defaultMessage", defaultMessage)
        if let time { object.field("time", time) }
        if let failure {
            object.object("failure") {
                $0.field("status", failure.status)
                $0.field("reason", failure.reason)
            }
        }
    }
}
