public import RouterPlugin

/// Webhooks of Shopify, signed by `X-Shopify-Hmac-Sha256`; the secret is the app's client secret.
///
/// The type of an event is `X-Shopify-Topic`, such as `orders/create`. A repetition has the same
/// `X-Shopify-Webhook-Id`; the id of the event stands in for it together with the topic, since one event may have
/// webhooks of several topics.
///
/// Facts: shopify.dev, "Verify webhook deliveries" and "Delivery structure".
public struct ShopifySource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.shopify")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of Shopify, signed by X-Shopify-Hmac-Sha256.", secrets: .required,
        secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return ShopifySource()
    }

    private let signature = HMACVerifier(header: "x-shopify-hmac-sha256", encoding: .base64)

    /// A source with the settings of Shopify.
    public init() {}

    /// Shopify's own global id of the thing, such as `gid://shopify/Order/820982911946154508`.
    public var defaults: SourceDefaults { SourceDefaults(contentID: ["*": "{+admin_graphql_api_id}"]) }

    /// Checks the signature of the body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try signature.verify(request, with: secrets)
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-event-type`, `bad-delivery-id`,
    ///   `duplicate-header`, `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let topic = try request.eventType(in: "x-shopify-topic")
        var keys: [String] = []
        if let webhook = try request.deliveryID(in: "x-shopify-webhook-id") {
            keys = ["webhook:\(webhook)"]
        } else if let event = try request.deliveryID(in: "x-shopify-event-id") {
            keys = ["event:\(topic ?? ""):\(event)"]
        }
        // The ids and the topic are not signed: the signed body itself tells a replay under another id.
        keys.append(request.bodyKey)
        try JSONBody.check(request.body)
        return SourceDecoding([SourceEvent(type: topic, payload: request.body, dedupeKeys: keys)])
    }
}
