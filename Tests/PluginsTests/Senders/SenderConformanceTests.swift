import RouterPlugin
import RouterTesting
import Testing

@testable import Plugins

/// Every kind runs both suites.
struct SenderConformanceTests {
    struct Example: CustomTestStringConvertible {
        let kind: PayloadSourceKind
        var options: JSONValue = [:]
        var secret = "s3cret-of-the-source"
        var other = "another-s3cret"
        var keepsBody = true
        var signsBody = true
        let requests: [SourceRequest]

        var testDescription: String { kind.id.text }
    }

    private static let standardKeys = (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
    )
    private static let secret = "s3cret-of-the-source"
    private static let bearer = [("authorization", "Bearer \(secret)")]
    private static let form = [("content-type", "application/x-www-form-urlencoded")]

    private static func standard(_ body: String, _ headers: [(name: String, value: String)] = []) -> SourceRequest {
        let content = "msg_1.\(noonSeconds).\(body)"
        let key = (try? WebhookSecret(standardKeys.0))?.key ?? []
        let signature = HMACVerifier.Algorithm.sha256.code(over: [Array(content.utf8)], key: key)
        return request(
            body,
            [
                ("webhook-id", "msg_1"), ("webhook-timestamp", "\(noonSeconds)"),
                ("webhook-signature", "v1," + Base64.encode(signature)),
            ] + headers)
    }

    private static func gitHub(_ body: String, _ headers: [(name: String, value: String)] = []) -> SourceRequest {
        let signature = ("x-hub-signature-256", "sha256=" + hexadecimalCode(body, secret))
        return request(body, [signature, ("x-github-event", "issues"), ("x-github-delivery", "d")] + headers)
    }

    private static func slack(_ body: String, _ headers: [(name: String, value: String)] = []) -> SourceRequest {
        let signature = "v0=" + hexadecimalCode("v0:\(noonSeconds):\(body)", secret)
        return request(
            body, [("x-slack-signature", signature), ("x-slack-request-timestamp", "\(noonSeconds)")] + headers)
    }

    private static func stripe(_ body: String) -> SourceRequest {
        let signature = hexadecimalCode("\(noonSeconds).\(body)", secret)
        return request(body, [("stripe-signature", "t=\(noonSeconds),v1=\(signature)")])
    }

    private static func shopify(_ body: String) -> SourceRequest {
        let signature = Base64.encode(code(Array(body.utf8), secret))
        return request(
            body,
            [
                ("x-shopify-hmac-sha256", signature), ("x-shopify-topic", "orders/create"),
                ("x-shopify-webhook-id", "w"), ("x-shopify-event-id", "e"),
            ])
    }

    private static let signedAlerts = request(
        AlertmanagerSourceTests.group,
        [
            (
                "x-grafana-alerting-signature",
                hexadecimalCode("\(noonSeconds):" + AlertmanagerSourceTests.group, secret)
            ), ("x-time", "\(noonSeconds)"),
        ])

