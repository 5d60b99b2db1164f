import RouterPlugin
import Testing

@testable import Plugins

struct ShopifySourceTests {
    private let source = ShopifySource()

    @Test func theSignatureIsThatOfShopify() {
        // Computed with another implementation.
        let headers = [("x-shopify-hmac-sha256", "VnKUjZsLuN5iZWjn5EntcBVCF9kMN43LglzCE1/GSeY=")]
        #expect(source.refusal(of: request(#"{"id":1}"#, headers), "hush") == nil)
        #expect(source.refusal(of: request(#"{"id":1}"#, headers), "new", "hush") == nil)
        #expect(source.refusal(of: request(#"{"id":2}"#, headers), "hush") == "signature-invalid")
        #expect(source.refusal(of: request(#"{"id":1}"#, headers), "Hush") == "signature-invalid")
        #expect(source.refusal(of: request(#"{"id":1}"#, headers + headers), "hush") == "signature-invalid")
        #expect(source.refusal(of: request(#"{"id":1}"#), "hush") == "signature-missing")
    }

    @Test func eventsAreSignedWithoutX() {
        let (valid, other) = ("VnKUjZsLuN5iZWjn5EntcBVCF9kMN43LglzCE1/GSeY=", "AAAA")
        func refusal(_ old: String?, _ new: String?) -> String? {
            let headers = [old.map { ("x-shopify-hmac-sha256", $0) }, new.map { ("shopify-hmac-sha256", $0) }]
            return source.refusal(of: request(#"{"id":1}"#, headers.compactMap { $0 }), "hush")
        }
        #expect(refusal(nil, valid) == nil && refusal(valid, other) == nil)
        #expect(refusal(nil, other) == "signature-invalid" && refusal(other, valid) == "signature-invalid")
    }

    @Test func eventsHaveTopicAndID() throws {
        let body = #"{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508"}"#
        let (topic, webhook, event) = (
            ("x-shopify-topic", "orders/create"), ("x-shopify-webhook-id", "w"), ("x-shopify-event-id", "e")
        )
        for (headers, type, keys) in [
            ([topic, webhook, event], "orders/create", ["webhook:w"]),
            ([topic, event], "orders/create", ["event:orders/create:e"]), ([event], nil, ["event::e"]), ([], nil, []),
        ] as [([(name: String, value: String)], String?, [String])] {
            let plain = request(body, headers)
            // The body counts where Shopify names no delivery, or where the source says so.
            let all = keys + [plain.bodyKey]
            let event = SourceEvent(type: type, payload: Array(body.utf8), dedupeKeys: keys.isEmpty ? all : keys)
            #expect(try source.decode(plain) == SourceDecoding([event]))
            let strict = try ShopifySource.kind.make(["refuseRepeatedBodies": true])
            #expect(try strict.decode(plain).events[0].dedupeKeys == all)
            // Events have the same headers without X-.
            let events = headers.map { (name: String($0.name.dropFirst(2)), value: $0.value) }
            let signed = request(body, events + [(name: "shopify-hmac-sha256", value: "x")])
            #expect(try source.decode(signed) == SourceDecoding([event]))
        }
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(body)) == "gid://shopify/Order/820982911946154508")
        #expect(source.decodingRefusal(of: request("<xml/>", [topic])) == "json-unexpected-byte")
    }
}
