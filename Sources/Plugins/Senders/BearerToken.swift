import RouterPlugin

/// The way of a sender that presents its secret as `Authorization: Bearer SECRET` (RFC 6750, 2.1).
enum BearerToken {
    /// Checks the token against each secret, in a time that depends on lengths alone.
    static func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try verify(try Authorization(of: request, accepting: [.bearer]), with: secrets)
    }

    static func verify(_ authorization: Authorization, with secrets: [SourceSecret]) throws(SourceError) {
        let token = Array(authorization.parameters.utf8)
        guard secrets.contains(where: { ConstantTime.equal(Array($0.text.utf8), token) }) else {
            throw .invalidCredentials("authorization")
        }
    }
}

/// The way of a sender that presents its secret, `user:password`, as `Authorization: Basic BASE64` (RFC 7617).
enum BasicCredentials {
    /// Checks user and password against each secret, in a time that depends on lengths alone.
    static func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        try verify(try Authorization(of: request, accepting: [.basic]), with: secrets)
    }

    static func verify(_ authorization: Authorization, with secrets: [SourceSecret]) throws(SourceError) {
        guard let presented = Base64.decode(authorization.parameters),
            secrets.contains(where: { ConstantTime.equal(Array($0.text.utf8), presented) })
        else { throw .invalidCredentials("authorization") }
    }
}

/// The header `Authorization`: a scheme and its parameters (RFC 9110, 11.6.2).
struct Authorization {
    /// A scheme that sources take.
    enum Scheme: String {
        case basic
        case bearer
    }

    let scheme: Scheme
    /// The text behind the scheme.
    let parameters: Substring

    /// Reads the header.
    ///
    /// - Throws: `signature-missing` if there is none of an accepted scheme, `credentials-invalid` if there are
    ///   several.
    init(of request: SourceRequest, accepting schemes: [Scheme]) throws(SourceError) {
        let field = try request.proof("authorization", code: "credentials-invalid") ?? ""
        let space = field.firstIndex(of: " ") ?? field.endIndex
        guard let scheme = Scheme(rawValue: field[..<space].lowercased()), schemes.contains(scheme) else {
            let names = schemes.map { $0 == .basic ? "Basic" : "Bearer" }.joined(separator: " or ")
            let message = "The header authorization with the scheme \(names) is missing."
            throw SourceError(code: "signature-missing", message: message, kind: .unauthenticated)
        }
        self.scheme = scheme
        self.parameters = field[space...].drop { $0 == " " }
    }

    /// Checks credentials of either scheme, for senders that may be configured for both.
    static func verifyEither(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        let authorization = try Authorization(of: request, accepting: [.basic, .bearer])
        switch authorization.scheme {
        case .basic: try BasicCredentials.verify(authorization, with: secrets)
        case .bearer: try BearerToken.verify(authorization, with: secrets)
        }
    }
}
