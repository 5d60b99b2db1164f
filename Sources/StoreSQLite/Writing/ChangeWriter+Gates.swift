import GRDB
import Router
import RouterPlugin

extension ChangeWriter {
    private static let putGate = CheckedTable.gate.insert(
        GateReader.columns,
        end: """
            ON CONFLICT (application, device) DO UPDATE SET
              \(CheckedTable.gate.replacing(GateReader.changing))
            WHERE excluded.term >= gate.term
            """)

    func put(_ gate: OnboardingGate) throws {
        let written = try PreparedStatement(db, Self.putGate).run {
            $0.bind(gate.key.application.text)
            $0.bind(gate.key.device?.text ?? "")
            $0.bind(gate.state.rawValue)
            $0.bind(gate.responsible?.text)
            $0.bind(gate.term)
            $0.bind(gate.onboardingID)
            // Versions before operations had only one report, in this column.
            $0.bind(nil as String?)
            $0.bind(gate.forgottenThrough?.value)
            $0.bind(gate.configuration.map { String(decoding: $0.bytes, as: UTF8.self) })
            $0.bind(gate.operations.isEmpty ? nil : TextList.encode(gate.operations.map(GateReader.text)))
            $0.bind(gate.failure.map { GateReader.text($0) })
            $0.bind(gate.proof.map { GateReader.text($0) })
        }
        guard written == 1 else { throw StoreError(.conflict, "the term of the gate \(gate.key) falls") }
    }
}

extension ArgumentBinder {
    /// Six parameters: onboarding_configured, demo_configuration, closes_with_last_scene, prompts, keeps_held_on_reset,
    /// covers_in_background.
    mutating func bind(_ settings: OnboardingSettings?) {
        bind(settings.map { $0.isConfigured ? 1 : 0 })
        bind(settings?.demoConfiguration)
        bind(settings?.closesWithLastScene ?? false)
        let entries = settings?.prompts.entries ?? []
        bind(TextList.encode(entries.flatMap { [$0.language, $0.prompt.rawValue, $0.text] }))
        bind(settings?.keepsHeldOnReset == true ? 1 : nil)
        bind(settings?.coversInBackground == true ? 1 : nil)
    }
}
