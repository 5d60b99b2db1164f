import RouterPlugin

/// The gates that an application has enabled. A gate that is not enabled is always open.
package struct GateSettings: Hashable, Sendable {
    package var onboarding: OnboardingSettings?
    /// The policy for passcodes; nil if the application has none. Passcodes require onboarding.
    package var passcode: PasscodePolicy?

    package init(onboarding: OnboardingSettings? = nil, passcode: PasscodePolicy? = nil) {
        self.onboarding = onboarding
        self.passcode = passcode
    }
}

/// Settings for the onboarding of people by an application.
package struct OnboardingSettings: Hashable, Sendable {
    /// Whether the application has everything that onboarding needs, such as its servers; if not, each device has to be
    /// configured first, and its gate does not open before.
    package var isConfigured: Bool
    /// The scene configuration whose sessions alone participate in demo mode; nil outside demo mode.
    package var demoConfiguration: String?
    /// Whether the end of the last scene counts as the end of a process, so that a returning person is restored.
    package var closesWithLastScene: Bool
    /// Whether scenes in the background of an open application are covered.
    package var coversInBackground: Bool
    /// Whether notifications that wait for a gate when it is reset are kept for the next person.
    package var keepsHeldOnReset: Bool
    package var prompts: PromptTexts

    package init(
        isConfigured: Bool = true, demoConfiguration: String? = nil, closesWithLastScene: Bool = false,
        coversInBackground: Bool = false, keepsHeldOnReset: Bool = false, prompts: PromptTexts = PromptTexts()
    ) {
        self.isConfigured = isConfigured
        self.demoConfiguration = demoConfiguration
        self.closesWithLastScene = closesWithLastScene
        self.coversInBackground = coversInBackground
        self.keepsHeldOnReset = keepsHeldOnReset
        self.prompts = prompts
    }

    /// Whether a session participates in opening the gate.
    package func involves(_ session: SceneSession) -> Bool {
        demoConfiguration.map { $0.isSame(as: session.configuration) } ?? true
    }
}
