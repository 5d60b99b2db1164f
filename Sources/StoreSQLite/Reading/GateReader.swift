import GRDB
import Router
import RouterPlugin

/// Reads gates.
enum GateReader {
    /// In the order in which they are written and read.
    static let columns = "application, device, " + changing
    /// The columns that are no part of the key.
    static let changing = """
        state, responsible, term, onboarding_id, progress, forgotten_through, configuration, operations, failure, proof
        """

    static func all(_ db: Database) throws -> [OnboardingGate] {
        var gates: [OnboardingGate] = []
        let select = "SELECT \(CheckedTable.gate.isSound), \(columns) FROM gate ORDER BY application, device"
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let (application, device) = (ApplicationID(unchecked: row.text()), row.text())
            let key = GateKey(application: application, device: device.isEmpty ? nil : DeviceID(unchecked: device))
            guard let state = OnboardingGate.State(rawValue: row.text()) else { throw damaged("state") }
            gates.append(
                OnboardingGate(
                    key, state: state, responsible: row.optionalText().map(SessionID.init(unchecked:)),
                    term: row.int64(), onboardingID: row.optionalText(),
                    progress: try row.optionalText().map(progress),
                    forgottenThrough: row.optionalInt64().map(NotificationSequence.init),
                    configuration: try row.optionalText().map(configuration),
                    operations: try row.optionalText().map(operations), failure: try row.optionalText().map(failure),
                    proof: try row.optionalText().map(proof)))
        }
        return gates
    }

    private static func configuration(_ text: String) throws(StoreError) -> JSONDocument {
        do { return try JSONDocument(parsing: Array(text.utf8)) } catch { throw damaged("configuration") }
    }

    /// A report as an element of a column.
    static func text(_ report: ProgressReport) -> String {
        TextList.encode(
            [
                report.operationID, report.step, String(report.currentStepNumber), String(report.totalNumberOfSteps),
                report.defaultMessage, optional(report.time), report.failure?.status.map(String.init) ?? "",
                optional(report.failure?.reason),
            ] + report.parameters)
    }

    /// A failure as a column has it.
    static func text(_ failure: GateFailure) -> String {
        TextList.encode([failure.session.text, optional(failure.reason), optional(failure.message)])
    }

    /// A text that may be missing: nil is empty, and a text begins with an equals sign.
    private static func optional(_ text: String?) -> String { text.map { "=" + $0 } ?? "" }

    private static func optional(_ kept: String) -> String? {
        kept.isEmpty ? nil : String(kept.unicodeScalars.dropFirst())
    }

    private static func operations(_ text: String) throws(StoreError) -> [ProgressReport] {
        var reports: [ProgressReport] = []
        for element in try TextList.decode(text) {
            let texts = try TextList.decode(element)
            guard texts.count >= 8, let current = Int(texts[2]), let total = Int(texts[3]) else {
                throw damaged("report")
            }
            reports.append(
                ProgressReport(
                    operationID: texts[0], step: texts[1], currentStepNumber: current, totalNumberOfSteps: total,
                    parameters: Array(texts[8...]), defaultMessage: texts[4], time: optional(texts[5]),
                    failure: optional(texts[7]).map { RequestFailure(status: Int(texts[6]), reason: $0) }))
        }
        return reports
    }

    private static func failure(_ text: String) throws(StoreError) -> GateFailure {
        let texts = try TextList.decode(text)
        guard texts.count == 3 else { throw damaged("failure") }
        return GateFailure(
            session: SessionID(unchecked: texts[0]), reason: optional(texts[1]), message: optional(texts[2]))
    }

    /// A proof as a column has it.
    static func text(_ proof: UnlockProof) -> String { TextList.encode([proof.issuer, proof.subject]) }

    private static func proof(_ text: String) throws(StoreError) -> UnlockProof {
        let texts = try TextList.decode(text)
        guard texts.count == 2 else { throw damaged("proof") }
        return UnlockProof(issuer: texts[0], subject: texts[1])
    }

    /// The only report that earlier versions have kept.
    private static func progress(_ text: String) throws(StoreError) -> ProgressReport {
        let texts = try TextList.decode(text)
        guard texts.count >= 5, let current = Int(texts[2]), let total = Int(texts[3]) else {
            throw damaged("report")
        }
        return ProgressReport(
            operationID: texts[0], step: texts[1], currentStepNumber: current, totalNumberOfSteps: total,
            parameters: Array(texts[5...]), defaultMessage: texts[4])
    }

    private static func damaged(_ what: String) -> StoreError {
        StoreError(.corrupt, "a gate in the database has an unknown \(what)")
    }
}

extension ColumnReader {
    /// onboarding_configured, demo_configuration, closes_with_last_scene, prompts, keeps_held_on_reset,
    /// covers_in_background, passcode_policy
    mutating func gates() throws(StoreError) -> GateSettings {
        let (isConfigured, demo, closes, prompts) = (optionalInt(), optionalText(), bool(), text())
        let (keepsHeld, covers) = (optionalInt() != nil, optionalInt() != nil)
        let policy = optionalText()
        guard let isConfigured else { return GateSettings() }
        var gates = GateSettings(
            onboarding: OnboardingSettings(
                isConfigured: isConfigured != 0, demoConfiguration: demo, closesWithLastScene: closes,
                coversInBackground: covers, keepsHeldOnReset: keepsHeld,
                prompts: try PromptTexts(list: prompts)))
        if let policy { try PolicyText.decode(policy, into: &gates) }
        return gates
    }

    /// held_by; the gate is one of the application's.
    mutating func gate(of application: ApplicationID) -> GateKey? {
        optionalText().map { GateKey(application: application, device: $0.isEmpty ? nil : DeviceID(unchecked: $0)) }
    }
}

extension PromptTexts {
    fileprivate init(list: String) throws(StoreError) {
        var texts = try TextList.decode(list)[...]
        self.init()
        while let language = texts.popFirst() {
            guard let prompt = texts.popFirst().flatMap(Prompt.init(rawValue:)), let text = texts.popFirst() else {
                throw StoreError(.corrupt, "a prompt in the database cannot be read")
            }
            entries.append(Entry(language: language, prompt: prompt, text: text))
        }
    }
}
