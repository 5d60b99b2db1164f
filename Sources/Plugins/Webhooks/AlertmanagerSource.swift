public import RouterPlugin

/// Webhooks of Prometheus' Alertmanager, version 4, which present a bearer token or user and password.
///
/// A request has a group of alerts, and each alert becomes an event of the type `firing` or `resolved` with the payload
/// `{"alert": {…}, "receiver", "status", "groupKey", "groupLabels", "commonLabels", "commonAnnotations",
/// "externalURL"}`. The newest event of a fingerprint replaces the older ones.
///
/// Alertmanager repeats a request after 5xx and gives up after 4xx, 429 included.
///
/// Facts: prometheus.io, "Alerting configuration", `webhook_config` and `http_config`; notify/webhook of
/// prometheus/alertmanager.
public struct AlertmanagerSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.alertmanager")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of Alertmanager, an event for each alert.", secrets: .required,
        fields: [AlertGroup.reminders], secretFault: SecretFaults.credentials
    ) { (options) throws(PluginConfigurationError) in
        let options = try PluginConfiguration(options, declared: [AlertGroup.reminders])
        return AlertmanagerSource(group: try AlertGroup(members: members, options))
    }

    private static let members = [
        "receiver", "status", "groupKey", "groupLabels", "commonLabels", "commonAnnotations", "externalURL",
    ]
    private let group: AlertGroup

    /// A source with the settings of Alertmanager.
    public init() { self.init(group: AlertGroup(members: Self.members)) }

    private init(group: AlertGroup) { self.group = group }

    /// The alert.
    public var defaults: SourceDefaults {
        SourceDefaults(contentID: ["*": "alertmanager://{alert.labels.alertname}/{alert.fingerprint}"])
    }

    /// 503, since Alertmanager takes 429 for the end.
    public var retryStatus: Int { 503 }

    /// Checks the bearer token, or user and password.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try Authorization.verifyEither(request, with: secrets)
    }

    /// An event for each alert.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `unsupported-version`, `missing-field`, `bad-alert`,
    ///   `too-many-alerts`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let body = try JSONBody.object(request.body)
        guard body["version"]?.asString == "4" else {
            let message = "The member version must be \"4\", the text that Alertmanager sends."
            throw SourceError(code: "unsupported-version", message: message, kind: .unprocessable)
        }
        return SourceDecoding(try group.events(of: body, at: request.receivedAt))
    }
}
