import RouterPlugin

/// The gates that an application has switched on. One that it has not is always open.
package struct GateSettings: Hashable, Sendable {
    package var onboarding: OnboardingSettings?
    /// What is asked of passcodes; nil if there are none. There are none without onboarding.
    package var passcode: PasscodePolicy?

    package init(onboarding: OnboardingSettings? = nil, passcode: PasscodePolicy? = nil) {
        self.onboarding = onboarding
        self.passcode = passcode
    }
}

/// How an application takes people on.
package struct OnboardingSettings: Hashable, Sendable {
    /// Whether it knows all that it takes, such as its servers; if not, the welcome screen asks for that first.
    package var isConfigured: Bool
    /// In demo mode the scene configuration whose sessions take part, and no others; nil otherwise.
    package var demoConfiguration: String?
    /// Whether the end of the last scene counts as the end of a process: who comes back is restored.
    package var closesWithLastScene: Bool
    package var prompts: PromptTexts

    package init(
        isConfigured: Bool = true, demoConfiguration: String? = nil, closesWithLastScene: Bool = false,
        prompts: PromptTexts = PromptTexts()
    ) {
        self.isConfigured = isConfigured
        self.demoConfiguration = demoConfiguration
        self.closesWithLastScene = closesWithLastScene
        self.prompts = prompts
    }

    /// Whether a session has a part in opening the gate.
    package func involves(_ session: SceneSession) -> Bool {
        demoConfiguration.map { $0.isSame(as: session.configuration) } ?? true
    }
}
