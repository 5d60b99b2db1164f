internal import Mustache

/// The reason why a text is not a template.
struct TemplateFault: Error, Hashable, Sendable {
    /// The greatest template in bytes.
    static let maximumBytes = 16 * 1024
    /// The most sections of a template, which is also the deepest that they can nest.
    static let maximumSections = 64
    /// The most functions around one name.
    static let maximumFunctions = 8

    /// Completes "The field template …".
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// The reason of the library, at its place in the text; the pragma's line is not the template's.
    init(parsing error: any Error) {
        guard let error = error as? MustacheTemplate.ParserError else {
            self.init("cannot be read as a Mustache template")
            return
        }
        let line = max(1, error.context.lineNumber - 1)
        let fault =
            switch error.error as? MustacheTemplate.Error {
            case .sectionCloseNameIncorrect: "a section is closed by another name than its own"
            case .unfinishedName: "a tag is not a name, with functions or without, followed by its closing braces"
            case .expectedSectionEnd: "a section is not closed"
            default: "a tag is not complete"
            }
        self.init("is no Mustache template: \(fault) (line \(line), column \(error.context.columnNumber))")
    }

    /// Refuses constructs that the library would take and this format does not: reading a template takes stack for each
    /// section and function, and other delimiters, partials and pragmas would undo the escaping.
    static func check(_ text: String) throws(TemplateFault) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { throw TemplateFault("must not be empty") }
        guard bytes.count <= maximumBytes else {
            throw TemplateFault("has \(bytes.count) bytes; \(maximumBytes) are allowed")
        }
        let brace = UInt8(ascii: "{")
        var sections = 0
        var place = 0
        while place + 1 < bytes.count {
            guard bytes[place] == brace, bytes[place + 1] == brace else {
                place += 1
                continue
            }
            place += 2
            let tag = bytes[place...].prefix { $0 != UInt8(ascii: "}") }
            switch tag.first {
            case UInt8(ascii: "#"), UInt8(ascii: "^"): sections += 1
            case UInt8(ascii: "="): throw TemplateFault("must not change the delimiters of tags")
            case UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: "$"): throw TemplateFault("must not have partials")
            case UInt8(ascii: "%"):
                throw TemplateFault("must not have pragmas; the option contentType chooses the escaping")
            default: break
            }
            guard tag.count(where: { $0 == UInt8(ascii: "(") }) <= maximumFunctions else {
                throw TemplateFault("has a tag with more than \(maximumFunctions) functions")
            }
        }
        guard sections <= maximumSections else {
            throw TemplateFault("has \(sections) sections; \(maximumSections) are allowed")
        }
    }
}
