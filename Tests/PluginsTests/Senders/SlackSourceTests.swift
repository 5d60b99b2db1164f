import RouterPlugin
import Testing

@testable import Plugins

struct SlackSourceTests {
    private let source = SlackSource()
    private let form = [("content-type", "application/x-www-form-urlencoded")]

    // MARK: Signatures

    /// The example of docs.slack.dev, "Verifying requests from Slack": a slash command.
    private let secret = "8f742231b10e8888abcd99yyyzzz85a5"
    private let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    private let command = """
        token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
        channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
        response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
        trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c
        """

    private func signed(
        _ signature: String? = nil, timestamp: String = "1531420618", body: String? = nil, late milliseconds: Int64 = 0
    ) -> SourceRequest {
        let headers = [
            ("x-slack-signature", signature ?? self.signature), ("x-slack-request-timestamp", timestamp),
            ("x-slack-retry-num", "1"),
        ]
        return SourceRequest(
            headers: form + headers, body: Array((body ?? command).utf8),
            receivedAt: Timestamp(milliseconds: 1_531_420_618_000 + milliseconds))
    }

    @Test func theSignatureIsThatOfSlack() {
        #expect(source.refusal(of: signed(), secret) == nil)
        #expect(source.refusal(of: signed(), "other", secret) == nil)
        #expect(source.refusal(of: signed(late: 300_000), secret) == nil)
        #expect(source.refusal(of: signed(late: 300_001), secret) == "timestamp-outside-window")
        #expect(source.refusal(of: signed(late: -300_001), secret) == "timestamp-outside-window")
    }

    @Test func otherSignaturesAreRefused() {
        #expect(source.refusal(of: signed(), "other") == "signature-invalid")
        #expect(source.refusal(of: signed(body: command + "&"), secret) == "signature-invalid")
        #expect(source.refusal(of: signed(timestamp: "1531420619"), secret) == "signature-invalid")
        #expect(source.refusal(of: signed(timestamp: "1531420619", late: 1_000_000_000), secret) == "signature-invalid")
        for forged in ["", "v0=", signature.dropFirst(3) + "", "v1" + signature.dropFirst(2), signature + "0"] {
            #expect(source.refusal(of: signed(forged), secret) == "signature-invalid")
        }
    }

    // MARK: Events

    @Test func theChallengeIsAnswered() throws {
        // The example of docs.slack.dev, "url_verification".
        let body = #"{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV","type":"url_verification"}"#
        let decoding = try source.decode(request(body, [("content-type", "application/json")]))
        #expect(decoding.events == [])
        let response = SourceResponse(
            status: 200, headers: [.init("content-type", "text/plain; charset=utf-8")],
            body: Array("3eZbrw1aBm2rZgRNFdxV".utf8))
        #expect(decoding.response == response)
        for body in [#"{"type":"url_verification"}"#, #"{"type":"url_verification","challenge":1}"#] {
            #expect(source.decodingRefusal(of: request(body)) == "challenge-missing")
        }
    }

    @Test(
        arguments: [
            (
                #"{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":{"type":"app_mention","channel":"C1"}}"#,
                "app_mention", ["event:Ev1"], "slack://T1/C1"
            ),
            (
                #"{"type":"event_callback","team_id":"T1","event":{"type":"reaction_added","item":{"channel":"C2"}}}"#,
                "reaction_added", [], "slack://T1/C2"
            ),
            (
                #"{"type":"event_callback","team_id":"T1","event":{"type":"channel_created","channel":{"id":"C3"}}}"#,
                "channel_created", [], "slack://T1/C3"
            ),
            (#"{"type":"app_rate_limited","team_id":"T1"}"#, "app_rate_limited", [], nil),
            (#"{"type":"event_callback"}"#, nil, [], nil),
        ] as [(String, String?, [String], String?)])
    func eventsKeepTheirBody(body: String, type: String?, keys: [String], contentID: String?) throws {
        let request = request(body, [("content-type", "application/json; charset=utf-8")])
        // An event without an id is known by its signed body.
        let known = keys.isEmpty ? [request.bodyKey] : keys
        let event = SourceEvent(type: type, payload: Array(body.utf8), dedupeKeys: known)
        #expect(try source.decode(request) == SourceDecoding([event]))
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(body)) == contentID)
    }

