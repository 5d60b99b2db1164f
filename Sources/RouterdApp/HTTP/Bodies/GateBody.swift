import HTTPTypes
import Router
import RouterPlugin

/// Gates on the wire.
enum GateBody {
    /// The session that sends a request to its gate; that of the caller's token, if it has one.
    static func session(
        _ reader: inout ObjectReader, of application: ApplicationID, for caller: Caller
    ) throws(Problem) -> SessionKey {
        guard let id = try reader.identifier("session", of: IdentifierKinds.Session.self) else {
            throw reader.missing("session")
        }
        let session = SessionKey(application: application, session: id)
        try caller.expect(session)
        return session
    }

    static func term(_ reader: inout ObjectReader) throws(Problem) -> Int64 {
        guard let term = try reader.integer("term", in: 0...Int64.max) else { throw reader.missing("term") }
        return Int64(term)
    }

    /// The name under which the client keeps the result of onboarding.
    static func onboardingID(_ reader: inout ObjectReader) throws(Problem) -> String? {
        try text("onboardingId", &reader, atMost: RouterLimits.gateTextBytes)
    }

    static func progress(_ reader: inout ObjectReader) throws(Problem) -> ProgressReport {
        let limit = RouterLimits.gateTextBytes
        guard let operation = try text("operationId", &reader, atMost: limit) else {
            throw reader.missing("operationId")
        }
        guard let step = try text("step", &reader, atMost: limit) else { throw reader.missing("step") }
        let steps = 1...RouterLimits.progressSteps
        guard let total = try reader.integer("totalNumberOfSteps", in: steps) else {
            throw reader.missing("totalNumberOfSteps")
        }
        guard let current = try reader.integer("currentStepNumber", in: 1...Int64(total)) else {
            throw reader.missing("currentStepNumber")
        }
        let parameters = try reader.strings("parameters", atMost: RouterLimits.progressParameters) ?? []
        guard parameters.allSatisfy({ $0.utf8.count <= RouterLimits.progressTextBytes }) else {
            throw reader.invalid("parameters", "may have \(RouterLimits.progressTextBytes) bytes each")
        }
        return ProgressReport(
            operationID: operation, step: step, currentStepNumber: current, totalNumberOfSteps: total,
            parameters: parameters,
            defaultMessage: try text("defaultMessage", &reader, atMost: RouterLimits.progressTextBytes) ?? "",
            time: try reader.time("time")?.rfc3339, failure: try failure(&reader))
    }

    private static func failure(_ reader: inout ObjectReader) throws(Problem) -> RequestFailure? {
        guard var failure = try reader.object("failure") else { return nil }
        let status = try failure.integer("status", in: 100...599)
        let reason = try text("reason", &failure, atMost: RouterLimits.progressTextBytes)
        try failure.finish()
        return RequestFailure(status: status, reason: reason ?? "")
    }

    /// Why a flow failed, in words for programs and for people.
    static func gateFailure(_ reader: inout ObjectReader) throws(Problem) -> GateRequest.Report {
        .fail(
            reason: try text("reason", &reader, atMost: RouterLimits.gateTextBytes),
            message: try text("message", &reader, atMost: RouterLimits.progressTextBytes))
    }

    /// A text that is not empty, if the member is present.
    private static func text(
        _ key: String, _ reader: inout ObjectReader, atMost limit: Int
    ) throws(Problem) -> String? {
        guard let text = try reader.string(key) else { return nil }
        guard (1...limit).contains(text.utf8.count) else { throw reader.invalid(key, "must have 1 to \(limit) bytes") }
        return text
    }

    /// - Parameter paused: How many notifications wait in the lanes of its sessions.
    static func write(_ gate: OnboardingGate, held: Int, paused: Int = 0, to object: inout JSONObjectWriter) {
        for member in gate.json.members { object.field(member.key, member.value) }
        object.field("held", held)
        if paused > 0 { object.field("paused", paused) }
    }

    /// The number of sessions at a gate that are in demo mode, and the first of them, if there are any.
    static func write(_ demos: Set<SessionID>, to gate: inout JSONObjectWriter) {
        guard !demos.isEmpty else { return }
        gate.field("inDemo", demos.count)
        gate.array("demoSessions") { list in
            for session in demos.sorted().prefix(DaemonLimits.demosShown) { list.element(session) }
        }
    }

    /// The contents of a welcome screen.
    static func write(
        _ settings: OnboardingSettings, at gate: OnboardingGate, in languages: [String],
        to welcome: inout JSONObjectWriter
    ) {
        welcome.field("configured", settings.isConfigured || gate.configuration != nil)
        welcome.field("demoConfiguration", settings.demoConfiguration)
        welcome.object("prompts") { prompts in
            settings.prompts.write(Prompt.welcome, in: languages, to: &prompts)
        }
    }
}

extension PromptTexts {
    /// Writes texts in the first of the languages that has them.
    func write(_ prompts: [Prompt], in languages: [String], to object: inout JSONObjectWriter) {
        for prompt in prompts { object.field(prompt.rawValue, text(of: prompt, in: languages)) }
    }
}
