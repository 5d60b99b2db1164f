import GRDB
import Router
import RouterPlugin

/// Reads gates.
enum GateReader {
    /// In the order in which they are written and read.
    static let columns = "application, device, state, responsible, term, onboarding_id, progress"

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
                    progress: try row.optionalText().map(progress)))
        }
        return gates
    }

    /// A report as a column has it.
    static func text(_ report: ProgressReport) -> String {
        TextList.encode(
            [
                report.operationID, report.step, String(report.currentStepNumber), String(report.totalNumberOfSteps),
                report.defaultMessage,
            ] + report.parameters)
    }

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
    /// onboarding_configured, demo_configuration, closes_with_last_scene, prompts, passcode_policy
    mutating func gates() throws(StoreError) -> GateSettings {
        let (isConfigured, demo, closes, prompts) = (optionalInt(), optionalText(), bool(), text())
        let passcode = try optionalText().map(PolicyText.decode)
        guard let isConfigured else { return GateSettings() }
        return GateSettings(
            onboarding: OnboardingSettings(
                isConfigured: isConfigured != 0, demoConfiguration: demo, closesWithLastScene: closes,
                prompts: try PromptTexts(list: prompts)),
            passcode: passcode)
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