    // MARK: Forms

    @Test func aSlashCommandBecomesAnObject() throws {
        let decoding = try source.decode(request(command, form))
        #expect(decoding.response == SourceResponse(status: 200))
        let event = try #require(decoding.events.first)
        #expect(event.type == "slash_command")
        #expect(event.dedupeKeys == ["trigger:398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"])
        let payload = """
            {"token":"xyzz0WbapA4vBCDEFasx0q6G","team_id":"T1DC2JH3J","team_domain":"testteamnow",\
            "channel_id":"G8PSS9T3V","channel_name":"foobar","user_id":"U2CERLKJA","user_name":"roadrunner",\
            "command":"/webhook-collect","text":"",\
            "response_url":"https://hooks.slack.com/commands/T1DC2JH3J/397700885554/96rGlfmibIGlgcZRskXaIFfN",\
            "trigger_id":"398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"}
            """
        #expect(text(event.payload) == payload)
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(payload)) == "slack://T1DC2JH3J/G8PSS9T3V")
    }

    @Test func anInteractionBringsItsJSON() throws {
        let body = "payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%2212.34%22%2C%20%22a%22%3A1.0%7D"
        let payload = #"{"type":"block_actions","trigger_id":"12.34", "a":1.0}"#
        let event = SourceEvent(type: "block_actions", payload: Array(payload.utf8), dedupeKeys: ["trigger:12.34"])
        #expect(
            try source.decode(request(body, form)) == SourceDecoding([event], response: SourceResponse(status: 200)))
    }

    /// It bears no signature, and nothing that comes with it counts.
    @Test(arguments: ["ssl_check=1", "ssl_check=1&token=x", "command=%2Fa&ssl_check=1", "payload=%7B%7D&ssl_check=1"])
    func theCheckOfTheCertificateIsAnswered(body: String) throws {
        let answer = SourceResponse(status: 200)
        #expect(source.handshake(request(body, form)) == answer)
        #expect(try source.decode(request(body, form)) == .answer(answer))
    }

    @Test(arguments: [
        "ssl_check=0", "ssl_check=true", "ssl_check=", "ssl_check=1&ssl_check=1", "ssl_check=%31%", "ssl-check=1", "",
        #"{"ssl_check":"1"}"#, "command=%2Fa",
    ])
    func otherFormsAreNoCheck(body: String) {
        #expect(source.handshake(request(body, form)) == nil)
        #expect(source.handshake(request("ssl_check=1", [("content-type", "application/json")])) == nil)
    }

    /// The signature covers the body and not its type: a text within a message must not become a command.
    @Test func anEventUnderTheTypeOfAFormIsRefused() throws {
        let text = "hi &command=%2Fdeploy&channel_id=CVICTIM&user_id=UBOSS&x="
        let body = #"{"type":"event_callback","event_id":"E","event":{"type":"message","text":"\#(text)"}}"#
        #expect(try source.decode(request(body)).events.count == 1)
        #expect(source.decodingRefusal(of: request(body, form)) == "form-not-encoded")
    }

    @Test(arguments: [
        ("", "form-field-missing"), ("a=b", "form-field-missing"), ("payload=x", "json-unexpected-byte"),
        ("payload=[]", "payload-not-an-object"), ("command=%2", "form-bad-escape"),
        ("command=/a&trigger_id=", "bad-delivery-id"), ("command=/a&command=/b", "form-duplicate-field"),
    ])
    func otherFormsAreRefused(body: String, code: String) {
        #expect(source.decodingRefusal(of: request(body, form)) == code)
    }
}
