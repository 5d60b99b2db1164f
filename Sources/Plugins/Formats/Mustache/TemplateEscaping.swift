internal import Mustache
import RouterPlugin

/// The escaping of values in a template, by the content type of the body.
///
///     content type                        {{value}}                           {{{value}}}
///     application/json, …+json            the inside of a JSON string         a whole JSON value, quotes included
///     text/html, application/xml, …+xml   < > & " ' as entities               as it is
///     application/x-www-form-urlencoded   percent-encoded                     as it is
///     other text/…                        as it is                            as it is
///
/// So in JSON a value cannot break out, with either kind of tag: `"title": "{{title}}"` and `"title": {{{title}}}`
/// write the same for a string.
enum TemplateEscaping: String, CaseIterable, Sendable {
    case json
    case markup
    case form
    case text

    /// Completes "The field contentType …".
    static let accepted =
        "must be JSON (application/json or +json), text/…, application/xml, +xml or application/x-www-form-urlencoded"

    /// The escaping of a content type; nil if templates cannot write it.
    init?(of contentType: String) {
        let isValue = contentType.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let type = MediaType.essence(of: contentType)
        guard isValue, !type.isEmpty else { return nil }
        if MediaType.isJSON(type) {
            self = .json
        } else if type == "text/html" || type == "text/xml" || type == "application/xml" || type.hasSuffix("+xml") {
            self = .markup
        } else if type == "application/x-www-form-urlencoded" {
            self = .form
        } else if type.hasPrefix("text/") {
            self = .text
        } else {
            return nil
        }
    }

    /// The template, with this escaping for all of it.
    func parse(_ text: String) throws(TemplateFault) -> MustacheTemplate {
        try TemplateFault.check(text)
        Self.registerAll
        do {
            // Standing alone, the pragma takes its line away with it.
            return try MustacheTemplate(string: "{{% CONTENT_TYPE:\(registeredName)}}\n" + text)
        } catch {
            throw TemplateFault(parsing: error)
        }
    }

    private var registeredName: String { "ROUTERD-\(rawValue)" }

    /// Makes the escapings known to the library, once. They are values that depend on nothing.
    private static let registerAll: Void = {
        for escaping in allCases {
            MustacheContentTypes.register(EscapingContentType(escaping: escaping), named: escaping.registeredName)
        }
    }()

    /// The text of a value as it stands in the output, but for the escapes of `{{value}}`.
    func text(of value: JSONValue) -> String {
        switch (self, value) {
        case (.json, _): String(decoding: value.serialized(), as: UTF8.self)
        case (_, .null): ""
        case (_, .string(let text)): text
        default: String(decoding: value.serialized(), as: UTF8.self)
        }
    }

    /// The text of a value for a tag with two braces.
    func escaped(_ text: String) -> String {
        switch self {
        case .json: Self.insideOfString(text)
        case .markup: Self.entities(text)
        case .form: PercentEncoding.component(text)
        case .text: text
        }
    }

    /// A string that is JSON already loses its quotes; null says nothing; all else becomes the text of a string.
    private static func insideOfString(_ text: String) -> String {
        if text == "null" { return "" }
        if text.utf8.first == UInt8(ascii: "\"") { return String(text.utf8.dropFirst().dropLast()) ?? "" }
        var bytes: [UInt8] = []
        JSONWriter.append(string: text, to: &bytes)
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    private static func entities(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

private struct EscapingContentType: MustacheContentType {
    let escaping: TemplateEscaping

    func escapeText(_ text: String) -> String { escaping.escaped(text) }
}
