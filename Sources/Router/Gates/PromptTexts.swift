import RouterPlugin

/// What a welcome screen says.
package enum Prompt: String, CaseIterable, Hashable, Sendable {
    /// The headline.
    case title
    /// What stands below it.
    case message
    /// The way into onboarding.
    case start
    /// The way into demo mode.
    case demo
    /// In place of the way in, where the application is not configured.
    case configure
    /// What those show that wait.
    case switchWindow

    /// What it says where the application says nothing.
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

/// The texts of prompts that an application has chosen, by language.
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

    /// In the order in which they were given.
    package var entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The text in that language, or else in the one that it is a variety of, or else the standard one.
    ///
    /// - Parameter language: A language tag; nil asks for the standard texts.
    package func text(of prompt: Prompt, in language: String?) -> String {
        var tag = language?.lowercased() ?? ""
        while !tag.isEmpty {
            if let entry = entries.first(where: { $0.prompt == prompt && $0.language.isSame(as: tag) }) {
                return entry.text
            }
            // RFC 4647, 3.4: one part after the other is taken away.
            tag = tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
        }
        return prompt.standardText
    }
}
