import Crypto
public import RouterPlugin

/// CloudEvents 1.0 over HTTP, in structured, batched and binary mode, with the handshake of CloudEvents' web hooks.
///
/// | mode | recognised by | payload of the event |
/// |---|---|---|
/// | structured | content type `application/cloudevents+json` | the body as received |
/// | batched | content type `application/cloudevents-batch+json` | the bytes of the array's element as received |
/// | binary | headers that begin with `ce-`, and any other content type | the data: the body as received; JSON data is checked |
///
/// In every mode the event's attributes are all those of the CloudEvent, `datacontenttype` included, so a template says
/// `{attribute.subject}` for any sender. A template reads the payload as it is forwarded: a value of the data is
/// `{data.order.id}` in structured and batched mode and `{order.id}` in binary mode, and `{data.order.id|order.id}` in
/// all of them.
///
/// The type of event is `type`. The content id is `subject`, or the attribute that the option `contentIdAttribute`
/// names. `source` and `id` together are the key by which a repetition is recognised; an event that repeats an earlier
/// one of its batch is left out. `time` has no part in routing and is not checked.
///
/// Secrets are bearer tokens, in the header `Authorization` or in the query parameter `access_token`.
///
/// Specifications: cloudevents/spec, `spec.md`, `bindings/http-protocol-binding.md`, `formats/json-format.md` and
/// `http-webhook.md`.
public struct CloudEventsSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.cloudevents")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind. Options: `contentIdAttribute`, the name of an attribute; `allowedOrigins`, an array of DNS names or
    /// `*`; `allowedRate`, requests in a minute or `*`.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes CloudEvents 1.0 in structured, batched and binary mode.", secrets: .optional,
        fields: fields
    ) { (options) throws(PluginConfigurationError) in
        try CloudEventsSource(options: options)
    }

    /// Events, and the handshake's question.
    public var methods: [String] { ["POST", "OPTIONS"] }

    private static let fields = [
        PluginField(
            "contentIdAttribute", .string, .byDefault("subject"), summary: "The attribute that holds the content id."),
        PluginField(
            "allowedOrigins", .strings, .byDefault(["*"]), summary: "The DNS names of senders that get consent, or *."),
        PluginField(
            "allowedRate", .any, .byDefault("*"), unit: "requests per minute", summary: "A whole number from 1, or *."),
    ]

    let contentIDAttribute: String
    let consent: CloudEventsConsent
    private let limits: JSONLimits

    /// A source with the default options, for bodies within the limits.
    public init(limits: JSONLimits = .ingest) {
        contentIDAttribute = "subject"
        consent = CloudEventsConsent()
        self.limits = limits
    }

    /// A source with the options of its kind.
    public init(options: JSONValue, limits: JSONLimits = .ingest) throws(PluginConfigurationError) {
        let fields = try PluginConfiguration(options, declared: Self.fields)
        let name = try fields.string("contentIdAttribute") ?? "subject"
        guard CloudEventAttributes.isName(name) else {
            throw fields.invalid("contentIdAttribute", because: "must be lower-case letters and digits, and not data")
        }
        contentIDAttribute = name
        consent = try CloudEventsConsent(fields, rate: options["allowedRate"])
        self.limits = limits
    }

    // MARK: Senders

    /// Answers the question for consent: a request with the method `OPTIONS`.
    ///
    /// The question comes without credentials, and its answer says only whether the origin may send and how often. The
    /// consent protects the sender's operator, not this source: events are verified all the same.
    public func handshake(_ request: SourceRequest) -> SourceResponse? {
        request.method == "OPTIONS" ? consent.answer(to: request) : nil
    }

    /// Checks the bearer token of the header `Authorization` or of the query parameter `access_token`.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        let tokens = request.query.filter { $0.name == "access_token" }
        guard !tokens.isEmpty else { return try BearerToken.verify(request, with: secrets) }
        guard tokens.count == 1, try request.proof("authorization", code: "credentials-invalid") == nil else {
            let message = "The token must be either in the header authorization or once in the query as access_token."
            throw SourceError(code: "credentials-invalid", message: message, kind: .unauthenticated)
        }
        guard secrets.contains(where: { ConstantTime.equal(Array($0.text.utf8), Array(tokens[0].value.utf8)) }) else {
            let message = "The query parameter access_token is not one of the source's secrets."
            throw SourceError(code: "credentials-invalid", message: message, kind: .unauthenticated)
        }
    }

    // MARK: Events

    /// The events of the request.
    ///
    /// - Throws: any code of `JSONError`; `not-a-cloudevent`, `unsupported-event-format`, `unsupported-specversion`,
    ///   `batch-not-an-array`, `event-not-an-object`, `missing-attribute`, `invalid-attribute-name`,
    ///   `invalid-attribute-value`, `invalid-data`, `invalid-content-id`; and for headers `duplicate-header` and
    ///   `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        if let answer = handshake(request) { return .answer(answer) }
        let contentType = try request.header("content-type")
        switch try CloudEventsMode(contentType: contentType) {
        case .structured: return SourceDecoding([try event(in: 0..<request.body.count, of: request.body)])
        case .batched: return try batch(request.body)
        case .binary: return SourceDecoding([try binaryEvent(request, contentType)])
        }
    }

    /// The events of an array, each once. An empty batch is valid and brings nothing.
    private func batch(_ body: [UInt8]) throws(SourceError) -> SourceDecoding {
        guard
            let ranges = try Self.reading({ () throws(JSONError) in try JSONElements.ranges(in: body, limits: limits) })
        else {
            throw SourceError(code: "batch-not-an-array", message: "A batch of CloudEvents must be a JSON array.")
        }
        guard !ranges.isEmpty else { return .answer(SourceResponse(status: 204)) }
        var events: [SourceEvent] = []
        var keys: Set<[UInt8]> = []
        for range in ranges {
            let event = try event(in: range, of: body)
            if keys.insert(event.dedupeKeys.flatMap { Array($0.utf8) }).inserted { events.append(event) }
        }
        return SourceDecoding(events)
    }

    /// The event of structured mode that stands at a place of the body.
    private func event(in range: Range<Int>, of body: [UInt8]) throws(SourceError) -> SourceEvent {
        let bytes = range.count == body.count ? body : Array(body[range])
        let value = try Self.reading { () throws(JSONError) in try JSONValue(parsing: bytes, limits: limits) }
        do throws(SourceError) {
            guard let object = value.asObject else {
                throw SourceError(code: "event-not-an-object", message: "A CloudEvent must be a JSON object.")
            }
            return try event(
                CloudEventAttributes(of: object), payload: bytes, contentType: "application/cloudevents+json")
        } catch {
            throw SourceError(code: error.code, message: error.message, offset: range.lowerBound, kind: error.kind)
        }
    }

    private func binaryEvent(_ request: SourceRequest, _ contentType: String?) throws(SourceError) -> SourceEvent {
        let attributes = try CloudEventAttributes(ofHeaders: request, contentType: contentType)
        let octets = "application/octet-stream"
        guard let contentType, MediaType.isJSON(contentType) else {
            return try event(attributes, payload: request.body, contentType: contentType ?? octets)
        }
        // An event without data has an empty body, which is no JSON.
        guard !request.body.isEmpty else { return try event(attributes, payload: [], contentType: octets) }
        // Receivers find JSON data within the signed JSON of their webhook.
        _ = try Self.reading { () throws(JSONError) in try JSONValue(parsing: request.body, limits: limits) }
        return try event(attributes, payload: request.body, contentType: contentType)
    }

    private func event(
        _ attributes: CloudEventAttributes, payload: [UInt8], contentType: String
    ) throws(SourceError) -> SourceEvent {
        var contentID: ContentID?
        if let text = attributes[contentIDAttribute], !text.isEmpty {
            do { contentID = try ContentID(text) } catch {
                throw SourceError(code: error.code, message: error.description)
            }
        }
        let key = Self.dedupeKey(source: attributes["source"] ?? "", id: attributes["id"] ?? "")
        return SourceEvent(
            type: attributes["type"], contentID: contentID, payload: payload, contentType: contentType,
            dedupeKeys: [key], attributes: attributes.list)
    }

    /// Source and id in one text. The length of the source tells where the id begins; a long text is replaced by its
    /// digest, for which a key has room.
    private static func dedupeKey(source: String, id: String) -> String {
        let text = "cloudevents:\(source.utf8.count):\(source):\(id)"
        guard text.utf8.count > 512 else { return text }
        let digits = Array("0123456789abcdef")
        let digest = SHA256.hash(data: Array(text.utf8))
        return "cloudevents-sha256:" + String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] })
    }

    private static func reading<Value>(
        _ read: () throws(JSONError) -> Value
    ) throws(SourceError) -> Value {
        do {
            return try read()
        } catch {
            throw SourceError(code: error.code, message: error.message, offset: error.offset)
        }
    }
}
