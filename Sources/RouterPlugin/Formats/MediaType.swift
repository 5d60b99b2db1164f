/// Questions about media types that formats ask.
public enum MediaType: Sendable {
    /// Whether content of the type is JSON: `application/json`, `text/json` and every type that ends in `+json`.
    public static func isJSON(_ contentType: String) -> Bool {
        let type = essence(of: contentType)
        return type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    }

    /// The type and subtype in lower case, without parameters.
    public static func essence(of contentType: String) -> String {
        let whole = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let trimmed = whole.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        let lower = trimmed.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 32 : $0 }
        return String(decoding: lower, as: UTF8.self)
    }
}
