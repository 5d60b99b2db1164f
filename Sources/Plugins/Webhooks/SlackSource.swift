public import RouterPlugin

/// Requests of Slack, signed by `X-Slack-Signature`: the Events API, slash commands and interactivity.
///
///     body                          event                            payload             answer
///     JSON, url_verification        none                             -                   200, the challenge
///     JSON, event_callback          type of the inner event          the body            the router's
///     JSON, other                   the member type                  the body            the router's
///     form with ssl_check=1         none                             -                   200, empty
///     form with payload=            type in the payload              that JSON           200, empty
///     form with command=            slash_command                    fields as JSON      200, empty
///     form with ssl_check=          none                             -                   200, empty
///
/// Slack checks the certificate of a URL by a form with `ssl_check=1`, which bears no signature; nothing else in such a
/// form counts.
///
/// A repetition of an event has the same `event_id`; commands and interactions have a `trigger_id`.
///
/// Facts: docs.slack.dev, "Verifying requests from Slack", "The Events API", "Implementing slash commands", "Handling
/// user interaction".
public struct SlackSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.slack")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes events, commands and interactions of Slack, signed by X-Slack-Signature.",
        secrets: .required, secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return SlackSource()
    }

    private let signature = HMACVerifier(
        header: "x-slack-signature", prefix: "v0=",
        content: SignedContent([.literal("v0:"), .timestamp, .literal(":"), .body]),
        timestampHeader: "x-slack-request-timestamp", toleranceSeconds: 300)
    private let eventLookup = JSONLookup([["type"], ["event", "type"], ["event_id"], ["challenge"]])
    private let interactionLookup = JSONLookup([["type"], ["trigger_id"]])

    /// A source with the settings of Slack.
    public init() {}

    /// The workspace and the channel.
    public var defaults: SourceDefaults {
        let channel = "event.channel.id|event.channel|event.item.channel|channel.id|channel_id"
        return SourceDefaults(contentID: ["*": "slack://{team_id|team.id}/{\(channel)}"])
    }

    /// Answers the check of the certificate.
    public func handshake(_ request: SourceRequest) -> SourceResponse? {
        guard (try? FormBody.isForm(request)) == true, let form = try? FormBody(request.body) else { return nil }
        return Self.isCertificateCheck(form) ? Self.empty : nil
    }

    private static func isCertificateCheck(_ form: FormBody) -> Bool {
        form.value(of: "ssl_check").map { $0.isSame(as: "1") } ?? false
    }

    /// Checks the signature of timestamp and body.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try signature.verify(request, with: secrets)
    }

    /// One event, or the answer of a handshake.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `challenge-missing`, `form-field-missing`,
    ///   `bad-event-type`, `bad-delivery-id`, `duplicate-header`, `header-not-utf8`; the codes of forms.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        guard try FormBody.isForm(request) else { return try decodeEvent(request) }
        let form = try FormBody(request.body)
        if Self.isCertificateCheck(form) { return .answer(Self.empty) }
        if let payload = form.value(of: "payload") { return try decodeInteraction(Array(payload.utf8)) }
        if form.value(of: "command") != nil { return try decodeCommand(form) }
        if form.value(of: "ssl_check") != nil { return .answer(Self.empty) }
        let message = "The form has none of the fields payload, command and ssl_check."
        throw SourceError(code: "form-field-missing", message: message)
    }

    /// The answer that lets a command or an interaction pass without a message of its own.
    private static let empty = SourceResponse(status: 200)

    private func decodeEvent(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let body = request.body
        let strings = try JSONBody.strings(at: eventLookup, of: body)
        if strings[0] == "url_verification" {
            guard let challenge = strings[3] else {
                let message = "A url_verification needs the member challenge, a string."
                throw SourceError(code: "challenge-missing", message: message)
            }
            let type = SourceResponse.Field("content-type", "text/plain; charset=utf-8")
            return .answer(SourceResponse(status: 200, headers: [type], body: Array(challenge.utf8)))
        }
        let isCallback = strings[0] == "event_callback"
        let type = try EventText.type(isCallback ? strings[1] : strings[0], in: "type of the event")
        let id = try EventText.id(strings[2], in: "member event_id")
        return SourceDecoding([
            SourceEvent(type: type, payload: body, dedupeKeys: [id.map { "event:\($0)" } ?? request.bodyKey])
        ])
    }

    private func decodeInteraction(_ payload: [UInt8]) throws(SourceError) -> SourceDecoding {
        let strings = try JSONBody.strings(at: interactionLookup, of: payload, isWholeBody: false)
        let type = try EventText.type(strings[0], in: "member type")
        let keys = try Self.triggerKeys(strings[1])
        return SourceDecoding([SourceEvent(type: type, payload: payload, dedupeKeys: keys)], response: Self.empty)
    }

    private func decodeCommand(_ form: FormBody) throws(SourceError) -> SourceDecoding {
        let keys = try Self.triggerKeys(form.value(of: "trigger_id"))
        let payload = JSONValue.object(form.object()).serialized()
        return SourceDecoding(
            [SourceEvent(type: "slash_command", payload: payload, dedupeKeys: keys)], response: Self.empty)
    }

    private static func triggerKeys(_ id: String?) throws(SourceError) -> [String] {
        try EventText.id(id, in: "trigger_id").map { ["trigger:\($0)"] } ?? []
    }
}
