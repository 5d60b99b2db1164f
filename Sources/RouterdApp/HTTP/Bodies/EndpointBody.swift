import Plugins
package import Router
package import RouterPlugin

/// Endpoints on the wire.
package enum EndpointBody {
    /// The URL, the format if it is not the standard one, and the public parts of each key.
    ///
    /// - Parameter freshSecret: The secret generated for this very answer: if it is the endpoint's, it is shown this
    ///   one time.
    package static func write(
        _ endpoint: Endpoint, issuing freshSecret: String?, to object: inout JSONObjectWriter
    ) {
        guard !endpoint.isStream else { return object.field("stream", true) }
        object.field("url", endpoint.url)
        if let freshSecret, endpoint.keys.contains(freshSecret) { object.field("secret", freshSecret) }
        if !endpoint.format.isStandard { object.field("format", JSONValue.object(endpoint.format.json)) }
        object.array("signingKeys") { list in
            for key in endpoint.keys.all { list.object { write(key, to: &$0) } }
        }
    }

    /// A private key is not shown even when it was generated for this answer: only the daemon needs it.
    package static func write(_ endpoint: Endpoint, after rotation: SecretRotation) -> [UInt8] {
        JSONWriter.object { write(endpoint, issuing: rotation.freshSecrets[.v1], to: &$0) }
    }

    private static func write(_ key: SigningKey, to object: inout JSONObjectWriter) {
        object.field("version", key.version.rawValue)
        if let publicKey = (try? WebhookSigningKey(key.secret))?.publicKey {
            object.field("publicKey", "\(publicKey)")
        }
        if let notBefore = key.notBefore { object.field("notBefore", notBefore) }
        if let notAfter = key.notAfter { object.field("notAfter", notAfter) }
    }
}
