import Router
import RouterPlugin
import Testing

/// Golden bodies: receivers rely on every byte of them.
@Suite("Webhook envelopes")
struct WebhookEnvelopeTests {
    private func body(
        _ session: SceneSession, content: ContentID? = "myapp://doc/42", rerouteOf: SessionID? = nil,
        payload: String = #"{"aps":{}}"#, attempt number: Int = 1
    ) -> String {
        var notification = UnsettledNotification.numbered(1, receivedAt: Timestamp(milliseconds: 1_767_323_045_678))
        notification.contentID = content
        notification.decision = Decision(tier: .prefers, session: session.key.session, reason: "", rerouteOf: rerouteOf)
        let endpoint = Endpoint(url: "https://a.example", secret: "whsec_c2VjcmV0")
        let attempt = AttemptStart(
            notification: notification, number: number, receiver: session.key, session: session, endpoint: endpoint,
            keys: endpoint.keys.all, timeoutSeconds: 1)
        let message = DeliveryMessage(attempt, .json(Array(payload.utf8)))
        return String(decoding: message.standardEnvelope, as: UTF8.self)
    }

    @Test(
        "A connected session receives the notification",
        arguments: [
            ActivationState.background, .foregroundInactive, .foregroundActive,
        ])
    func notification(state: ActivationState) {
        #expect(
            body(Scene("win-7", state).session(created: 1)) == """
                {"type":"scene.notification","timestamp":"2026-01-02T03:04:05.678Z","data":{\
                "application":"com.example.Gallery",\
                "session":{"id":"win-7","role":"windowApplication","configuration":"Default",\
                "activationState":"\(state.name)"},\
                "targetContentIdentifier":"myapp://doc/42",\
                "decision":{"tier":"prefers","rerouteOf":null},"payload":{"aps":{}}}}
                """)
    }

    @Test("An unattached session is told to connect, with its restoration activity")
    func willConnect() {
        var session = Scene("win-7", .unattached).session(created: 1)
        session.stateRestorationActivity = JSONDocument(["activityType": "edit", "userInfo": ["page": 3]])
        #expect(
            body(session, rerouteOf: "win-6") == """
                {"type":"scene.willConnect","timestamp":"2026-01-02T03:04:05.678Z","data":{\
                "application":"com.example.Gallery",\
                "session":{"id":"win-7","role":"windowApplication","configuration":"Default",\
                "activationState":"unattached"},\
                "targetContentIdentifier":"myapp://doc/42",\
                "decision":{"tier":"prefers","rerouteOf":"win-6"},\
                "connectionOptions":{"notification":{"targetContentIdentifier":"myapp://doc/42"},\
                "stateRestorationActivity":{"activityType":"edit","userInfo":{"page":3}}},\
                "userActivity":{"activityType":"edit","userInfo":{"page":3}},\
                "payload":{"aps":{}}}}
                """)
    }

    @Test("Without an activity and without a content id")
    func bare() {
        let text = body(Scene("A", .unattached).session(created: 1), content: nil)
        #expect(text.contains(#""targetContentIdentifier":null,"decision""#))
        #expect(text.contains(#""connectionOptions":{"notification":{"targetContentIdentifier":null}},"payload""#))
    }

    @Test(
        "The payload is inserted byte for byte",
        arguments: [
            "  { \"a\" :\t[ 1.0e5 , 1.00 ] }\r\n", #"{"caf\u00e9":"\/","b":"café"}"#, "\"text\"", "null",
            "{\"a\":1,\"b\":{}}",
        ])
    func payload(text: String) throws {
        let whole = body(Scene("A", .background).session(created: 1), payload: text)
        #expect(whole.hasSuffix("\"payload\":\(text)}}"))
        #expect(throws: Never.self) { try JSONValue(parsing: Array(whole.utf8)) }
    }

    @Test("Hostile ids are escaped", arguments: ["\"},\"x\":{\"", "\\", "\u{1}\n\t\u{1F}", "é\u{202E}😀", "</script>"])
    func hostile(text: String) throws {
        var session = Scene(SessionID(unchecked: text), .unattached).session(created: 1)
        session.configuration = text
        session.role = text
        let whole = body(session, content: ContentID(unchecked: text), rerouteOf: SessionID(unchecked: text))
        let data = try JSONValue(parsing: Array(whole.utf8))["data"]
        #expect(data?["session"]?["id"]?.asString == text)
        #expect(data?["session"]?["configuration"]?.asString == text)
        #expect(data?["session"]?["role"]?.asString == text)
        #expect(data?["targetContentIdentifier"]?.asString == text)
        #expect(data?["decision"]?["rerouteOf"]?.asString == text)
        #expect(data?["connectionOptions"]?["notification"]?["targetContentIdentifier"]?.asString == text)
        #expect(data?.asObject?.count == 6)
    }

    @Test("The body is the same in all attempts")
    func stable() {
        let session = Scene("A").session(created: 1)
        #expect(body(session) == body(session, attempt: 2))
    }
}
