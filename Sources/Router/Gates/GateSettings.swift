import RouterPlugin

/// The gates that an application has enabled. A gate that is not enabled is always open.
package struct GateSettings: Hashable, Sendable {
    package var onboarding: OnboardingSettings?
    /// The policy for passcodes; nil if the application has none. Passcodes require onboarding.
    package var passcode: PasscodePolicy?
    /// The issuers whose tokens stand in for the passcode.
    package var issuers: [ProofIssuer] {
        get { substitutes[Substitutes()].issuers }
        set { substitutes[Substitutes()].issuers = newValue }
    }
    /// The relying party whose authenticators stand in for the passcode.
    package var relyingParty: RelyingParty? {
        get { substitutes[Substitutes()].relyingParty }
        set { substitutes[Substitutes()].relyingParty = newValue }
    }
    private var substitutes: RareValue<Substitutes>

    /// The settings that few applications have: one word in the copies of an application.
    private struct Substitutes: Hashable, Sendable {
        var issuers: [ProofIssuer] = []
        var relyingParty: RelyingParty?
    }

    package init(
        onboarding: OnboardingSettings? = nil, passcode: PasscodePolicy? = nil, issuers: [ProofIssuer] = [],
        relyingParty: RelyingParty? = nil
    ) {
        self.onboarding = onboarding
        self.passcode = passcode
        substitutes = RareValue(Substitutes(issuers: issuers, relyingParty: relyingParty), unless: Substitutes())
    }

    /// The texts for people.
    package var prompts: PromptTexts { onboarding?.prompts ?? PromptTexts() }
}

/// Settings for the onboarding of people by an application.
package struct OnboardingSettings: Hashable, Sendable {
    /// Whether the application has everything that onboarding needs, such as its servers; if not, each device has to be
    /// configured first, and its gate does not open before.
    package var isConfigured: Bool
    /// The scene configuration that a session has while it shows the demo; nil if the application has no demo.
    package var demoConfiguration: String? {
        get { texts[Texts()].demoConfiguration }
        set { texts[Texts()].demoConfiguration = newValue }
    }
    /// Whether the end of the last scene counts as the end of a process, so that a returning person is restored.
    package var closesWithLastScene: Bool
    /// Whether scenes in the background of an open application are covered.
    package var coversInBackground: Bool
    /// Whether notifications that wait for a gate when it is reset are kept for the next person.
    package var keepsHeldOnReset: Bool
    package var prompts: PromptTexts {
        get { texts[Texts()].prompts }
        set { texts[Texts()].prompts = newValue }
    }
    private var texts: RareValue<Texts>

    /// The settings that few applications have: one word in the copies of an application.
    private struct Texts: Hashable, Sendable {
        var demoConfiguration: String?
        var prompts = PromptTexts()
    }

    package init(
        isConfigured: Bool = true, demoConfiguration: String? = nil, closesWithLastScene: Bool = false,
        coversInBackground: Bool = false, keepsHeldOnReset: Bool = false, prompts: PromptTexts = PromptTexts()
    ) {
        self.isConfigured = isConfigured
        self.closesWithLastScene = closesWithLastScene
        self.coversInBackground = coversInBackground
        self.keepsHeldOnReset = keepsHeldOnReset
        texts = RareValue(Texts(demoConfiguration: demoConfiguration, prompts: prompts), unless: Texts())
    }
}
