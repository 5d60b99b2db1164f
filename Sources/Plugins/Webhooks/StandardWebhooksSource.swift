public import RouterPlugin

/// Webhooks of every sender that signs as Standard Webhooks 1.0.0 has it, `v1` and `v1a`, under `webhook-…` or Svix's
/// `svix-…` headers.
///
/// Secrets are `whsec_…` or public keys, `whpk_…`. The type of an event is the member `type`. A repetition has the same
/// `webhook-id`.
public struct StandardWebhooksSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.standard-webhooks")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks that are signed as Standard Webhooks has it.", secrets: .required,
        secretFault: SecretFaults.webhookKey
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return StandardWebhooksSource()
    }

    private let lookup = JSONLookup([["type"]])

    /// A source with the settings of the specification.
    public init() {}

    /// Checks the signature of id, timestamp and body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try StandardWebhooksProof.verify(request, with: secrets.compactMap { try? WebhookVerificationKey($0.text) })
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-event-type`, `bad-delivery-id`,
    ///   `duplicate-header`, `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let id = try StandardWebhooksProof.id(of: request)
        let type = try EventText.type(JSONBody.strings(at: lookup, of: request.body)[0], in: "member type")
        return SourceDecoding([
            SourceEvent(type: type, payload: request.body, dedupeKeys: id.map { ["webhook:\($0)"] } ?? [])
        ])
    }
}
