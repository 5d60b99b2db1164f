import DeliveryCurl
import HTTPTypes
package import Router
import RouterPlugin

extension ObjectReader {
    /// An endpoint: `{"url", "secret"? or "signingKeys"?, "format"?}`. The URL is read by the parser that the transport
    /// uses, and refused if no webhook could ever be sent to it.
    package mutating func endpoint(_ key: String, within scope: EndpointScope) throws(Problem) -> EndpointDraft? {
        guard let reader = try object(key) else { return nil }
        return try Self.endpoint(reader, within: scope)
    }

    /// The endpoint of a session, whose `signingKeys` may be as reads show them, without secrets.
    package mutating func sessionEndpoint(
        _ key: String, within scope: EndpointScope
    ) throws(Problem) -> EndpointDraft? {
        guard let reader = try object(key) else { return nil }
        return try Self.endpoint(reader, within: scope, takesShownKeys: true)
    }

    /// The endpoint of a delegate, whose `signingKeys` may be as reads show them, without secrets.
    package mutating func delegate(_ key: String, within scope: EndpointScope) throws(Problem) -> EndpointDraft? {
        guard let reader = try object(key) else { return nil }
        return try Self.endpoint(reader, within: scope, takesShownKeys: true)
    }

    /// Likewise the endpoint of a scene configuration, whose URL may have places that each session fills.
    package mutating func configurationEndpoint(
        _ key: String, within scope: EndpointScope
    ) throws(Problem) -> EndpointDraft? {
        guard let reader = try object(key) else { return nil }
        return try Self.endpoint(reader, within: scope, takesShownKeys: true, hasPlaceholders: true)
    }

    /// A merge patch of an endpoint: members left out stay as they are.
    package mutating func endpointPatch(_ key: String, within scope: EndpointScope) throws(Problem) -> EndpointPatch? {
        guard var reader = try object(key) else { return nil }
        if case .null = reader.presence("url") { throw reader.missing("url") }
        if try reader.isStream() {
            try reader.finish()
            return EndpointPatch(
                url: Endpoint.streamURL, keys: .remove, freshSecret: Self.freshSecret(), format: .remove)
        }
        let url = try reader.endpointURL(within: scope)
        var isRemoved = false
        for name in ["secret", "signingKeys"] { if case .null = reader.presence(name) { isRemoved = true } }
        let keys = try reader.signingKeys(at: scope.now)
        var format: SessionPatch.Change<DeliveryFormatChoice>?
        switch reader.presence("format") {
        case .absent: break
        case .null: format = .remove
        case .value: format = try reader.format(within: scope).map { .set($0) }
        }
        try reader.finish()
        // A named key takes precedence over the other member.
        let change: SessionPatch.Change<SigningKeys>? =
            if let keys { .set(keys) } else if isRemoved { .remove } else { nil }
        return EndpointPatch(url: url, keys: change, freshSecret: Self.freshSecret(), format: format)
    }

    private static func endpoint(
        _ reader: ObjectReader, within scope: EndpointScope, takesShownKeys: Bool = false,
        hasPlaceholders: Bool = false
    ) throws(Problem) -> EndpointDraft {
        var reader = reader
        if try reader.isStream() {
            try reader.finish()
            return EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: freshSecret())
        }
        guard let url = try reader.endpointURL(within: scope, hasPlaceholders: hasPlaceholders) else {
            throw reader.missing("url")
        }
        let shown = try takesShownKeys ? reader.shownKeys() : nil
        let keys = try shown == nil ? reader.signingKeys(at: scope.now) : nil
        let format = try reader.format(within: scope) ?? .standard
        try reader.finish()
        var draft = EndpointDraft(url: url, keys: keys, freshSecret: freshSecret(), format: format)
        draft.shownKeys = shown
        return draft
    }

    /// Whether the endpoint is a stream: `{"stream": true}`, and nothing else.
    private mutating func isStream() throws(Problem) -> Bool {
        guard let value = value("stream") else { return false }
        guard case .bool(true) = value else {
            throw Problem(
                .unprocessableContent, "invalid-field",
                "The field stream is true, or left out for an endpoint with a URL.",
                pointer: pointer(to: "stream"))
        }
        return true
    }

    /// The name of a format, or an object with the name and options; nil if the member is missing or null.
    private mutating func format(within scope: EndpointScope) throws(Problem) -> DeliveryFormatChoice? {
        guard let value = value("format") else { return nil }
        do throws(PluginConfigurationError) {
            return try scope.formats.choice(reading: value)
        } catch {
            let code = error.code == "unknown-plugin" ? "unknown-format" : "invalid-format"
            throw Problem(
                .unprocessableContent, code, error.message, pointer: pointer(to: "format") + error.pointer)
        }
    }

    private mutating func endpointURL(
        within scope: EndpointScope, hasPlaceholders: Bool = false
    ) throws(Problem) -> String? {
        guard let url = try string("url") else { return nil }
        let example = try hasPlaceholders ? sample(of: url) : url
        let parsed: CurlURL
        do {
            parsed = try CurlURL(parsing: example)
        } catch {
            throw Problem(
                .unprocessableContent, error.code.rawValue, "\(error.message.capitalizedFirst).",
                pointer: pointer(to: "url"))
        }
        if let refusal = scope.refusal(host: parsed.host, port: parsed.port) {
            throw Problem(
                .unprocessableContent, "endpoint-not-allowed", "\("\(refusal)".capitalizedFirst).",
                pointer: pointer(to: "url"))
        }
        return url
    }

    /// The URL of some session. The host is the same for all of them: it is checked here, once.
    private func sample(of url: String) throws(Problem) -> String {
        let placeholders = URLPlaceholders(in: url)
        let sample = placeholders.filled(url, session: "s", device: "d")
        guard !sample.utf8.contains(UInt8(ascii: "{")) else {
            throw Problem(
                .unprocessableContent, "unknown-placeholder",
                "The URL of a configuration may have the places {session} and {device}, and no other.",
                pointer: pointer(to: "url"))
        }
        let other = placeholders.filled(url, session: "t", device: "e")
        guard Origin(url: sample) == Origin(url: other) else {
            throw Problem(
                .unprocessableContent, "misplaced-placeholder",
                "The places of sessions stand behind the host and the port of a URL.", pointer: pointer(to: "url"))
        }
        return sample
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