    static let examples: [Example] = [
        Example(
            kind: CloudEventsSource.kind, signsBody: false,
            requests: [
                request(
                    #"{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":"b"}}"#,
                    bearer + [("content-type", "application/cloudevents+json")])
            ]),
        Example(kind: GitHubSource.kind, requests: [gitHub(#"{"action":"opened","issue":{"number":1}}"#)]),
        Example(
            kind: GitHubSource.kind, keepsBody: false, requests: [gitHub("payload=%7B%22a%22%3A%22+%22%7D", form)]),
        Example(
            kind: GitLabSource.kind, signsBody: false,
            requests: [
                request(
                    #"{"issue":{"iid":1}}"#,
                    [
                        ("x-gitlab-token", secret), ("x-gitlab-event", "Note Hook"), ("x-gitlab-event-uuid", "e"),
                        ("x-gitlab-webhook-uuid", "h"),
                    ])
            ]),
        Example(
            kind: GitLabSource.kind, secret: standardKeys.0, other: standardKeys.1,
            requests: [standard(#"{"ref":"main"}"#, [("x-gitlab-event", "Push Hook")])]),
        Example(kind: StripeSource.kind, requests: [stripe(#"{"id":"evt_1","type":"charge.succeeded"}"#)]),
        Example(
            kind: SlackSource.kind, keepsBody: false,
            requests: [
                slack(#"{"type":"url_verification","challenge":"c"}"#),
                slack(#"{"type":"event_callback","event_id":"E","event":{"type":"message"}}"#),
                slack("command=%2Fdeploy&text=a+b&trigger_id=1.2", form),
                slack("payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%221%22%7D", form),
            ]),
        Example(kind: ShopifySource.kind, requests: [shopify(#"{"id":1}"#)]),
        Example(
            kind: AlertmanagerSource.kind, keepsBody: false, signsBody: false,
            requests: [request(AlertmanagerSourceTests.group, bearer)]),
        Example(
            kind: GrafanaSource.kind, options: ["timestampHeader": "X-Time"], keepsBody: false,
            requests: [signedAlerts]),
        Example(
            kind: GrafanaSource.kind, secret: "Aladdin:open sesame", other: "Aladdin:open", keepsBody: false,
            signsBody: false,
            requests: [
                request(AlertmanagerSourceTests.group, [("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")])
            ]),
        Example(
            kind: StandardWebhooksSource.kind, secret: standardKeys.0, other: standardKeys.1,
            requests: [standard(#"{"type":"a.b"}"#)]),
        Example(
            kind: HMACSource.kind,
            options: [
                "header": "X-Sig", "separator": ",", "prefix": "v1=", "timestampHeader": "X-Time", "idHeader": "X-Id",
                "signedContent": "{id}.{timestamp}.{body}", "algorithm": "sha512",
            ],
            requests: [
                request(
                    #"{"a":1}"#,
                    [
                        ("x-sig", "v1=00,v1=" + hexadecimalCode(#"i.\#(noonSeconds).{"a":1}"#, secret, .sha512)),
                        ("x-time", "\(noonSeconds)"), ("x-id", "i"),
                    ])
            ]),
        Example(
            kind: BasicSource.kind, secret: "Aladdin:open sesame", other: "Aladdin:open", signsBody: false,
            requests: [
                request("{}", [("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("idempotency-key", "k")])
            ]),
        Example(kind: BearerSource.kind, signsBody: false, requests: [request("{}", bearer)]),
        Example(kind: PushPayloadSource.kind, signsBody: false, requests: [request("{}", bearer)]),
        Example(
            kind: ScenePayloadSource.kind, keepsBody: false, signsBody: false,
            requests: [request(#"{"url":"myapp://doc/42"}"#, bearer)]),
    ]

    @Test(arguments: examples)
    func itDecodesAsTheSuiteAsks(example: Example) throws {
        let source = try example.kind.make(example.options)
        let violations = PayloadSourceSuite.violations(
            of: source, accepting: example.requests, keepsBody: example.keepsBody, secrets: [example.secret], seed: 1)
        #expect(violations == [])
        #expect(source.id == example.kind.id)
    }

    @Test(arguments: examples)
    func itVerifiesAsTheSuiteAsks(example: Example) throws {
        let source = try example.kind.make(example.options)
        let violations = PayloadSourceSuite.verificationViolations(
            of: source, accepting: example.requests, with: SourceSecret(example.secret),
            other: SourceSecret(example.other), signsBody: example.signsBody, seed: 1)
        #expect(violations == [])
        #expect(example.kind.secretFault(SourceSecret(example.secret)) == nil)
    }

    @Test func everyKindIsAmongTheExamples() throws {
        let kinds = BuiltInPlugins.sourceKinds.map(\.id.text)
        #expect(Set(Self.examples.map(\.kind.id.text)) == Set(kinds))
        #expect(Set(kinds).count == kinds.count)
        for kind in BuiltInPlugins.sourceKinds where kind.id != HMACSource.id {
            #expect(throws: PluginConfigurationError.self, "\(kind.id)") { try kind.make(["unknown": 1]) }
            #expect(throws: Never.self, "\(kind.id)") { try kind.make([:]) }
        }
    }
}
