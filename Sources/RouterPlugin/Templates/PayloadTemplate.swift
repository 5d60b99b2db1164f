/// A text with holes that values of an event fill, such as
/// `github://{repository.full_name}/issues/{issue.number|pull_request.number}`.
///
///     template    = 1*( literal / "{{" / "}}" / hole )
///     hole        = "{" [ "+" ] alternative *( "|" alternative ) [ ":segment" ] "}"
///     alternative = path / default            a default is the last alternative
///     path        = ( name / bracket ) *( "." name / bracket )
///     bracket     = "[" ( index / "LAST" / quoted ) "]"
///     default     = quoted                    not empty
///     quoted      = "'" *( character / "''" ) "'"
///     name        = 1*( letter / digit / "_" / "-" / "$" / "@" )     in ASCII; other names are quoted
///
/// A hole takes the first alternative that is there. Strings stand for themselves, numbers for their text as written,
/// booleans for `true` and `false`; null, an empty string, an array and an object count as not there.
///
/// The first name of a path chooses where it leads:
///
/// | path | value |
/// |---|---|
/// | `header.NAME` | the request's header field, in upper or lower case; not there if it occurs twice |
/// | `query.NAME` | the request's query parameter, percent-decoded; not there if it occurs twice |
/// | `attribute.NAME` | the event's attribute, in upper or lower case |
/// | `type` | the event's type |
/// | `payload.PATH` | the payload's value, also for members called `header`, `query`, `attribute`, `type`, `payload` |
/// | any other | the payload's value |
///
/// Values are percent-encoded byte by byte, so that a value cannot change the structure that the literals write:
///
/// | hole | bytes of the value that stay |
/// |---|---|
/// | `{x}` | letters, digits, `-`, `.`, `_`, `~`; and `/` between two characters other than `/` |
/// | `{x:segment}` | letters, digits, `-`, `.`, `_`, `~` |
/// | `{+x}` | those, `:/?#[]@!$&'()*+,;=`, and `%` before two hexadecimal digits |
///
/// `{x}` gives `octo/hello` for `octo/hello`, and `%2Fa%3Fb%20c` for `/a?b c`. A value of `{x}` or `{x:segment}` that
/// would make a segment `.` or `..` leaves the template without a result, since clients of URLs shorten such segments
/// even when their dots are encoded. `{+x}` is for values that are URIs themselves: they may add structure, and still
/// no space, control character or non-ASCII character. Literals and defaults stand as they are written; they have no
/// control characters.
///
/// A template is immutable. Evaluation takes work in proportion to the template, the depth of its paths, the header
/// fields and the length of the result.
public struct PayloadTemplate: Hashable, Sendable, CustomStringConvertible {
    let parts: [TemplatePart]

    /// Reads a template.
    ///
    /// - Throws: the first fault with its place.
    public init(_ text: String) throws(TemplateError) {
        var parser = TemplateParser(text)
        parts = try parser.template()
    }

    /// The template as text; reading it gives an equal template.
    public var description: String { parts.map(\.text).joined() }
}

/// A stretch of a template.
enum TemplatePart: Hashable, Sendable {
    /// Text that stands as it is, without doubled braces. No two literals are neighbours.
    case literal(ByteExactText)
    /// A value's place.
    case hole(TemplateHole)

    var text: String {
        switch self {
        case .literal(let literal):
            String(literal.text.unicodeScalars.map { $0 == "{" ? "{{" : $0 == "}" ? "}}" : String($0) }.joined())
        case .hole(let hole): hole.text
        }
    }
}

/// A place that a value fills.
struct TemplateHole: Hashable, Sendable {
    var encoding: TemplateEncoding
    /// Paths in order of preference.
    var paths: [TemplatePath]
    /// The text for an event that has none of the paths.
    var fallback: ByteExactText?

    var text: String {
        let alternatives = paths.map(\.description) + [fallback.map { TemplatePath.quoted($0.text) }].compactMap { $0 }
        let inner = alternatives.joined(separator: "|")
        return switch encoding {
        case .segments: "{\(inner)}"
        case .segment: "{\(inner):segment}"
        case .reserved: "{+\(inner)}"
        }
    }
}
