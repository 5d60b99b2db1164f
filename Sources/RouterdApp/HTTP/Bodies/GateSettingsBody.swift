import HTTPTypes
import Router
import RouterPlugin

/// The gates of an application on the wire.
enum GateSettingsBody {
    static func read(_ reader: ObjectReader, _ manifest: SceneManifest) throws(Problem) -> GateSettings {
        var reader = reader
        var gates = GateSettings()
        if var onboarding = try reader.object("onboarding") {
            var settings = OnboardingSettings()
            settings.isConfigured = try onboarding.bool("configured") ?? settings.isConfigured
            settings.demoConfiguration = try onboarding.string("demoConfiguration")
            if let name = settings.demoConfiguration, manifest.configuration(named: name) == nil {
                throw onboarding.invalid("demoConfiguration", "must name a scene configuration of the manifest")
            }
            settings.closesWithLastScene = try onboarding.bool("closesWithLastScene") ?? false
            settings.coversInBackground = try onboarding.bool("coversInBackground") ?? false
            settings.keepsHeldOnReset = try onboarding.bool("keepsHeldOnReset") ?? false
            if let prompts = onboarding.value("prompts") {
                settings.prompts = try readPrompts(prompts, at: onboarding.pointer(to: "prompts"))
            }
            try onboarding.finish()
            gates.onboarding = settings
        }
        if var passcode = try reader.object("passcode") {
            gates.passcode = try passcode.passcodePolicy()
            gates.issuers = try ProofIssuerBody.read(&passcode)
            gates.relyingParty = try RelyingPartyBody.read(&passcode)
            try passcode.finish()
            // A passcode is chosen during onboarding.
            gates.onboarding = gates.onboarding ?? OnboardingSettings()
        }
        try reader.finish()
        return gates
    }

    /// An object from languages to objects from prompts to texts, such as `{"de": {"title": "Willkommen"}}`.
    private static func readPrompts(_ value: JSONValue, at pointer: String) throws(Problem) -> PromptTexts {
        guard case .object(let languages) = value else {
            throw Problem(.badRequest, "not-an-object", "This must be a JSON object.", pointer: pointer)
        }
        guard languages.members.count <= RouterLimits.promptLanguages else {
            throw invalid("has more than \(RouterLimits.promptLanguages) languages", at: pointer)
        }
        var prompts = PromptTexts()
        var seen: Set<String> = []
        for member in languages.members {
            let language = member.key.lowercased()
            guard language == PromptTexts.everyLanguage || isLanguageTag(language) else {
                throw invalid("has keys that are no language tags", at: pointer)
            }
            guard seen.insert(language).inserted else {
                throw invalid("has the language \(language) twice", at: pointer)
            }
            var texts = try ObjectReader(member.value, at: "\(pointer)/\(member.key)")
            for prompt in Prompt.allCases {
                guard let text = try texts.string(prompt.rawValue) else { continue }
                guard text.utf8.count <= RouterLimits.promptBytes else {
                    throw texts.invalid(prompt.rawValue, "may have \(RouterLimits.promptBytes) bytes")
                }
                prompts.entries.append(PromptTexts.Entry(language: language, prompt: prompt, text: text))
            }
            try texts.finish()
        }
        return prompts
    }

    /// RFC 5646, loosely: parts of one to eight letters and digits.
    private static func isLanguageTag(_ text: String) -> Bool {
        guard text.utf8.count <= DaemonLimits.languageTagBytes else { return false }
        return text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).allSatisfy { part in
            (1...8).contains(part.count)
                && part.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        }
    }

    private static func invalid(_ reason: String, at pointer: String) -> Problem {
        Problem(.unprocessableContent, "invalid-field", "The field prompts \(reason).", pointer: pointer)
    }

    static func write(_ gates: GateSettings, to object: inout JSONObjectWriter) {
        if let policy = gates.passcode {
            object.object("passcode") { passcode in
                policy.write(to: &passcode)
                ProofIssuerBody.write(gates.issuers, to: &passcode)
                RelyingPartyBody.write(gates.relyingParty, to: &passcode)
            }
        }
        guard let settings = gates.onboarding else { return }
        object.object("onboarding") { onboarding in
            onboarding.field("configured", settings.isConfigured)
            onboarding.field("demoConfiguration", settings.demoConfiguration)
            onboarding.field("closesWithLastScene", settings.closesWithLastScene)
            onboarding.field("coversInBackground", settings.coversInBackground)
            onboarding.field("keepsHeldOnReset", settings.keepsHeldOnReset)
            onboarding.object("prompts") { prompts in
                for language in languages(of: settings.prompts) {
                    prompts.object(language) { texts in
                        for entry in settings.prompts.entries where entry.language.isSame(as: language) {
                            texts.field(entry.prompt.rawValue, entry.text)
                        }
                    }
                }
            }
        }
    }

    private static func languages(of prompts: PromptTexts) -> [String] {
        var languages: [String] = []
        for entry in prompts.entries where languages.last != entry.language { languages.append(entry.language) }
        return languages
    }
}
