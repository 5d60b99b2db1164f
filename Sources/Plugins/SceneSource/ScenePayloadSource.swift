public import RouterPlugin

/// A source for user activities, URLs and shortcut items, which UIKit brings to a scene beside push payloads: JSON with
/// the headers of APNs, as `POST …/events` takes it.
///
/// A body has one of these:
///
///     {"userActivity": {"activityType": "…", "targetContentIdentifier": "…", "webpageURL": "…", "userInfo": {}}}
///     {"shortcutItem": {"type": "…", "targetContentIdentifier": "…", "userInfo": {}}}
///     {"url": "myapp://doc/42", "options": {"sourceApplication": "…", "openInPlace": false}}
///
/// The payload is the activity, the shortcut item or the URL context alone, in compact JSON.
public struct ScenePayloadSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.scene")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes user activities, URLs and shortcut items in JSON.", secrets: .optional
    ) {
        (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return ScenePayloadSource()
    }

    private let limits: JSONLimits

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
    /// - Throws: any code of `JSONError`; `not-an-object`, `missing-field`, `unknown-field`, `wrong-type`,
    ///   `invalid-content-id`; and for headers what `PushPayloadSource` throws.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let headers = try PushHeaders(request)
        let (kind, contentID, value) = try content(of: request)
        return SourceDecoding([
            SourceEvent(
                kind: kind, contentID: contentID, payload: value.serialized(), priority: headers.priority,
                expiration: headers.expiration, collapseID: headers.collapseID, dedupeKeys: headers.dedupeKeys)
        ])
    }

    private func content(
        of request: SourceRequest
    ) throws(SourceError) -> (NotificationKind, ContentID?, JSONValue) {
        let body: JSONValue
        do {
            body = try JSONValue(parsing: request.body, limits: limits)
        } catch {
            throw SourceError(code: error.code, message: error.message, offset: error.offset)
        }
        guard let object = body.asObject else {
            throw SourceError(code: "not-an-object", message: "The body must be a JSON object.")
        }
        switch (object["userActivity"], object["shortcutItem"], object["url"]) {
        case (let value?, nil, nil) where object.count == 1:
            let activity = try UserActivity(value)
            return (.userActivity, activity.contentID, value)
        case (nil, let value?, nil) where object.count == 1:
            let item = try ShortcutItem(value)
            return (.shortcutItem, item.contentID, value)
        case (nil, nil, .some):
            let context = try OpenURLContext(body)
            return (.url, context.contentID, body)
        case (nil, nil, nil):
            let message = "The body must have one of userActivity, shortcutItem and url."
            throw SourceError(code: "missing-field", message: message, kind: .unprocessable)
        default:
            let message = "The body has one of userActivity, shortcutItem and url, and options with a url."
            throw SourceError(code: "unknown-field", message: message)
        }
    }
}
