public import RouterPlugin

/// JSON of any sender that presents user and password, `Authorization: Basic …`; the secret is `user:password`.
public struct BasicSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.basic")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes JSON of senders that present user and password.", secrets: .required,
        secretFault: SecretFaults.userAndPassword
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return BasicSource()
    }

    /// A source.
    public init() {}

    /// Checks user and password.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try BasicCredentials.verify(request, with: secrets)
    }

    /// One event without a type.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-idempotency-key`, `duplicate-header`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        try PlainEvent.decode(request)
    }
}

/// JSON of any sender that presents a token, `Authorization: Bearer …`.
public struct BearerSource: PayloadSource {
    /// The source's name.
    public static let id = PluginID(unchecked: "routerd.source.bearer")

    /// The source's name.
    public var id: PluginID { Self.id }

    /// The kind, which has no options.
    public static let kind = PayloadSourceKind(
        id: id, summary: "Takes JSON of senders that present a bearer token.", secrets: .required,
        secretFault: SecretFaults.token
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return BearerSource()
    }

    /// A source.
    public init() {}

    /// Checks the token.
    public func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try BearerToken.verify(request, with: secrets)
    }

    /// One event without a type.
    ///
    /// - Throws: any code of `JSONError`; `payload-not-an-object`, `bad-idempotency-key`, `duplicate-header`.
    public func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        try PlainEvent.decode(request)
    }
}
