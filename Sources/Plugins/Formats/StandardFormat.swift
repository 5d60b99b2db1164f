public import RouterPlugin

/// The standard envelope, which endpoints get unless they ask for another format.
public struct StandardFormat: DeliveryFormat {
    /// The format's name.
    public static let id = PluginID(unchecked: "routerd.format.standard")

    /// The format's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = DeliveryFormatKind(
        id: id, summary: "The standard envelope: type, timestamp and data, the payload within."
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return StandardFormat()
    }

    /// The format.
    public init() {}

    /// `DeliveryMessage.standardEnvelope` as JSON.
    public func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
        RenderedRequest(contentType: "application/json", body: message.standardEnvelope)
    }
}
