import RouterPlugin

/// The way of a sender that presents its secret as `Authorization: Bearer SECRET` (RFC 6750, 2.1).
enum BearerToken {
    /// Checks the token against each secret, in a time that depends on lengths alone.
    static func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        guard let field = try request.header("authorization") else {
            let message = "The header authorization with a bearer token is missing."
            throw SourceError(code: "signature-missing", message: message, kind: .unauthenticated)
        }
        let scheme = "bearer "
        guard field.count > scheme.count, field.prefix(scheme.count).lowercased() == scheme else {
            let message = "The header authorization must hold a bearer token."
            throw SourceError(code: "signature-missing", message: message, kind: .unauthenticated)
        }
        let token = Array(field.utf8.dropFirst(scheme.utf8.count))
        guard secrets.contains(where: { ConstantTime.equal(Array($0.text.utf8), token) }) else {
            let message = "The bearer token is not one of the source's secrets."
            throw SourceError(code: "signature-invalid", message: message, kind: .unauthenticated)
        }
    }
}
