public import RouterPlugin

/// Webhooks of GitLab, which prove their sender by `X-Gitlab-Token`, or by a signature of Standard Webhooks where the
/// hook has a signing token, `whsec_…`.
///
/// The type of an event is `X-Gitlab-Event`, such as `Merge Request Hook`. A repetition has the same `Idempotency-Key`,
/// which is `webhook-id` as well. `X-Gitlab-Event-UUID` stands in for releases before 17.4 only: hooks that one hook
/// has set off share it. Comments have the attribute `noteable`, the path of the thing they are about, such as
/// `issues/17`.
///
/// Facts: docs.gitlab.com, "Webhooks", "Delivery headers" and "Webhook events"; merge requests 230944 and 231325 of
/// gitlab-org/gitlab for signing tokens.
public struct GitLabSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.gitlab")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks of GitLab, by secret token or signing token.", secrets: .required,
        secretFault: { secret in
            secret.text.hasPrefix(WebhookSecret.prefix)
                ? SecretFaults.webhookKey(secret) : SecretFaults.signingKey(secret)
        }
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return GitLabSource()
    }

    private static let tokenHeader = "x-gitlab-token"
    private static let noteEvents = ["Note Hook", "Confidential Note Hook"]

    /// A source with the settings of GitLab.
    public init() {}

    /// Content ids that follow the paths of GitLab's own pages.
    public var defaults: SourceDefaults { SourceDefaults(contentID: Self.contentIDs) }

    private static let contentIDs: [String: String] = {
        let paths = [
            "Confidential Issue Hook": "issues/{object_attributes.iid}",
            "Confidential Note Hook": "{attribute.noteable}",
            "Deployment Hook": "deployments/{deployment_id}",
            "Feature Flag Hook": "feature_flags/{object_attributes.id}",
            "Issue Hook": "issues/{object_attributes.iid}",
            "Job Hook": "jobs/{build_id}",
            "Merge Request Hook": "merge_requests/{object_attributes.iid}",
            "Milestone Hook": "milestones/{object_attributes.iid}",
            "Note Hook": "{attribute.noteable}",
            "Pipeline Hook": "pipelines/{object_attributes.id}",
            "Push Hook": "{ref}",
            "Release Hook": "releases/{tag}",
            "Tag Push Hook": "{ref}",
            "Wiki Page Hook": "wikis/{object_attributes.slug}",
        ]
        var templates = paths.mapValues { "gitlab://{project.path_with_namespace}/-/" + $0 }
        templates["*"] = "gitlab://{project.path_with_namespace|path_with_namespace|group.full_path|full_path}"
        return templates
    }()

    /// Checks the signature where there is one and a signing token to check it by; the secret token otherwise.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        let keys = secrets.compactMap { try? WebhookSecret($0.text) }
        if !keys.isEmpty, StandardWebhooksProof.isBorne(by: request) {
            return try StandardWebhooksProof.verify(request, with: keys.map { .symmetric($0) })
        }
        guard let token = try request.proof(Self.tokenHeader, code: "credentials-invalid") else {
            throw .missingProof(keys.isEmpty ? Self.tokenHeader : "webhook-signature")
        }
        guard secrets.contains(where: { ConstantTime.equal(Array($0.text.utf8), Array(token.utf8)) }) else {
            throw .invalidCredentials(Self.tokenHeader)
        }
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-event-type`, `bad-delivery-id`,
    ///   `duplicate-header`, `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let type = try request.eventType(in: "x-gitlab-event")
        var event = SourceEvent(type: type, payload: request.body, dedupeKeys: try Self.dedupeKeys(of: request))
        if Self.noteEvents.contains(where: { $0 == type }) {
            let noteable = Self.noteable(of: try JSONBody.object(request.body))
            event.attributes = noteable.map { [SourceEvent.Attribute("noteable", $0)] } ?? []
        } else {
            try JSONBody.check(request.body)
        }
        return SourceDecoding([event])
    }

    private static func dedupeKeys(of request: SourceRequest) throws(SourceError) -> [String] {
        // Beside a signature the id that it covers counts alone: a forger could make up the others.
        if StandardWebhooksProof.isBorne(by: request), let id = try StandardWebhooksProof.id(of: request) {
            return ["key:\(id)"]
        }
        for name in ["webhook-id", "idempotency-key"] {
            if let key = try request.deliveryID(in: name) { return ["key:\(key)"] }
        }
        guard let event = try request.deliveryID(in: "x-gitlab-event-uuid") else { return [] }
        // Hooks of the same event have different ones.
        guard let hook = try request.deliveryID(in: "x-gitlab-webhook-uuid") else { return ["event:\(event)"] }
        // Both are UUIDs. Longer texts would make a key for which stores have no room.
        guard event.utf8.count + hook.utf8.count <= SenderLimits.maximumIDLength else {
            let message =
                "The headers x-gitlab-event-uuid and x-gitlab-webhook-uuid must have "
                + "\(SenderLimits.maximumIDLength) characters together at most."
            throw SourceError(code: "bad-delivery-id", message: message)
        }
        return ["event:\(event):\(hook)"]
    }

    /// The path of the thing that a comment is about.
    private static func noteable(of body: JSONObject) -> String? {
        for (member, path, field) in [
            ("issue", "issues", "iid"), ("merge_request", "merge_requests", "iid"), ("commit", "commit", "id"),
            ("snippet", "snippets", "id"),
        ] {
            guard let thing = body[member]?.asObject, let value = thing[field] else { continue }
            switch value {
            case .number(let number): return "\(path)/\(number.text)"
            case .string(let text) where EventText.isPrintable(text, upTo: SenderLimits.maximumIDLength):
                return "\(path)/\(text)"
            default: continue
            }
        }
        return nil
    }
}
