import PredicateEngine
package import RouterPlugin

/// The path of a request through a configured source, step by step. A run stores and sends nothing.
///
///     request ──verify──▶ ──decode──▶ events ──filter──▶ ──templates──▶ notifications
///
/// A run is a pure value: the same definition and the same request give the same result.
package struct SourceRun: Sendable {
    package let definition: SourceDefinition
    /// The name under which notifications and dedupe keys are kept.
    package let scope: PluginID
    private let source: any PayloadSource
    /// Whether the kind takes no request without a secret.
    private let needsSecret: Bool
    private let contentIDs: TemplateTable?
    private let device: PayloadTemplate?
    private let dedupeID: PayloadTemplate?
    private let isBinding: Bool
    /// The device of all notifications of a built-in binding.
    private let boundDevice: DeviceID?

    /// An event that passes the filter, and its notification made by the templates.
    package struct Accepted: Sendable {
        package var event: SourceEvent
        package var notification: IncomingNotification
        package var device: DeviceID?
    }

    /// The run of a definition by a source of its kind.
    ///
    /// - Throws: A fault of the kind's own default templates.
    package init(
        _ definition: SourceDefinition, by source: any PayloadSource, needsSecret: Bool = false
    ) throws(TemplateError) {
        self.needsSecret = needsSecret
        self.definition = definition
        scope = definition.scope
        (isBinding, boundDevice) = (false, nil)
        self.source = source
        let defaults = source.defaults
        if let own = definition.contentID {
            contentIDs = own
        } else {
            contentIDs = defaults.contentID.isEmpty ? nil : try TemplateTable(defaults.contentID)
        }
        device = try Self.template(definition.device, orElse: defaults.device)
        dedupeID = try Self.template(definition.dedupeID, orElse: defaults.dedupeID)
    }

    /// A built-in binding of a source to an application: no configuration, and a sender that an API key vouches for.
    ///
    /// - Parameter device: The device of all its notifications; nil leaves them free to go to any.
    package init(binding source: any PayloadSource, to application: ApplicationID, device: DeviceID? = nil) {
        definition = SourceDefinition(
            id: SourceID(unchecked: source.id.text), application: application, kind: source.id)
        scope = source.id
        (isBinding, boundDevice) = (true, device)
        needsSecret = false
        self.source = source
        (contentIDs, self.device, dedupeID) = (nil, nil, nil)
    }

    private static func template(
        _ own: PayloadTemplate?, orElse text: String?
    ) throws(TemplateError) -> PayloadTemplate? {
        if let own { return own }
        guard let text else { return nil }
        return try PayloadTemplate(text)
    }

    /// The methods that the source takes.
    package var methods: [String] { source.methods }
    /// The status that tells the sender to repeat a request later.
    package var retryStatus: Int { source.retryStatus }
    /// Whether the source authenticates its sender itself.
    package var verifiesSender: Bool { needsSecret || !definition.secrets.isEmpty }

    /// The answer to a sender's check of the address; nil if the request is no such check.
    package func handshake(_ request: SourceRequest) -> SourceResponse? { source.handshake(request) }

    /// Authenticates the sender.
    package func verify(_ request: SourceRequest) throws(SourceError) {
        let secrets = definition.secrets(at: request.receivedAt)
        guard !secrets.isEmpty else {
            let message = "The windows of all secrets of this source have passed."
            throw SourceError(code: "credentials-invalid", message: message, kind: .unauthenticated)
        }
        try source.verify(request, with: secrets)
    }

    /// The events of the request.
    package func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding { try source.decode(request) }

    /// All notifications of a request, and the answer that the source gives to its sender; nil leaves the answer to the
    /// caller.
    ///
    /// - Throws: The faults of `decode` and `outcome`, `too-many-events` and `filter-too-costly`.
    package func outcomes(
        of request: SourceRequest
    ) throws(SourceError) -> (accepted: [Accepted], response: SourceResponse?) {
        let decoding = try decode(request)
        try check(decoding)
        var accepted: [Accepted] = []
        for event in decoding.events {
            if let one = try outcome(of: event, in: request) { accepted.append(one) }
        }
        return (accepted, decoding.response)
    }

    /// An event as a notification; nil if the filter leaves it out.
    ///
    /// - Throws: `payload-not-json`, `content-id-missing`, `invalid-content-id`, `invalid-device-id` and
    ///   `dedupe-id-missing`.
    package func outcome(of event: SourceEvent, in request: SourceRequest) throws(SourceError) -> Accepted? {
        // Where no template or filter reads the payload, it is not parsed again.
        let scope = readsEvents ? TemplateScope(request, event) : TemplateScope(payload: nil)
        // Receivers find JSON within the signed JSON of their webhook: a plugin's source must not put anything else
        // there.
        guard !readsEvents || scope.payload != nil || !MediaType.isJSON(event.contentType) else {
            let message = "The source has given a payload as JSON that is none within the limits."
            throw SourceError(code: "payload-not-json", message: message, kind: .unprocessable)
        }
        if let filter = definition.filter {
            let payload = scope.payload.map(PayloadValue.init) ?? .null
            guard filter.evaluate(with: payload) else { return nil }
        }
        let notification = IncomingNotification(
            kind: event.kind, contentID: try contentID(of: event, scope), payload: event.payload,
            contentType: event.contentType, priority: event.priority ?? definition.priority ?? .high,
            expiration: event.expiration ?? defaultExpiration(of: request), collapseID: event.collapseID,
            dedupeKeys: try dedupeKeys(of: event, scope))
        return Accepted(event: event, notification: notification, device: try device(of: scope))
    }

    /// Whether payloads are parsed here. The built-in bindings have no template, and check their payloads themselves.
    private var readsEvents: Bool { !isBinding }

    /// Refuses a request with too many events, or with more bytes of them than the filter may go through.
    package func check(_ decoding: SourceDecoding) throws(SourceError) {
        let events = decoding.events
        guard events.count <= RouterLimits.eventsPerRequest else {
            throw SourceError(
                code: "too-many-events", message: "A request may carry \(RouterLimits.eventsPerRequest) events.",
                kind: .unprocessable)
        }
        guard let passes = definition.filter?.passes else { return }
        let bytes = events.reduce(0) { $0 + $1.payload.count }
        guard passes * bytes > RouterLimits.filterWork else { return }
        throw SourceError(
            code: "filter-too-costly",
            message: "The filter takes up to \(passes) passes over \(bytes) bytes; passes times bytes may be "
                + "\(RouterLimits.filterWork). Make the filter shorter.", kind: .unprocessable)
    }

    private func defaultExpiration(of request: SourceRequest) -> Expiration {
        switch definition.expiresInSeconds {
        case nil: .never
        case 0?: .immediate
        case let seconds?: .at(request.receivedAt.advanced(byMilliseconds: Int64(seconds) * 1000))
        }
    }

    private func contentID(of event: SourceEvent, _ scope: TemplateScope) throws(SourceError) -> ContentID? {
        // A template of the configuration takes precedence over the event's own content id, and that over the kind's
        // default.
        if definition.contentID == nil, let own = event.contentID { return own }
        switch contentIDs?.evaluate(scope) {
        case .text(let text)?:
            do throws(InvalidIdentifier) {
                return try ContentID(text)
            } catch {
                throw SourceError(code: error.code, message: error.description, kind: .unprocessable)
            }
        case .missing(let paths)?:
            return try missing("The template of the content id finds nothing at \(Self.shown(paths)).")
        case .unusable(let fault)?:
            return try missing(
                "The template of the content id cannot be used: \(PayloadTemplate.Outcome.unusable(fault))")
        case nil: return try missing("There is no template of the content id for this type of event.")
        }
    }

    private func missing(_ message: String) throws(SourceError) -> ContentID? {
        guard definition.onMissing == .refuse else { return nil }
        throw SourceError(code: "content-id-missing", message: message, kind: .unprocessable)
    }

    private func device(of scope: TemplateScope) throws(SourceError) -> DeviceID? {
        if let boundDevice { return boundDevice }
        switch device?.evaluate(scope) {
        case .text(let text)?:
            do throws(InvalidIdentifier) {
                return try DeviceID(text)
            } catch {
                throw SourceError(code: error.code, message: error.description, kind: .unprocessable)
            }
        // The event names a device. Without it the notification could go to a session on any other device.
        case .unusable(let fault)?:
            let message = "The template of the device cannot be used: \(PayloadTemplate.Outcome.unusable(fault))"
            throw SourceError(code: "invalid-device-id", message: message, kind: .unprocessable)
        case .missing?, nil: return nil
        }
    }

    private func dedupeKeys(of event: SourceEvent, _ scope: TemplateScope) throws(SourceError) -> [String] {
        guard let dedupeID else { return event.dedupeKeys }
        switch dedupeID.evaluate(scope, limit: RouterLimits.dedupeKeyBytes) {
        case .text(let text): return ["id:\(text)"]
        case .missing, .unusable:
            // An event without a key would be accepted twice when it is repeated.
            guard definition.dedupeID != nil else { return event.dedupeKeys }
            let message = "The template dedupeId finds nothing in this event."
            throw SourceError(code: "dedupe-id-missing", message: message, kind: .unprocessable)
        }
    }

    private static func shown(_ paths: [TemplatePath]) -> String {
        paths.map(\.description).joined(separator: " or ")
    }
}
