public import RouterPlugin

extension PayloadSourceSuite {
    /// The codes that a refusal by `verify` may have.
    public static let verificationCodes = [
        "signature-missing", "signature-invalid", "timestamp-outside-window", "timestamp-invalid",
        "webhook-id-invalid", "credentials-invalid",
    ]

    /// Violations of the rules of `verify`, one sentence each; empty if the source conforms.
    ///
    /// The suite checks that
    /// 1. the secret verifies the examples, also while another secret is valid, and the other secret alone does not;
    /// 2. a request without headers is refused with `signature-missing`;
    /// 3. where the sender signs the body, every other body is refused;
    /// 4. refusals are of the kind `unauthenticated`, have one of `verificationCodes`, and quote neither the request nor
    ///    a secret;
    /// 5. verifying the same request twice has the same result.
    ///
    /// - Parameters:
    ///   - source: The source under test.
    ///   - examples: Requests that the secret verifies, at least one.
    ///   - secret: The secret of the examples.
    ///   - other: Another secret of the same form.
    ///   - signsBody: Whether the sender signs the body, rather than presenting its secret.
    ///   - seed: Selects the hostile requests.
    public static func verificationViolations(
        of source: any PayloadSource, accepting examples: [SourceRequest], with secret: SourceSecret,
        other: SourceSecret, signsBody: Bool = true, seed: UInt64
    ) -> [String] {
        var violations = Violations()
        violations.require(!examples.isEmpty, "examples: there must be at least one request that is verified")
        for example in examples {
            for secrets in [[secret], [other, secret], [secret, other]] {
                let refusal = refusal(by: source, of: example, with: secrets)
                violations.require(refusal == nil, "examples: refused with \(refusal?.code ?? "")")
            }
            violations.require(
                refusal(by: source, of: example, with: [other]) != nil, "secrets: a request of another secret is taken")
            let bare = SourceRequest(headers: [], body: example.body, receivedAt: example.receivedAt)
            violations.require(
                refusal(by: source, of: bare, with: [secret])?.code == "signature-missing",
                "headers: a request without headers is not refused with signature-missing")
            for request in HostileRequests.all(from: [example], seed: seed) {
                let refusal = refusal(by: source, of: request, with: [secret])
                violations.require(
                    refusal != nil || !signsBody || request.body == example.body, "body: another one is taken")
                violations.require(
                    refusal == self.refusal(by: source, of: request, with: [secret]),
                    "determinism: the same request is verified differently")
                if let refusal { check(refusal, hiding: [secret.text, other.text], into: &violations) }
            }
        }
        return violations.list
    }

    private static func refusal(
        by source: any PayloadSource, of request: SourceRequest, with secrets: [SourceSecret]
    ) -> SourceError? {
        do {
            try source.verify(request, with: secrets)
            return nil
        } catch {
            return error
        }
    }

    private static func check(_ refusal: SourceError, hiding secrets: [String], into violations: inout Violations) {
        violations.require(refusal.kind == .unauthenticated, "kind: \(refusal.code) is not of the kind unauthenticated")
        violations.require(verificationCodes.contains(refusal.code), "code: \(refusal.code) is none of a refusal")
        violations.require(refusal.offset == nil, "offset: \(refusal.code) has one, which helps a forger")
        violations.require(
            !refusal.message.isEmpty && refusal.message.utf8.count <= maximumMessageLength
                && isOneLine(refusal.message),
            "message: that of \(refusal.code) is empty, too long or has control characters")
        violations.require(
            !(secrets + [HostileRequests.canary]).contains { refusal.message.contains($0) },
            "message: that of \(refusal.code) quotes the request or a secret")
    }
}
