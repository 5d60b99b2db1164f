/// The refusal of a template or a table of templates, with its place.
///
/// Templates are checked when they are made; evaluation never throws. Templates hold no secrets, so an error may quote
/// the template.
public struct TemplateError: Error, Hashable, Sendable {
    /// The reason. Its `rawValue` is stable and meant for programs.
    public let code: Code
    /// One or two sentences for people.
    public let message: String
    /// RFC 6901: the template at fault, as seen from the table; `""` is a template alone or the whole table.
    public let pointer: String
    /// Start of the fault in bytes of the template's text; nil if the fault is not in the text of one template.
    public let offset: Int?
    /// Bytes at fault.
    public let length: Int
    /// The template's text, for the caret.
    let text: String?

    /// A fault in the text of a template.
    init(_ code: Code, _ message: String, at range: Range<Int>, of text: String) {
        self.code = code
        self.message = message
        pointer = ""
        offset = range.lowerBound
        length = range.count
        self.text = text
    }

    /// A fault of a table.
    init(_ code: Code, _ message: String, pointer: String) {
        self.code = code
        self.message = message
        self.pointer = pointer
        offset = nil
        length = 0
        text = nil
    }

    private init(_ error: TemplateError, pointer: String) {
        code = error.code
        message = error.message
        self.pointer = pointer
        offset = error.offset
        length = error.length
        text = error.text
    }

    /// The same error as seen from a document that holds the template or the table at that pointer.
    public func within(_ pointer: String) -> TemplateError {
        TemplateError(self, pointer: pointer + self.pointer)
    }
}

extension TemplateError {
    /// The reasons.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        /// The text is empty.
        case emptyTemplate = "empty-template"
        /// The text is longer than `TemplateLimits.textBytes`.
        case templateTooLong = "template-too-long"
        /// The text has a control character.
        case controlCharacter = "control-character"
        /// A `}` that closes no hole.
        case unmatchedBrace = "unmatched-brace"
        /// A `%` right before a hole or at the end of a default, so that a value would complete a percent-encoded byte.
        case openPercent = "open-percent"
        /// A hole without its `}`.
        case unterminatedHole = "unterminated-hole"
        /// A quoted text without its closing quote.
        case unterminatedQuote = "unterminated-quote"
        /// A hole without a path.
        case emptyHole = "empty-hole"
        /// An alternative without a path.
        case emptyAlternative = "empty-alternative"
        /// A default without text.
        case emptyDefault = "empty-default"
        /// An alternative after the default.
        case defaultNotLast = "default-not-last"
        /// A dot without a name before or behind it.
        case emptyName = "empty-name"
        /// A character that cannot stand at this place of a hole.
        case unexpectedCharacter = "unexpected-character"
        /// Brackets that hold neither an index, `LAST` nor a quoted name.
        case invalidIndex = "invalid-index"
        /// `header`, `query` or `attribute` without a name.
        case missingName = "missing-name"
        /// A member or element of a value that is text alone.
        case noMembers = "no-members"
        /// A header or query parameter that carries a secret.
        case secretName = "secret-name"
        /// A word behind `:` other than `segment`.
        case unknownEncoding = "unknown-encoding"
        /// A hole with both `+` and `:segment`.
        case conflictingEncoding = "conflicting-encoding"
        /// More holes than `TemplateLimits.holes`.
        case tooManyHoles = "too-many-holes"
        /// A hole with more alternatives than `TemplateLimits.alternatives`.
        case tooManyAlternatives = "too-many-alternatives"
        /// A path with more steps than `TemplateLimits.pathSteps`.
        case pathTooLong = "path-too-long"

        /// A table that is neither a string nor an object of strings.
        case wrongType = "wrong-type"
        /// A table without templates.
        case emptyTable = "empty-table"
        /// A table with more templates than `TemplateLimits.tableEntries`.
        case tooManyTemplates = "too-many-templates"
        /// A key of a table that is no type of event.
        case invalidEventType = "invalid-event-type"
    }
}

extension TemplateError: CustomStringConvertible {
    /// The message with its code and place on one line.
    public var description: String {
        let place = [pointer.isEmpty ? nil : pointer, offset.map { "byte \($0)" }].compactMap { $0 }
        return "\(message) (\(([code.rawValue] + place).joined(separator: ", ")))"
    }
}
