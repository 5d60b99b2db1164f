public import RouterPlugin

/// The payload as it came in, for receivers that would rather be called by its sender.
public struct RawFormat: DeliveryFormat {
    /// The format's name.
    public static let id = PluginID(unchecked: "routerd.format.raw")

    /// The format's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = DeliveryFormatKind(
        id: id, summary: "The payload byte for byte, with its content type; events in the standard envelope."
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return RawFormat()
    }

    /// The format.
    public init() {}

    /// The bytes and the media type as received. An event, which nothing was received for, is in the standard envelope.
    public func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
        guard let notification = message.notification else {
            return RenderedRequest(contentType: "application/json", body: message.standardEnvelope)
        }
        return RenderedRequest(contentType: notification.payloadContentType, body: notification.payload)
    }
}
