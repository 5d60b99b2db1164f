import RouterPlugin

/// A text for people, on the welcome screen or on a screen of a passcode.
package enum Prompt: String, CaseIterable, Hashable, Sendable {
    /// The headline of the welcome screen.
    case title
    /// The text below the headline.
    case message
    /// The label that starts onboarding.
    case start
    /// The label that starts demo mode.
    case demo
    /// The text in place of `start` while the application is not configured.
    case configure
    /// The text that waiting sessions show.
    case switchWindow

    /// The text above the entry of a first passcode.
    case createPasscode
    /// The text above its second entry.
    case confirmPasscode
    /// The text above the entry of the passcode.
    case enterPasscode
    /// The text above the entry of the present passcode, before another one is chosen.
    case changePasscode
    /// The text above the entry of that other one.
    case newPasscode
    /// The label for the key of the device.
    case useDeviceKey
    /// The question whether the key of the device is to stand in for the passcode.
    case allowDeviceKey
    /// The label that says yes to it.
    case enableDeviceKey
    /// The label that says no to it.
    case skipDeviceKey

    /// The message of a wrong passcode.
    case invalidPasscode
    /// The message of a try that comes too soon.
    case tooManyTries
    /// The message after the last try.
    case retryLimitReached
    /// The message of two entries that differ.
    case failedToMatch
    /// The message of a change that leaves the passcode as it is.
    case passcodeUnchanged
    // The messages of the policy's rules, named as they are.
    case minLength, isDigitsOnly, hasDigit, hasUpper, hasLower, hasSpecial, minUniqueChars

    /// The texts of the welcome screen.
    package static let welcome: [Prompt] = [.title, .message, .start, .demo, .configure, .switchWindow]
    /// The texts of the screens of a passcode, and the messages there.
    package static let passcode: [Prompt] = allCases.filter { !welcome.contains($0) }

    /// The place of a number in the message of a rule.
    package static let minimumPlace = "{minimum}"

    /// The text used if the application provides none.
    package var standardText: String {
        switch self {
        case .title: "Welcome"
        case .message: "Follow the steps to begin."
        case .start: "Start"
        case .demo: "Try the demo"
        case .configure: "Set up the application first."
        case .switchWindow: "Go on in the other window."
        case .createPasscode: "Choose a passcode."
        case .confirmPasscode: "Enter the passcode again."
        case .enterPasscode: "Enter your passcode."
        case .changePasscode: "Enter your present passcode."
        case .newPasscode: "Choose a new passcode."
        case .useDeviceKey: "Use the key of this device."
        case .allowDeviceKey: "Use the key of this device instead of the passcode?"
        case .enableDeviceKey: "Use it"
        case .skipDeviceKey: "Not now"
        case .invalidPasscode: "The passcode is wrong."
        case .tooManyTries: "Passcodes are not tried that fast; wait."
        case .retryLimitReached: "There are no tries left: the application is reset."
        case .failedToMatch: "The two passcodes are not the same."
        case .passcodeUnchanged: "The new passcode is the present one."
        case .minLength: "The passcode must have at least {minimum} characters."
        case .isDigitsOnly: "The passcode must have digits only."
        case .hasDigit: "The passcode must have a digit."
        case .hasUpper: "The passcode must have an upper-case letter."
        case .hasLower: "The passcode must have a lower-case letter."
        case .hasSpecial: "The passcode must have a character that is neither a letter nor a number."
        case .minUniqueChars: "The passcode must have at least {minimum} different characters."
        }
    }
}

/// An application's own texts for prompts, by language.
package struct PromptTexts: Hashable, Sendable {
    /// A text in one language.
    package struct Entry: Hashable, Sendable {
        /// A language tag as in RFC 5646, in lower case, such as `de` or `de-at`; `*` for every language without a text.
        package var language: String
        package var prompt: Prompt
        package var text: String

        package init(language: String, prompt: Prompt, text: String) {
            self.language = language
            self.prompt = prompt
            self.text = text
        }
    }

    /// The name of the texts for languages that have none.
    package static let everyLanguage = "*"

    /// The entries in the order in which they were given.
    package var entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The text in the first of the languages that has one; a language that has none falls back to the one that it is a
    /// variety of. Failing all, the text for every language, and then the standard text.
    ///
    /// - Parameter languages: Language tags, the best one first.
    package func text(of prompt: Prompt, in languages: [String]) -> String {
        for language in languages + [Self.everyLanguage] {
            var tag = language.lowercased()
            while !tag.isEmpty {
                if let entry = entries.first(where: { $0.prompt == prompt && $0.language.isSame(as: tag) }) {
                    return entry.text
                }
                // RFC 4647, section 3.4: lookup drops one subtag at a time, from the end.
                tag = tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
            }
        }
        return prompt.standardText
    }
}
