import Plugins
import RouterPlugin
import Testing

struct StripeSourceTests {
    private let source = StripeSource()
    private let secret = "whsec_test_secret"
    private let body = #"{"id":"evt_1"}"#
    /// Computed with another implementation: the whole secret is the key, its prefix included.
    private let valid = "v1=e135cdbed3dda004bf8a2fb350f2541d299393c770e0b9e6e319dc595e9072aa"
    private let seconds: Int64 = 1_614_265_330

    private func request(_ signature: String, body: String? = nil, late milliseconds: Int64 = 0) -> SourceRequest {
        SourceRequest(
            headers: [("stripe-signature", signature)], body: Array((body ?? self.body).utf8),
            receivedAt: Timestamp(milliseconds: seconds * 1000 + milliseconds))
    }

    @Test func theSignatureIsThatOfStripe() {
        for signature in [
            "t=1614265330,\(valid)", "t=1614265330, \(valid)", "\(valid),t=1614265330",
            "t=1614265330,v1=00,\(valid),v0=x",
            "t=1614265330,v1=\(String(repeating: "0", count: 64)),\(valid)", "t=1614265330,,x,\(valid)",
        ] {
            #expect(source.refusal(of: request(signature), secret) == nil, "\(signature)")
        }
        #expect(source.refusal(of: request("t=1614265330,\(valid)"), "whsec_other", secret) == nil)
    }

    @Test func otherSignaturesAreRefused() {
        for signature in [
            "", valid, "t=1614265330", "t=1614265331,\(valid)", "t=1614265330,v0" + valid.dropFirst(2),
            "t=1614265330,t=1614265330,\(valid)", "t=,\(valid)", "T=1614265330,\(valid)", "t=1614265330 \(valid)",
            "t=1614265330,\(valid.dropLast())", "t=1614265330,\(valid.dropLast())b",
        ] {
            #expect(source.refusal(of: request(signature), secret) == "signature-invalid", "\(signature)")
        }
        let signed = "t=1614265330,\(valid)"
        #expect(source.refusal(of: request(signed, body: body + "\n"), secret) == "signature-invalid")
        #expect(source.refusal(of: request(signed), "test_secret") == "signature-invalid")
        let twice = SourceRequest(
            headers: [("stripe-signature", signed), ("stripe-signature", signed)], body: Array(body.utf8),
            receivedAt: Timestamp(milliseconds: seconds * 1000))
        #expect(source.refusal(of: twice, secret) == "signature-invalid")
    }

    @Test func theTimestampIsGoodForFiveMinutes() {
        let signed = "t=1614265330,\(valid)"
        #expect(source.refusal(of: request(signed, late: 300_000), secret) == nil)
        #expect(source.refusal(of: request(signed, late: 300_001), secret) == "timestamp-outside-window")
        #expect(source.refusal(of: request(signed, late: -300_001), secret) == "timestamp-outside-window")
        #expect(source.refusal(of: request(signed, body: "{}", late: 300_001), secret) == "signature-invalid")
    }

    @Test func eventsHaveTypeAndID() throws {
        let body = """
            {"id":"evt_1MqwpYLkdIwHu7ixhRjdsC3a","object":"event","type":"charge.succeeded",
             "data":{"object":{"id":"ch_3MmlLrLkdIwHu7ix0snN0B15","object":"charge","amount":1099}}}
            """
        let event = try source.decode(request("", body: body)).events[0]
        #expect(event.type == "charge.succeeded" && event.dedupeKeys == ["event:evt_1MqwpYLkdIwHu7ixhRjdsC3a"])
        #expect(event.payload == Array(body.utf8))
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(body)) == "stripe://charge/ch_3MmlLrLkdIwHu7ix0snN0B15")
    }

    @Test func otherBodies() throws {
        let bare = try source.decode(request("", body: #"{"id":1,"type":null}"#)).events[0]
        #expect(bare.type == nil && bare.dedupeKeys == [])
        #expect(source.decodingRefusal(of: request("", body: #"{"id":""}"#)) == "bad-delivery-id")
        #expect(source.decodingRefusal(of: request("", body: #"{"type":"a\nb"}"#)) == "bad-event-type")
        #expect(source.decodingRefusal(of: request("", body: "x")) == "json-unexpected-byte")
    }
}
