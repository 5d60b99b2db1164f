public import RouterPlugin

/// Webhooks of Grafana's alerting, which present a bearer token or user and password, or are signed by
/// `X-Grafana-Alerting-Signature`.
///
/// Options: `header`, `timestampHeader` and `toleranceSeconds`, as the contact point has them, and `remindAfterSeconds`. A request that bears the
/// signature is judged by it alone.
///
/// A request has a group of alerts, and each alert becomes an event of the type `firing` or `resolved` with the payload
/// of `AlertmanagerSource` and the group's `orgId`, `title`, `state` and `message`.
///
/// Facts: grafana.com, "Configure webhook notifications" of Grafana 12.
public struct GrafanaSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.grafana")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of Grafana's alerting, an event for each alert.", secrets: .required,
        fields: fields, secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        try GrafanaSource(options: options)
    }

    private static let fields = [
        PluginField(
            "header", .string, .byDefault("x-grafana-alerting-signature"), summary: "The header that has the signature."
        ),
        PluginField("timestampHeader", .string, summary: "The header that has the signed time, in seconds since 1970."),
        PluginField(
            "toleranceSeconds", .integer, .byDefault(.number(JSONNumber(SenderLimits.toleranceSeconds))),
            unit: "seconds", summary: "The greatest difference between the signed time and the time of arrival."),
        AlertGroup.reminders,
    ]

    private var signature = HMACVerifier(header: "x-grafana-alerting-signature")
    private let group: AlertGroup
    private static let members = [
        "receiver", "status", "orgId", "title", "state", "message", "groupKey", "groupLabels", "commonLabels",
        "commonAnnotations", "externalURL",
    ]

    /// A source as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(options: JSONValue) throws(PluginConfigurationError) {
        let options = try PluginConfiguration(options, declared: Self.fields)
        group = try AlertGroup(members: Self.members, options)
        if let header = try options.headerName("header") { signature.header = header }
        if let header = try options.headerName("timestampHeader") {
            signature.timestampHeader = header
            signature.content = SignedContent([.timestamp, .literal(":"), .body])
        }
        if let tolerance = try options.toleranceSeconds(timestampHeader: signature.timestampHeader) {
            signature.toleranceSeconds = tolerance
        }
    }

    /// The alert.
    public var defaults: SourceDefaults {
        SourceDefaults(contentID: ["*": "grafana://{alert.labels.alertname}/{alert.fingerprint}"])
    }

    /// 503, as for Alertmanager, from which Grafana's notifier descends.
    public var retryStatus: Int { 503 }

    /// Checks the signature where there is one; the bearer token, or user and password, otherwise.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        guard try request.proof(signature.header) != nil else {
            return try Authorization.verifyEither(request, with: secrets)
        }
        try signature.verify(request, with: secrets)
    }

    /// An event for each alert.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `missing-field`, `bad-alert`, `too-many-alerts`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        SourceDecoding(try group.events(of: try JSONBody.object(request.body), at: request.receivedAt))
    }
}
