import RouterPlugin
import Testing

@testable import Plugins

struct StandardWebhooksSourceTests {
    private let source = StandardWebhooksSource()
    private let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private let publicKey = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    /// Published by Svix.
    private let symmetric = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    private let asymmetric =
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="

    private func request(
        _ signature: String, family: String = "webhook-", body: String = #"{"test": 2432232314}"#,
        late milliseconds: Int64 = 0, and others: [(name: String, value: String)] = []
    ) -> SourceRequest {
        let headers = [
            (family + "id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), (family + "timestamp", "1614265330"),
            (family + "signature", signature),
        ]
        return SourceRequest(
            headers: headers + others, body: Array(body.utf8),
            receivedAt: Timestamp(milliseconds: 1_614_265_330_000 + milliseconds))
    }

    @Test func bothVersionsUnderBothNames() {
        for family in ["webhook-", "svix-"] {
            #expect(source.refusal(of: request(symmetric, family: family), secret) == nil)
            #expect(source.refusal(of: request(asymmetric, family: family), publicKey) == nil)
            #expect(source.refusal(of: request(symmetric, family: family), publicKey, secret) == nil)
            #expect(source.refusal(of: request(symmetric, family: family), publicKey) == "signature-invalid")
            #expect(source.refusal(of: request(symmetric, family: family, body: "{}"), secret) == "signature-invalid")
        }
    }

    @Test func theWindowIsCheckedAfterTheSignature() {
        #expect(source.refusal(of: request(symmetric, late: 299_999), secret) == nil)
        #expect(source.refusal(of: request(symmetric, late: 300_000), secret) == "timestamp-outside-window")
        #expect(source.refusal(of: request(symmetric, late: -300_001), secret) == "timestamp-outside-window")
        #expect(source.refusal(of: request(symmetric, body: "{}", late: 300_000), secret) == "signature-invalid")
    }

    /// The specification allows no full stop in id and time; a wrong secret is not to be looked for.
    @Test func idsAndTimesOfAnotherFormAreTold() {
        func refusal(_ name: String, _ value: String) -> String? {
            let signed = request(symmetric)
            let headers = signed.headers.filter { $0.name != name } + [(name, value)]
            return source.refusal(
                of: SourceRequest(headers: headers, body: signed.body, receivedAt: signed.receivedAt), secret)
        }
        for id in ["evt.1", "a.b.c", ""] { #expect(refusal("webhook-id", id) == "webhook-id-invalid") }
        for time in ["1.5", "+1", "01", "soon"] { #expect(refusal("webhook-timestamp", time) == "timestamp-invalid") }
        #expect(refusal("webhook-id", "other") == "signature-invalid")
    }

    /// Headers of one family do not complete those of the other.
    @Test func familiesAreNotMixed() throws {
        let svix = request(symmetric, family: "svix-", and: [("webhook-id", "msg_other")])
        #expect(source.refusal(of: svix, secret) == nil)
        // The id that the signature does not cover is no name of the webhook: a replay would be new under each.
        #expect(try source.decode(svix).events[0].dedupeKeys == ["webhook:msg_p5jXN8AQM9LWM0D4loKWxJek"])
        let torn = request(symmetric, family: "svix-", and: [("webhook-signature", symmetric)])
        #expect(source.refusal(of: torn, secret) == "signature-missing")
        let twice = request(symmetric, and: [("webhook-signature", symmetric)])
        #expect(source.refusal(of: twice, secret) == "signature-invalid")
    }

    @Test func eventsHaveTypeAndID() throws {
        let body = #"{"type":"contact.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52"}}"#
        for family in ["webhook-", "svix-"] {
            let event = try source.decode(request("", family: family, body: body)).events[0]
            let keys = ["webhook:msg_p5jXN8AQM9LWM0D4loKWxJek"]
            #expect(event == SourceEvent(type: "contact.created", payload: Array(body.utf8), dedupeKeys: keys))
        }
        #expect(source.decodingRefusal(of: request("", body: #"{"type":""}"#)) == "bad-event-type")
        #expect(source.decodingRefusal(of: request("", body: "[]")) == "payload-not-an-object")
    }
}
