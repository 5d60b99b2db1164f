import RouterPlugin

/// A text element of the welcome screen.
package enum Prompt: String, CaseIterable, Hashable, Sendable {
    /// The headline.
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

    /// The text used if the application provides none.
    package var standardText: String {
        switch self {
        case .title: "Welcome"
        case .message: "Follow the steps to begin."
        case .start: "Start"
        case .demo: "Try the demo"
        case .configure: "Set up the application first."
        case .switchWindow: "Go on in the other window."
        }
    }
}

/// An application's own texts for prompts, by language.
package struct PromptTexts: Hashable, Sendable {
    /// A text in one language.
    package struct Entry: Hashable, Sendable {
        /// A language tag as in RFC 5646, in lower case, such as `de` or `de-at`.
        package var language: String
        package var prompt: Prompt
        package var text: String

        package init(language: String, prompt: Prompt, text: String) {
            self.language = language
            self.prompt = prompt
            self.text = text
        }
    }

    /// The entries in the order in which they were given.
    package var entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The text in a language; failing that, in the language that it is a variety of; failing that, the standard text.
    ///
    /// - Parameter language: A language tag; nil selects the standard text.
    package func text(of prompt: Prompt, in language: String?) -> String {
        var tag = language?.lowercased() ?? ""
        while !tag.isEmpty {
            if let entry = entries.first(where: { $0.prompt == prompt && $0.language.isSame(as: tag) }) {
                return entry.text
            }
            // RFC 4647, section 3.4: lookup drops one subtag at a time, from the end.
            tag = tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
        }
        return prompt.standardText
    }
}
