import RouterPlugin
import Testing

@testable import Plugins

struct GitLabSourceTests {
    private let source = GitLabSource()
    /// The example of merge request 231325 of gitlab-org/gitlab.
    private let signingToken = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="

    private func signed(_ body: String, at seconds: Int64 = noonSeconds, token: String? = nil) throws -> SourceRequest {
        let signature = try StandardWebhooksSigner.signatures(
            id: "f5e5f430", timestampSeconds: seconds, body: Array(body.utf8), keys: [WebhookSigningKey(signingToken)])
        let headers = [
            ("webhook-id", "f5e5f430"), ("webhook-timestamp", "\(seconds)"), ("webhook-signature", signature),
            ("idempotency-key", "f5e5f430"), ("x-gitlab-event", "Push Hook"),
        ]
        return request(body, headers + (token.map { [("x-gitlab-token", $0)] } ?? []))
    }

    // MARK: Proof

    @Test func theTokenIsCompared() {
        #expect(source.refusal(of: request("{}", [("x-gitlab-token", "open sesame")]), "open sesame") == nil)
        #expect(source.refusal(of: request("{}", [("x-gitlab-token", "b")]), "a", "b") == nil)
        for token in ["", "open", "open sesame ", "Open sesame"] {
            #expect(
                source.refusal(of: request("{}", [("x-gitlab-token", token)]), "open sesame") == "credentials-invalid")
        }
        #expect(source.refusal(of: request("{}"), "a") == "signature-missing")
        let twice = request("{}", [("x-gitlab-token", "a"), ("x-gitlab-token", "a")])
        #expect(source.refusal(of: twice, "a") == "credentials-invalid")
    }

    @Test func theSignatureIsThatOfStandardWebhooks() throws {
        let request = try signed("{}", token: "t")
        #expect(source.refusal(of: request, signingToken) == nil)
        #expect(source.refusal(of: request, "t", signingToken) == nil)
        #expect(source.refusal(of: request.received(afterMilliseconds: 300_000), signingToken) != nil)
        let other = SourceRequest(headers: request.headers, body: Array("{} ".utf8), receivedAt: noon)
        #expect(source.refusal(of: other, signingToken) == "signature-invalid")
        // The token does not help a signature that is wrong.
        #expect(source.refusal(of: other, "t", signingToken) == "signature-invalid")
        // Without a signing token the signature is not looked at.
        #expect(source.refusal(of: other, "t") == nil)
        #expect(source.refusal(of: stripped(other, of: "webhook-signature"), signingToken) != nil)
    }

    private func stripped(_ request: SourceRequest, of name: String) -> SourceRequest {
        SourceRequest(headers: request.headers.filter { $0.name != name }, body: request.body, receivedAt: noon)
    }

    @Test func aStrippedSignatureIsMissed() {
        #expect(source.refusal(of: request("{}"), signingToken) == "signature-missing")
        #expect(source.refusal(of: request("{}", [("x-gitlab-token", "t")]), signingToken) == "credentials-invalid")
    }

    @Test func secrets() {
        let fault = GitLabSource.kind.secretFault
        #expect(fault(SourceSecret("a token")) == nil)
        #expect(fault(SourceSecret(signingToken)) == nil)
        #expect(fault(SourceSecret("whsec_*")) == "must be base64 after its prefix")
        #expect(fault(SourceSecret("")) == "is empty")
    }

    // MARK: Events

    @Test func repetitionsAreKnownByTheKey() throws {
        let (event, hook) = (("x-gitlab-event-uuid", "e"), ("x-gitlab-webhook-uuid", "h"))
        for (headers, keys) in [
            ([("webhook-id", "k"), ("idempotency-key", "k"), event, hook], ["key:k"]),
            ([("idempotency-key", "k"), event, hook], ["key:k"]), ([event, hook], ["event:e:h"]),
            ([event], ["event:e"]),
            ([hook], []), ([], []),
        ] as [([(name: String, value: String)], [String])] {
            #expect(try source.decode(request("{}", headers)).events[0].dedupeKeys == keys)
        }
        #expect(source.decodingRefusal(of: request("{}", [("idempotency-key", "")])) == "bad-delivery-id")
    }

    private static let project = #""project":{"path_with_namespace":"g/p"}"#

    /// Payloads cut down from docs.gitlab.com, "Webhook events".
    @Test(
        arguments: [
            (
                "Push Hook", #"{"object_kind":"push","ref":"refs/heads/main",\#(project)}"#,
                "gitlab://g/p/-/refs/heads/main"
            ),
            ("Issue Hook", #"{"object_attributes":{"id":301,"iid":23},\#(project)}"#, "gitlab://g/p/-/issues/23"),
            ("Merge Request Hook", #"{"object_attributes":{"iid":1},\#(project)}"#, "gitlab://g/p/-/merge_requests/1"),
            ("Pipeline Hook", #"{"object_attributes":{"id":31},\#(project)}"#, "gitlab://g/p/-/pipelines/31"),
            ("Job Hook", #"{"build_id":1977,\#(project)}"#, "gitlab://g/p/-/jobs/1977"),
            ("Release Hook", #"{"tag":"v1.1",\#(project)}"#, "gitlab://g/p/-/releases/v1.1"),
            ("Deployment Hook", #"{"deployment_id":15,\#(project)}"#, "gitlab://g/p/-/deployments/15"),
            ("Note Hook", #"{"issue":{"id":92,"iid":17},\#(project)}"#, "gitlab://g/p/-/issues/17"),
            ("Confidential Note Hook", #"{"merge_request":{"iid":1},\#(project)}"#, "gitlab://g/p/-/merge_requests/1"),
            ("Note Hook", #"{"commit":{"id":"cfe32cf6"},\#(project)}"#, "gitlab://g/p/-/commit/cfe32cf6"),
            ("Note Hook", #"{"snippet":{"id":53},\#(project)}"#, "gitlab://g/p/-/snippets/53"),
            ("Note Hook", #"{"issue":{"iid":null},\#(project)}"#, nil),
            ("Member Hook", #"{"event_name":"user_add_to_group","group":{"full_path":"g"}}"#, "gitlab://g"),
            ("System Hook", #"{"event_name":"project_create","path_with_namespace":"g/new"}"#, "gitlab://g/new"),
        ] as [(String, String, String?)])
    func contentIDsFollowThePages(type: String, body: String, contentID: String?) throws {
        let event = try source.decode(request(body, [("x-gitlab-event", type)])).events[0]
        #expect(event.type == type && event.payload == Array(body.utf8))
        let templates = source.defaults.contentID
        let template = TemplateText(try #require(templates[type] ?? templates["*"]))
        #expect(template.filled(from: try parsed(body), attributes: event.attributes) == contentID)
    }

    @Test func otherBodiesAreRefused() {
        for type in ["Push Hook", "Note Hook"] {
            #expect(source.decodingRefusal(of: request("x", [("x-gitlab-event", type)])) == "json-unexpected-byte")
            #expect(source.decodingRefusal(of: request("1", [("x-gitlab-event", type)])) == "payload-not-an-object")
        }
    }
}
