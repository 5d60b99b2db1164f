/// Why bytes are not a JSON document that is taken here.
///
/// `message` never quotes the document, so it may be shown and logged even when the document holds secrets; `pointer`
/// names keys of the document and belongs to those who may see it.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Stable and in kebab-case, such as `json-trailing-comma`.
    public let code: String
    /// One sentence for people.
    public let message: String
    /// Where the fault is, in bytes from the start; the size of the document if it ends too early.
    public let offset: Int
    /// RFC 6901: the value in or right after which the fault is; `""` is the whole document. Nil if it would be long.
    public let pointer: String?

    init(_ fault: JSONFault, offset: Int, pointer: String?) {
        self.code = fault.rawValue
        self.message = fault.message
        self.offset = offset
        self.pointer = pointer
    }

    /// The message and the offset.
    public var description: String { "\(message) (\(code) at byte \(offset))" }
}

/// The rules that a document can break; the raw values are the stable codes.
enum JSONFault: String, CaseIterable, Sendable {
    case tooLong = "json-too-long"
    case byteOrderMark = "json-byte-order-mark"
    case otherEncoding = "json-not-utf-8"
    case unexpectedEnd = "json-unexpected-end"
    case unexpectedByte = "json-unexpected-byte"
    case trailingBytes = "json-trailing-bytes"
    case trailingComma = "json-trailing-comma"
    case tooDeep = "json-too-deep"
    case duplicateKey = "json-duplicate-key"
    case controlCharacter = "json-control-character"
    case invalidEscape = "json-invalid-escape"
    case loneSurrogate = "json-lone-surrogate"
    case invalidUTF8 = "json-invalid-utf-8"
    case invalidNumber = "json-invalid-number"
    case numberTooLong = "json-number-too-long"

    var message: String {
        switch self {
        case .tooLong: "The JSON document is larger than allowed."
        case .byteOrderMark: "A JSON document must not begin with a byte order mark."
        case .otherEncoding: "A JSON document must be UTF-8; this looks like UTF-16 or UTF-32."
        case .unexpectedEnd: "The JSON document ends too early."
        case .unexpectedByte: "This character cannot stand here in a JSON document."
        case .trailingBytes: "Something follows the end of the JSON document."
        case .trailingComma: "A comma must be followed by another member or element."
        case .tooDeep: "Arrays and objects are nested deeper than allowed."
        case .duplicateKey: "The object has the same key twice."
        case .controlCharacter: "A control character in a string must be escaped."
        case .invalidEscape: "The string has an escape that JSON does not know."
        case .loneSurrogate: "The string has an escaped half of a surrogate pair without the other half."
        case .invalidUTF8: "The string is not valid UTF-8."
        case .invalidNumber: "The number is not written as JSON writes numbers."
        case .numberTooLong: "The number has more characters than allowed."
        }
    }
}
