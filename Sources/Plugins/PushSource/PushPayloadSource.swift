public import RouterPlugin

/// A push payload in JSON with the headers of APNs: what `POST …/notifications` takes.
///
/// The payload is kept byte for byte. The content id is the first non-empty of the top-level `notification-content-id`,
/// `aps.target-content-id`, `aps.notification-content-id` and the header `target-content-id`; without any, the
/// notification names no content. Null counts as absent.
public struct PushPayloadSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.push")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes push payloads in JSON with the headers of APNs.", secrets: .optional
    ) {
        (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return PushPayloadSource()
    }

    private let limits: JSONLimits
    private let lookup = JSONLookup([
        ["notification-content-id"], ["aps", "target-content-id"], ["aps", "notification-content-id"],
    ])

    /// A source that takes bodies within the limits.
    public init(limits: JSONLimits = .ingest) {
        self.limits = limits
    }

    /// Checks the secret that the sender presents as a bearer token.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try BearerToken.verify(request, with: secrets)
    }

    /// One event.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `content-id-not-a-string`, `invalid-content-id`; and
    ///   for headers `duplicate-header`, `header-not-utf8`, `bad-message-id`, `bad-expiration-date`, `bad-priority`,
    ///   `bad-collapse-id`, `bad-idempotency-key`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let headers = try PushHeaders(request)
        let event = SourceEvent(
            contentID: try contentID(of: request), payload: request.body, priority: headers.priority,
            expiration: headers.expiration, collapseID: headers.collapseID, dedupeKeys: headers.dedupeKeys
        )
        return SourceDecoding([event])
    }

    private func contentID(of request: SourceRequest) throws(SourceError) -> ContentID? {
        let answer: JSONLookup.Answer
        do {
            answer = try lookup.search(request.body, limits: limits)
        } catch {
            throw SourceError(code: error.code, message: error.message, offset: error.offset)
        }
        guard answer.root == .object else {
            throw SourceError(code: "payload-not-an-object", message: "The payload must be a JSON object.")
        }
        var found: (text: String, offset: Int?)?
        for finding in answer.findings {
            switch finding {
            case .absent, .notAString(.null, _): break
            case .string(let text, let offset):
                if found == nil, !text.isEmpty { found = (text, offset) }
            // Even behind a good one: a payload whose sender and reader disagree on a field is not guessed at.
            case .notAString(_, let offset):
                let message = "A content id of the payload is not a string."
                throw SourceError(code: "content-id-not-a-string", message: message, offset: offset)
            }
        }
        if found == nil, let text = try request.header("target-content-id"), !text.isEmpty { found = (text, nil) }
        guard let found else { return nil }
        do {
            return try ContentID(found.text)
        } catch {
            throw SourceError(code: error.code, message: error.description, offset: found.offset)
        }
    }
}
