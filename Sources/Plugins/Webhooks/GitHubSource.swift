public import RouterPlugin

/// Webhooks of GitHub, signed by `X-Hub-Signature-256`.
///
/// The type of an event is `X-GitHub-Event` alone, such as `issues`; the action within it, such as `opened`, is in the
/// payload for filters (`action == 'opened'`) and templates. The payload is the body as received, or the field
/// `payload` of a form. A repetition has the same `X-GitHub-Delivery`, or the same body if it has none. The id is not
/// signed: with the option `refuseRepeatedBodies` a body is taken once, whatever its id.
///
/// Facts: docs.github.com, "Validating webhook deliveries" and "Webhook events and payloads".
public struct GitHubSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.github")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of GitHub, signed by X-Hub-Signature-256.", secrets: .required,
        fields: [RepeatedBodies.field], secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        let options = try PluginConfiguration(options, declared: [RepeatedBodies.field])
        return GitHubSource(repeatedBodies: try RepeatedBodies(options))
    }

    private let signature = HMACVerifier(header: "x-hub-signature-256", prefix: "sha256=")
    private let repeatedBodies: RepeatedBodies

    /// A source with the settings of GitHub.
    public init() { self.init(repeatedBodies: .usual) }

    private init(repeatedBodies: RepeatedBodies) { self.repeatedBodies = repeatedBodies }

    /// Content ids that follow the paths of GitHub's own pages.
    public var defaults: SourceDefaults { SourceDefaults(contentID: Self.contentIDs) }

    private static let contentIDs: [String: String] = {
        let paths = [
            "check_run": "runs/{check_run.id}",
            "check_suite": "suites/{check_suite.id}",
            "code_scanning_alert": "security/code-scanning/{alert.number}",
            "commit_comment": "commit/{comment.commit_id}",
            "create": "{ref_type}/{ref}",
            "delete": "{ref_type}/{ref}",
            "dependabot_alert": "security/dependabot/{alert.number}",
            "deployment": "deployments/{deployment.id}",
            "deployment_status": "deployments/{deployment.id}",
            "discussion": "discussions/{discussion.number}",
            "discussion_comment": "discussions/{discussion.number}",
            "issue_comment": "issues/{issue.number}",
            "issues": "issues/{issue.number}",
            "label": "labels/{label.name}",
            "milestone": "milestone/{milestone.number}",
            "pull_request": "pull/{pull_request.number}",
            "pull_request_review": "pull/{pull_request.number}",
            "pull_request_review_comment": "pull/{pull_request.number}",
            "pull_request_review_thread": "pull/{pull_request.number}",
            "push": "{ref}",
            "release": "releases/{release.tag_name}",
            "secret_scanning_alert": "security/secret-scanning/{alert.number}",
            "status": "commit/{sha}",
            "workflow_job": "actions/runs/{workflow_job.run_id}",
            "workflow_run": "actions/runs/{workflow_run.id}",
        ]
        var templates = paths.mapValues { "github://{repository.full_name}/" + $0 }
        templates["security_advisory"] = "github://advisories/{security_advisory.ghsa_id}"
        templates["*"] = "github://{repository.full_name|organization.login|installation.account.login|sender.login}"
        return templates
    }()

    /// Checks the signature of the body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        if try request.proof(signature.header) == nil, try request.proof("x-hub-signature") != nil {
            let message =
                "The header x-hub-signature is SHA-1 and not taken; x-hub-signature-256, which GitHub sends for every "
                + "webhook with a secret, is missing."
            throw SourceError(code: "signature-missing", message: message, kind: .unauthenticated)
        }
        try signature.verify(request, with: secrets)
    }

    /// One event; `ping` is one like the others.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `form-field-missing`, `bad-event-type`,
    ///   `bad-delivery-id`, `duplicate-header`, `header-not-utf8`; the codes of forms.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let type = try request.eventType(in: "x-github-event")
        let delivery = try request.deliveryID(in: "x-github-delivery")
        var payload = request.body
        let isForm = try FormBody.isForm(request)
        if isForm {
            guard let field = try FormBody(request.body).value(of: "payload") else {
                throw SourceError(code: "form-field-missing", message: "The form has no field payload.")
            }
            payload = Array(field.utf8)
        }
        try JSONBody.check(payload, isWholeBody: !isForm)
        let keys = repeatedBodies.keys(delivery.map { "delivery:\($0)" }, of: request)
        return SourceDecoding([SourceEvent(type: type, payload: payload, dedupeKeys: keys)])
    }
}
