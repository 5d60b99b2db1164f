import RouterPlugin

/// A body of the type `application/x-www-form-urlencoded` (WHATWG URL, 5.1), read strictly: no field twice, every
/// escape complete, every text UTF-8, and no character that every writer of forms escapes.
///
/// A sender signs the body and not the content type. JSON with a text such as `&command=…` would be another message under the
/// content type of a form, but every JSON object has a brace and quotes.
struct FormBody {
    /// The fields in order.
    let fields: [(name: String, value: String)]

    /// Whether the request says that its body is a form.
    static func isForm(_ request: SourceRequest) throws(SourceError) -> Bool {
        guard let type = try request.header("content-type") else { return false }
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return essence.lowercased() == "application/x-www-form-urlencoded"
    }

    /// Reads a body.
    ///
    /// - Throws: `form-not-encoded`, `form-too-long`, `form-too-many-fields`, `form-bad-escape`, `form-not-utf-8`, `form-duplicate-field`.
    init(_ body: [UInt8]) throws(SourceError) {
        guard body.count <= SenderLimits.maximumFormBytes else {
            let message = "The form has more than \(SenderLimits.maximumFormBytes) bytes."
            throw SourceError(code: "form-too-long", message: message)
        }
        if let place = body.firstIndex(where: { $0 <= 0x20 || #""<>{}"#.utf8.contains($0) }) {
            let message =
                "The content type is that of a form, and the body is none: a form has spaces, quotes, braces and "
                + "angle brackets as %XX. JSON has the content type application/json."
            throw SourceError(code: "form-not-encoded", message: message, offset: place)
        }
        var fields: [(name: String, value: String)] = []
        for pair in body.split(separator: UInt8(ascii: "&")) {
            guard fields.count < SenderLimits.maximumFormFields else {
                let message = "The form has more than \(SenderLimits.maximumFormFields) fields."
                throw SourceError(code: "form-too-many-fields", message: message, offset: pair.startIndex)
            }
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = try Self.decoded(pair[..<equals])
            guard !fields.contains(where: { $0.name.isSame(as: name) }) else {
                let message = "The form has the same field twice."
                throw SourceError(code: "form-duplicate-field", message: message, offset: pair.startIndex)
            }
            fields.append((name, try Self.decoded(pair[equals...].dropFirst())))
        }
        self.fields = fields
    }

    /// The value of a field; nil if it is missing.
    func value(of name: String) -> String? { fields.first { $0.name.isSame(as: name) }?.value }

    /// The fields as an object of strings.
    func object() -> JSONObject {
        var object = JSONObject()
        for field in fields { object[field.name] = .string(field.value) }
        return object
    }

    private static func decoded(_ text: ArraySlice<UInt8>) throws(SourceError) -> String {
        var bytes: [UInt8] = []
        var place = text.startIndex
        while place < text.endIndex {
            switch text[place] {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard place + 2 < text.endIndex,
                    let high = SignatureEncoding.value(ofHexadecimal: text[place + 1]),
                    let low = SignatureEncoding.value(ofHexadecimal: text[place + 2])
                else {
                    let message = "A percent sign in the form must be followed by two hexadecimal digits."
                    throw SourceError(code: "form-bad-escape", message: message, offset: place)
                }
                bytes.append(high << 4 | low)
                place += 2
            case let byte: bytes.append(byte)
            }
            place += 1
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            let message = "A name or value of the form is not UTF-8."
            throw SourceError(code: "form-not-utf-8", message: message, offset: text.startIndex)
        }
        return decoded
    }
}
