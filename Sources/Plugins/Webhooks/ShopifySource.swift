public import RouterPlugin

/// Webhooks of Shopify, signed by `X-Shopify-Hmac-Sha256`, and its Events, signed by `Shopify-Hmac-Sha256`; the secret is
/// the app's client secret.
///
/// The type of an event is `X-Shopify-Topic`, such as `orders/create`. A repetition has the same
/// `X-Shopify-Webhook-Id`; the id of the event stands in for it together with the topic, since one event may have
/// webhooks of several topics, and the body where both are missing. The ids are not signed: with the option
/// `refuseRepeatedBodies` a body is taken once, whatever its ids. Events have the same headers without `X-`; of a request
/// with both signatures the older names count.
///
/// Facts: shopify.dev, "Verify webhook deliveries", "Delivery structure", "Verify deliveries" of Events.
public struct ShopifySource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.shopify")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind.
    public static let kind = PayloadSourceKind(
        id: id,
        summary: "Takes webhooks and Events of Shopify, signed by X-Shopify-Hmac-Sha256 or Shopify-Hmac-Sha256.",
        secrets: .required, fields: [RepeatedBodies.field], secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        let options = try PluginConfiguration(options, declared: [RepeatedBodies.field])
        return ShopifySource(repeatedBodies: try RepeatedBodies(options))
    }

    private let repeatedBodies: RepeatedBodies

    /// A source with the settings of Shopify.
    public init() { self.init(repeatedBodies: .usual) }

    private init(repeatedBodies: RepeatedBodies) { self.repeatedBodies = repeatedBodies }

    /// Shopify's own global id of the thing, such as `gid://shopify/Order/820982911946154508`.
    public var defaults: SourceDefaults { SourceDefaults(contentID: ["*": "{+admin_graphql_api_id}"]) }

    /// The beginning of the names of the request's headers.
    private static func family(of request: SourceRequest) -> String {
        func bears(_ family: String) -> Bool {
            request.headers.contains { $0.name.isSame(as: family + "hmac-sha256") }
        }
        return bears("shopify-") && !bears("x-shopify-") ? "shopify-" : "x-shopify-"
    }

    /// Checks the signature of the body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        let signature = HMACVerifier(header: Self.family(of: request) + "hmac-sha256", encoding: .base64)
        try signature.verify(request, with: secrets)
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-event-type`, `bad-delivery-id`,
    ///   `duplicate-header`, `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let family = Self.family(of: request)
        let topic = try request.eventType(in: family + "topic")
        var key = try request.deliveryID(in: family + "webhook-id").map { "webhook:\($0)" }
        if key == nil, let event = try request.deliveryID(in: family + "event-id") {
            key = "event:\(topic ?? ""):\(event)"
        }
        try JSONBody.check(request.body)
        return SourceDecoding([
            SourceEvent(type: topic, payload: request.body, dedupeKeys: repeatedBodies.keys(key, of: request))
        ])
    }
}
