/// A way in: verifies the sender of a request and finds the events that it carries.
///
///     request ──verify──▶ known sender ──decode──▶ events ──filter, templates──▶ notifications
///
/// A sender may ask for consent before it sends, or look at the certificate: `handshake` answers such a request, before
/// anything else is done.
///
/// A source is a pure value. It is given everything it needs, reads no clock and keeps no state, so the same request
/// always gives the same answer. Filter and templates are the router's part. Every source runs `PayloadSourceSuite` of
/// RouterTesting.
public protocol PayloadSource: Sendable {
    /// The name of the source's kind.
    var id: PluginID { get }
    /// The methods that the source takes, in upper case.
    var methods: [String] { get }
    /// The templates that apply where the configuration has none.
    var defaults: SourceDefaults { get }
    /// The status that tells the sender to repeat a request later. Some senders give up at 429.
    var retryStatus: Int { get }

    /// The answer to a request that carries no event and that the sender does not sign, such as a question for consent; nil
    /// for other requests.
    ///
    /// The router asks twice, without the body before it reads the body, and with it before it verifies, so a handshake needs no credentials and must not reveal a secret. A request
    /// that is answered here is neither verified nor decoded.
    func handshake(_ request: SourceRequest) -> SourceResponse?

    /// Checks on the raw bytes that a holder of one of the secrets has sent the request. All comparisons take constant
    /// time.
    ///
    /// - Parameters:
    ///   - request: The request as it came.
    ///   - secrets: The secrets that are good at the time of the request; never empty.
    /// - Throws: An error of the kind `unauthenticated`, which names the fault without helping a forger.
    func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError)

    /// The events of the request, in order; throws if it is not of the form that this source takes.
    func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding
}

extension PayloadSource {
    /// Most senders post.
    public var methods: [String] { ["POST"] }
    /// No templates.
    public var defaults: SourceDefaults { SourceDefaults() }
    /// 429, as RFC 6585 has it.
    public var retryStatus: Int { 429 }
    /// Most senders ask for no consent.
    public func handshake(_ request: SourceRequest) -> SourceResponse? { nil }
}

/// The templates of a kind of source, as text.
public struct SourceDefaults: Hashable, Sendable {
    /// The template of the content id, by type of event; `*` stands for all other types.
    public var contentID: [String: String]
    /// The template of the device.
    public var device: String?
    /// The template of the id by which repetitions are recognised.
    public var dedupeID: String?

    /// All parts at once.
    public init(contentID: [String: String] = [:], device: String? = nil, dedupeID: String? = nil) {
        self.contentID = contentID
        self.device = device
        self.dedupeID = dedupeID
    }
}

/// A kind of source that can be configured.
///
/// `make` is given the options of a configured source, an object, and refuses those that it does not know.
public struct PayloadSourceKind: Sendable {
    /// Whether a configured source needs secrets.
    public enum Secrets: String, Sendable {
        /// The sender has no proof of its own; the request needs an API key.
        case none
        /// With secrets they are verified; without, the request needs an API key.
        case optional
        /// A source cannot be configured without.
        case required
    }

    /// The description that `routerd plugins` prints.
    public let manifest: PluginManifest
    /// Whether configured sources have secrets.
    public let secrets: Secrets
    /// The reason why a text cannot be a secret of this kind; nil if it can. The reason completes "The secret …".
    public let secretFault: @Sendable (SourceSecret) -> String?
    /// Makes a source of an object of options.
    public let make: @Sendable (JSONValue) throws(PluginConfigurationError) -> any PayloadSource

    /// The name of the kind, such as `routerd.source.github`. Configurations may leave `routerd.source.` out.
    public var id: PluginID { manifest.id }
    /// The effect of the plugin in one line.
    public var summary: String { manifest.summary }

    /// A kind of source; `fields` are the options that `make` reads.
    public init(
        id: PluginID, version: String = "1.0.0", summary: String, status: PluginManifest.Status = .stable,
        secrets: Secrets, fields: [PluginField] = [], permissions: PluginPermissions = .none,
        secretFault: @escaping @Sendable (SourceSecret) -> String? = { $0.text.isEmpty ? "is empty" : nil },
        make: @escaping @Sendable (JSONValue) throws(PluginConfigurationError) -> any PayloadSource
    ) {
        manifest = PluginManifest(
            id: id, version: version, kind: .source, summary: summary, status: status, fields: fields,
            permissions: permissions)
        self.secrets = secrets
        self.secretFault = secretFault
        self.make = make
    }
}
