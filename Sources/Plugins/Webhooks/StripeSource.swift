public import RouterPlugin

/// Webhooks of Stripe, signed by `Stripe-Signature`.
///
/// The secret is the signing secret as Stripe shows it; its `whsec_` is part of the key, unlike in Standard Webhooks.
/// The type of an event is the member `type`, such as `charge.succeeded`. A repetition has the same member `id`.
///
/// Facts: docs.stripe.com, "Resolve webhook signature verification errors" and "Verify webhook signatures manually".
public struct StripeSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.stripe")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of Stripe, signed by Stripe-Signature.", secrets: .required,
        secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return StripeSource()
    }

    private let signature = HMACVerifier(
        header: "stripe-signature", layout: .fields(timestamp: "t", signature: "v1"),
        content: SignedContent([.timestamp, .literal("."), .body]), toleranceSeconds: 300)
    private let lookup = JSONLookup([["type"], ["id"]])

    /// A source with the settings of Stripe.
    public init() {}

    /// The object that an event is about.
    public var defaults: SourceDefaults {
        SourceDefaults(contentID: ["*": "stripe://{data.object.object}/{data.object.id}"])
    }

    /// Checks the signature of timestamp and body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try signature.verify(request, with: secrets)
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-event-type`, `bad-delivery-id`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let strings = try JSONBody.strings(at: lookup, of: request.body)
        let type = try EventText.type(strings[0], in: "member type")
        let id = try EventText.id(strings[1], in: "member id")
        return SourceDecoding([
            SourceEvent(type: type, payload: request.body, dedupeKeys: id.map { ["event:\($0)"] } ?? [])
        ])
    }
}
