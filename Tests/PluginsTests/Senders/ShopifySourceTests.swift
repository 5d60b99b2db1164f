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

    @Test func eventsHaveTopicAndID() throws {
        let body = #"{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508"}"#
        let (topic, webhook, event) = (
            ("x-shopify-topic", "orders/create"), ("x-shopify-webhook-id", "w"), ("x-shopify-event-id", "e")
        )
        for (headers, type, keys) in [
            ([topic, webhook, event], "orders/create", ["webhook:w"]),
            ([topic, event], "orders/create", ["event:orders/create:e"]), ([event], nil, ["event::e"]), ([], nil, []),
        ] as [([(name: String, value: String)], String?, [String])] {
            let request = request(body, headers)
            let event = SourceEvent(type: type, payload: Array(body.utf8), dedupeKeys: keys + [request.bodyKey])
            #expect(try source.decode(request) == SourceDecoding([event]))
        }
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(body)) == "gid://shopify/Order/820982911946154508")
        #expect(source.decodingRefusal(of: request("<xml/>", [topic])) == "json-unexpected-byte")
    }
}
