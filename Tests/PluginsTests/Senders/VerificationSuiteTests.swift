import RouterPlugin
import RouterTesting
import Testing

/// The suite of `verify` finds each broken rule.
struct VerificationSuiteTests {
    private struct Source: PayloadSource {
        let id = PluginID(unchecked: "com.example.source")
        let answer: @Sendable (SourceRequest, [SourceSecret]) -> SourceError?

        func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
            if let error = answer(request, secrets) { throw error }
        }

        func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding { SourceDecoding([]) }
    }

    private static func refusal(
        _ code: String, _ message: String = "No.", _ kind: SourceError.Kind = .unauthenticated, offset: Int? = nil
    ) -> SourceError {
        SourceError(code: code, message: message, offset: offset, kind: kind)
    }

    /// Verifies a token in the header `t`; the closure may bend the refusal.
    private func violations(
        signsBody: Bool = false,
        bending bend: @escaping @Sendable (SourceError?, SourceRequest) -> SourceError? = { refusal, _ in refusal }
    ) -> [String] {
        let source = Source { request, secrets in
            let token = request.headers.filter { $0.name == "t" }.map(\.value)
            if token.isEmpty { return bend(Self.refusal("signature-missing"), request) }
            let isGood = token.count == 1 && secrets.contains { $0.text == token[0] }
            return bend(isGood ? nil : Self.refusal("credentials-invalid"), request)
        }
        return PayloadSourceSuite.verificationViolations(
            of: source, accepting: [request("{}", [("t", "hunter2")])], with: SourceSecret("hunter2"),
            other: SourceSecret("other"), signsBody: signsBody, seed: 3)
    }

    @Test func soundSourcesConform() {
        #expect(violations() == [])
    }

    @Test func brokenOnesAreFound() {
        #expect(violations(signsBody: true) == ["body: another one is taken"])
        #expect(violations { _, _ in nil }.first == "secrets: a request of another secret is taken")
        #expect(
            violations { _, _ in Self.refusal("signature-missing") }.first == "examples: refused with signature-missing"
        )
        func bent(_ error: SourceError) -> [String] { violations { original, _ in original == nil ? nil : error } }
        #expect(
            bent(Self.refusal("credentials-invalid"))
                == ["headers: a request without headers is not refused with signature-missing"])
        #expect(bent(Self.refusal("signature-missing", "")).count == 1)
        #expect(bent(Self.refusal("signature-missing", "Not hunter2.")).count == 1)
        #expect(bent(Self.refusal("signature-missing", offset: 0)).count == 1)
        #expect(bent(Self.refusal("signature-missing", "No.", .malformed)).count == 1)
        #expect(
            bent(Self.refusal("signature-nearly-right")).last == "code: signature-nearly-right is none of a refusal")
    }
}
