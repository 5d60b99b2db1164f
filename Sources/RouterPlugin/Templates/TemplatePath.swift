/// The address of a value that a template takes: `issue.number`, `header.x-request-id`, `commits[LAST].id`.
///
///     issue.labels[0]['display name']     member, member, element, member
///
/// Printing and reading a path gives an equal one. Names are compared by their bytes.
public struct TemplatePath: Hashable, Sendable, CustomStringConvertible {
    /// The values that a template can reach.
    enum Root: Hashable, Sendable {
        /// The document, by steps from its root.
        case payload([Step])
        /// A header field of the request; the name is in lower case.
        case header(ByteExactText)
        /// A query parameter of the request.
        case query(ByteExactText)
        /// An attribute of the event; the name is in lower case.
        case attribute(ByteExactText)
        /// The event's type.
        case type
    }

    /// A step from a value of the document to a value within it.
    enum Step: Hashable, Sendable {
        /// The member of an object.
        case member(ByteExactText)
        /// The element of an array.
        case element(Int)
        /// The last element of an array.
        case last
    }

    /// Names that begin a path to something other than the payload, and the payload's own.
    static let reservedNames = ["payload", "header", "query", "attribute", "type"]

    let root: Root

    init(_ root: Root) {
        self.root = root
    }

    /// The path as it stands in a template.
    public var description: String {
        switch root {
        case .payload(let steps): Self.text(of: steps)
        case .header(let name): "header" + Self.text(of: .member(name))
        case .query(let name): "query" + Self.text(of: .member(name))
        case .attribute(let name): "attribute" + Self.text(of: .member(name))
        case .type: "type"
        }
    }

    private static func text(of steps: [Step]) -> String {
        guard let first = steps.first else { return "payload" }
        let text = steps.map(text(of:)).joined()
        guard case .member(let name) = first, isPlain(name.text) else { return text }
        return reservedNames.contains(name.text) ? "payload" + text : String(text.dropFirst())
    }

    private static func text(of step: Step) -> String {
        switch step {
        case .member(let name): isPlain(name.text) ? ".\(name.text)" : "[\(quoted(name.text))]"
        case .element(let index): "[\(index)]"
        case .last: "[LAST]"
        }
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(isNameByte)
    }

    /// Whether a name with that byte needs no quotes.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "$"), UInt8(ascii: "@"): true
        default: false
        }
    }

    /// The text in quotes; a quote within is doubled. By scalars: a quote and a combining mark behind it are one
    /// `Character`, and still the quote would end the text when it is read.
    static func quoted(_ text: String) -> String {
        "'" + String(text.unicodeScalars.map { $0 == "'" ? "''" : String($0) }.joined()) + "'"
    }
}
