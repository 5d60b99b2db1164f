import RouterPlugin

/// The least of the template language that shows whether the places of a preset's template exist in a payload.
struct TemplateText {
    let text: String

    init(_ text: String) { self.text = text }

    /// The text with every place filled in; nil if one of them has no string or number.
    func filled(from payload: JSONValue, attributes: [SourceEvent.Attribute] = []) -> String? {
        var filled = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest.firstIndex(of: "}") {
            filled += rest[..<open]
            let places = rest[rest.index(after: open)..<close].split(separator: "|")
            let values = places.lazy.compactMap { place in
                place.hasPrefix("attribute.")
                    ? attributes.first { $0.name == place.dropFirst("attribute.".count) }?.value
                    : Self.value(at: place, in: payload)
            }
            guard let value = values.first else { return nil }
            filled += value
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }

    private static func value(at place: Substring, in payload: JSONValue) -> String? {
        var value: JSONValue? = payload
        for key in place.split(separator: ".") { value = value?[String(key)] }
        return switch value {
        case .string(let text)?: text
        case .number(let number)?: number.text
        default: nil
        }
    }
}
