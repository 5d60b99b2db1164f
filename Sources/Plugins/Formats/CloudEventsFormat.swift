public import RouterPlugin

/// CloudEvents 1.0 over HTTP, with the payload as its data.
///
///     attribute         value                                        of
///     id                the delivery's id, as `webhook-id`
///     source            routerd://APPLICATION
///     type              routerd.TYPE, such as routerd.scene.notification
///     subject           the content id                               notifications that name one
///     time              the message's timestamp
///     datacontenttype   the payload's, or application/json
///     session, sessionrole, sessionstate, sceneconfiguration         messages for a session
///     epoch, sequence   the place in the session's life              numbered messages
///     tier, rerouteof   the decision                                 notifications
///
/// The data of an event is the object `data` of the standard envelope. Sources: CloudEvents 1.0.2, its JSON Event
/// Format and its HTTP Protocol Binding.
public struct CloudEventsFormat: DeliveryFormat {
    /// The place of the attributes.
    public enum Mode: String, CaseIterable, Sendable {
        /// In the body, around the data: `application/cloudevents+json`.
        case structured
        /// In header fields that begin with `ce-`; the body is the data.
        case binary
    }

    /// The format's name.
    public static let id = PluginID(unchecked: "routerd.format.cloudevents")

    /// The format's name.
    public var id: PluginID { Self.id }

    /// The kind; its option `mode` is `structured`, the default, or `binary`.
    public static let kind = DeliveryFormatKind(
        id: id, summary: "CloudEvents 1.0 over HTTP, in structured or binary mode.", fields: fields
    ) { (options) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(options, declared: fields)
        guard let name = try configuration.string("mode") else { return CloudEventsFormat() }
        guard let mode = Mode(rawValue: name) else {
            throw configuration.invalid("mode", because: "must be structured or binary")
        }
        return CloudEventsFormat(mode: mode)
    }

    private static let fields = [
        PluginField(
            "mode", .string, .byDefault(.string(Mode.structured.rawValue)),
            among: Mode.allCases.map { .string($0.rawValue) },
            summary: "The place of the attributes: the body (structured) or header fields (binary).")
    ]

    private let mode: Mode

    /// The format in one of its modes.
    public init(mode: Mode = .structured) {
        self.mode = mode
    }

    /// The message as one event.
    public func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
        let dataType = message.notification?.payloadContentType ?? "application/json"
        let data = message.notification?.payload ?? message.envelopeData
        switch mode {
        case .structured:
            return RenderedRequest(
                contentType: "application/cloudevents+json",
                body: Self.structured(Self.attributes(of: message), dataType, data))
        case .binary:
            let headers = Self.attributes(of: message).map {
                RenderedRequest.Header("ce-\($0.name)", PercentEncoding.headerValue($0.value))
            }
            return RenderedRequest(contentType: dataType, headers: headers, body: data)
        }
    }

    private static func structured(
        _ attributes: [(name: String, value: String)], _ dataType: String, _ data: [UInt8]
    ) -> [UInt8] {
        JSONWriter.object(reserving: data.count + 512) { event in
            for attribute in attributes { event.field(attribute.name, attribute.value) }
            event.field("datacontenttype", dataType)
            if MediaType.isJSON(dataType) {
                event.raw("data", data)
            } else {
                event.field("data_base64", Base64.encode(data))
            }
        }
    }

    /// All attributes but the data's, in the order of the table. CloudEvents has no empty ones.
    private static func attributes(of message: DeliveryMessage) -> [(name: String, value: String)] {
        var attributes: [(name: String, value: String)] = [
            ("specversion", "1.0"), ("id", message.id),
            ("source", "routerd://" + PercentEncoding.component(message.application.text)),
            ("type", "routerd.\(message.type)"),
        ]
        func add(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { attributes.append((name, value)) }
        }
        add("subject", message.notification?.targetContentIdentifier?.text)
        add("time", message.timestamp.rfc3339)
        if let session = message.session {
            add("session", session.id.text)
            add("sessionrole", session.role)
            add("sessionstate", session.activationState.name)
            add("sceneconfiguration", session.configuration)
        }
        if let step = message.step {
            add("epoch", String(step.epoch))
            add("sequence", String(step.sequence))
        }
        if let notification = message.notification {
            add("tier", notification.tier.rawValue)
            add("rerouteof", notification.rerouteOf?.text)
        }
        return attributes
    }
}
