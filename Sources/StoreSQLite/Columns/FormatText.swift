import Router
import RouterPlugin

/// The text by which the format of an endpoint is kept.
enum FormatText {
    /// Nil for the standard format, which nearly all endpoints have.
    static func encode(_ format: DeliveryFormatChoice?) -> String? {
        guard let format, !format.isStandard else { return nil }
        return String(decoding: JSONValue.object(format.json).serialized(), as: UTF8.self)
    }

    static func decode(_ text: String?) throws(StoreError) -> DeliveryFormatChoice {
        guard let text else { return .standard }
        let limits = JSONLimits(maximumBytes: text.utf8.count, maximumDepth: JSONLimits.deepest)
        guard let json = try? JSONValue(parsing: Array(text.utf8), limits: limits),
            let format = DeliveryFormatChoice(json: json)
        else { throw StoreError(.corrupt, "the format of an endpoint cannot be read") }
        return format
    }
}
