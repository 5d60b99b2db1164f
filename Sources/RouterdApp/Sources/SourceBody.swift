import HTTPTypes
package import Router
package import RouterPlugin

/// Sources on the wire.
package enum SourceBody {
    /// Reads a source that a client puts.
    ///
    /// - Parameters:
    ///   - kinds: The plugins in use.
    ///   - existing: The stored source; its secrets apply where the body has none.
    package static func read(
        _ value: JSONValue, id: SourceID, kinds: PluginRegistry, existing: SourceDefinition?
    ) throws(Problem) -> SourceDraft {
        guard case .object(var object) = value else {
            throw Problem(.badRequest, "not-an-object", "A source must be a JSON object.", pointer: "")
        }
        let given = object["secrets"]
        object["secrets"] = nil
        var definition: SourceDefinition
        do { definition = try SourceDefinition(id: id, reading: .object(object)) } catch { throw Problem(error) }
        guard let kind = kinds.sourceKind(named: definition.kind.text) else {
            let names = kinds.sourceKinds.map { shortName(of: $0.id) }.joined(separator: ", ")
            throw Problem(
                .unprocessableContent, "unknown-kind", "There is no such kind of source; the kinds are: \(names).",
                pointer: "/kind")
        }
        definition.kind = kind.id
        do {
            _ = try SourceRun(definition, by: try kind.make(definition.options))
        } catch let error as PluginConfigurationError {
            throw Problem(error.within("/options"))
        } catch {
            throw Problem(.unprocessableContent, "invalid-field", "The kind cannot be used: \(error)")
        }
        let secrets = try given.map { (value) throws(Problem) in try Self.secrets(value, of: kind) }
        if secrets == nil, let existing, existing.kind != kind.id {
            for key in existing.secrets where kind.secretFault(SourceSecret(key.secret)) != nil {
                throw Problem(
                    .unprocessableContent, "invalid-field",
                    "A secret that the source has cannot be one of the kind \(shortName(of: kind.id)): send secrets.",
                    pointer: "/secrets")
            }
        }
        let count = secrets?.count ?? existing?.secrets.count ?? 0
        if kind.secrets == .required, count == 0 {
            throw Problem(
                .unprocessableContent, "missing-field",
                "A source of the kind \(shortName(of: kind.id)) needs the sender's secret in secrets.",
                pointer: "/secrets")
        }
        return SourceDraft(definition: definition, secrets: secrets)
    }

    private static func secrets(_ value: JSONValue, of kind: PayloadSourceKind) throws(Problem) -> [SigningKey] {
        guard let elements = value.asArray else {
            throw Problem(.badRequest, "wrong-type", "The field secrets must be an array.", pointer: "/secrets")
        }
        guard elements.count <= RouterLimits.secretsPerSource else {
            throw Problem(.source(.secrets(limit: RouterLimits.secretsPerSource)))
        }
        if kind.secrets == .none, !elements.isEmpty {
            throw Problem(
                .unprocessableContent, "invalid-field", "A source of this kind has no secrets.", pointer: "/secrets")
        }
        var secrets: [SigningKey] = []
        for (place, element) in elements.enumerated() {
            secrets.append(try secret(element, of: kind, at: "/secrets/\(place)"))
        }
        return secrets
    }

    /// A secret: a text, or an object with a validity window.
    private static func secret(
        _ value: JSONValue, of kind: PayloadSourceKind, at pointer: String
    ) throws(Problem) -> SigningKey {
        if case .string(let text) = value {
            try check(text, of: kind, at: pointer)
            return SigningKey(text)
        }
        var reader = try ObjectReader(value, at: pointer)
        guard let text = try reader.string("secret") else { throw reader.missing("secret") }
        try check(text, of: kind, at: reader.pointer(to: "secret"))
        let key = SigningKey(text, notBefore: try reader.time("notBefore"), notAfter: try reader.time("notAfter"))
        guard !key.isNever else { throw reader.invalid("notAfter", "must be later than notBefore") }
        try reader.finish()
        return key
    }

    /// - Throws: The kind's own reason why the text cannot be a secret.
    package static func check(
        _ text: String, of kind: PayloadSourceKind, at pointer: String
    ) throws(Problem) {
        guard text.utf8.count <= DaemonLimits.sourceSecretBytes else {
            throw Problem(.unprocessableContent, "invalid-field", "The secret is too long.", pointer: pointer)
        }
        if let reason = kind.secretFault(SourceSecret(text)) {
            throw Problem(.unprocessableContent, "invalid-field", "The secret \(reason).", pointer: pointer)
        }
    }

    /// The name of a kind as clients write it.
    package static func shortName(of kind: PluginID) -> String {
        let prefix = "routerd.source."
        return kind.text.hasPrefix(prefix) ? String(kind.text.dropFirst(prefix.count)) : kind.text
    }

    package static func write(_ source: SourceDefinition, issuing secret: String? = nil) -> [UInt8] {
        JSONWriter.object { write(source, issuing: secret, to: &$0) }
    }

    /// Writes a source. Secrets are never shown, except one generated for this very answer.
    package static func write(
        _ source: SourceDefinition, issuing secret: String? = nil, to object: inout JSONObjectWriter
    ) {
        object.field("id", source.id)
        object.field("url", "/v1/sources/\(source.id)")
        source.write(kind: shortName(of: source.kind), to: &object)
        object.array("secrets") { list in
            for key in source.secrets {
                list.object { entry in
                    entry.field("notBefore", key.notBefore)
                    entry.field("notAfter", key.notAfter)
                }
            }
        }
        if let secret { object.field("secret", secret) }
    }
}

extension Problem {
    /// A fault of a plugin's configuration in a body. A rendering that points into a text is separate from the
    /// sentence.
    package init(_ error: PluginConfigurationError) {
        let parts = error.message.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        let isForm = ["wrong-type", "unknown-field"].contains(error.code)
        self.init(
            isForm ? .badRequest : .unprocessableContent, error.code, String(parts[0]), pointer: error.pointer)
        caret = parts.count == 2 ? String(parts[1]) : nil
    }
}
