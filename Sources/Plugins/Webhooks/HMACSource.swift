public import RouterPlugin

/// Webhooks of any sender that signs by an HMAC in a header, described by options:
///
///     {"header": "X-Signature", "algorithm": "sha256", "encoding": "hex", "prefix": "v1=", "separator": ",",
///      "signedContent": "{id}.{timestamp}.{body}", "timestampHeader": "X-Timestamp", "toleranceSeconds": 300,
///      "idHeader": "X-Delivery"}
///
/// - `header` is the only required option.
/// - `algorithm` is `sha256`, `sha512` or `sha1`; `encoding` is `hex`, `base64` or `base64url`.
/// - `prefix` stands before the signature; `separator`, one character, stands between several signatures.
/// - `signedContent` has `{body}`, and may have `{timestamp}`, `{id}` and `{header.NAME}`.
/// - `timestampHeader` has seconds since 1970 and must be signed.
/// - `idHeader` is the same for repetitions; without it, `Idempotency-Key` is.
/// - `refuseRepeatedBodies` makes a body that came before a repetition whatever its id.
public struct HMACSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.hmac")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes webhooks that are signed by an HMAC in a header.", secrets: .required,
        fields: fields, secretFault: SecretFaults.signingKey
    ) { (options) throws(PluginConfigurationError) in
        try HMACSource(options: options)
    }

    private static let fields = [
        PluginField("header", .string, .required, summary: "The header that has the signature."),
        PluginField(
            "algorithm", .string, .byDefault("sha256"),
            among: HMACVerifier.Algorithm.allCases.map { .string($0.rawValue) },
            summary: "The hash function of the HMAC."),
        PluginField(
            "encoding", .string, .byDefault("hex"), among: SignatureEncoding.allCases.map { .string($0.rawValue) },
            summary: "The spelling of the signature."),
        PluginField("prefix", .string, .byDefault(""), summary: "The text before each signature."),
        PluginField(
            "separator", .string, among: [" ", ",", ";", "|", "&"],
            summary: "The character between several signatures; one signature, if left out."),
        PluginField(
            "signedContent", .string, .byDefault("{body}"),
            summary: "The signed text: {body}, {timestamp}, {id}, {header.NAME} and text between them."),
        PluginField("timestampHeader", .string, summary: "The header that has the signed time, in seconds since 1970."),
        PluginField(
            "toleranceSeconds", .integer, .byDefault(.number(JSONNumber(SenderLimits.toleranceSeconds))),
            unit: "seconds", summary: "The greatest difference between the signed time and the time of arrival."),
        PluginField(
            "idHeader", .string,
            summary: "The header whose value is the same for repetitions; Idempotency-Key, if left out."),
        RepeatedBodies.field,
    ]

    private var signature: HMACVerifier
    private let repeatedBodies: RepeatedBodies

    /// A source as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `missing-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(options: JSONValue) throws(PluginConfigurationError) {
        let options = try PluginConfiguration(options, declared: Self.fields)
        signature = HMACVerifier(header: try options.required("header", options.headerName("header")))
        repeatedBodies = try RepeatedBodies(options)
        if let algorithm: HMACVerifier.Algorithm = try options.choice("algorithm") { signature.algorithm = algorithm }
        if let encoding: SignatureEncoding = try options.choice("encoding") { signature.encoding = encoding }
        signature.prefix = try options.printable("prefix", in: 0...SenderLimits.maximumOptionLength) ?? ""
        if let separator = try options.separator("separator") { signature.layout = .list(separator: separator) }
        signature.timestampHeader = try options.headerName("timestampHeader")
        signature.idHeader = try options.headerName("idHeader")
        if let tolerance = try options.toleranceSeconds(timestampHeader: signature.timestampHeader) {
            signature.toleranceSeconds = tolerance
        }
        if let content = try options.signedContent("signedContent") { signature.content = content }
        try check(options)
    }

    /// Checks that the signed content and the headers fit.
    private func check(_ options: PluginConfiguration) throws(PluginConfigurationError) {
        let parts = signature.content.parts
        if parts.contains(.timestamp), signature.timestampHeader == nil {
            throw options.invalid("signedContent", because: "has {timestamp}, which needs the field timestampHeader")
        }
        if parts.contains(.id), signature.idHeader == nil {
            throw options.invalid("signedContent", because: "has {id}, which needs the field idHeader")
        }
        if let header = signature.timestampHeader, !parts.contains(.timestamp), !parts.contains(.header(header)) {
            let reason = "names a timestamp that is not signed; signedContent must have {timestamp}"
            throw options.invalid("timestampHeader", because: reason)
        }
    }

    /// Checks the signature, and the timestamp if there is one.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try signature.verify(request, with: secrets)
    }

    /// One event without a type.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-delivery-id`, `bad-idempotency-key`,
    ///   `duplicate-header`, `header-not-utf8`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        let key =
            if let idHeader = signature.idHeader {
                try request.deliveryID(in: idHeader).map { "delivery:\($0)" }
            } else {
                try request.idempotencyKey().map { "key:\($0)" }
            }
        try JSONBody.check(request.body)
        let keys = repeatedBodies.areRefused ? repeatedBodies.keys(key, of: request) : key.map { [$0] } ?? []
        return SourceDecoding([SourceEvent(payload: request.body, dedupeKeys: keys)])
    }
}
