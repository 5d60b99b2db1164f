import RouterPlugin
import Testing

@testable import Plugins

struct CredentialSourcesTests {
    @Test func basicCredentialsAreCompared() {
        let source = BasicSource()
        // RFC 7617, section 2.
        for field in ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ"] {
            #expect(source.refusal(of: request("{}", [("authorization", field)]), "a:b", "Aladdin:open sesame") == nil)
        }
        for field in ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZ", "Basic", "Basic *", "Basic Aladdin:open sesame"] {
            #expect(
                source.refusal(of: request("{}", [("authorization", field)]), "Aladdin:open sesame")
                    == "credentials-invalid", "\(field)")
        }
        for field in ["", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "BasicQWxhZGRpbjpvcGVuIHNlc2FtZQ=="] {
            #expect(
                source.refusal(of: request("{}", [("authorization", field)]), "Aladdin:open sesame")
                    == "signature-missing", "\(field)")
        }
    }

    @Test func bearerTokensAreCompared() {
        let source = BearerSource()
        #expect(source.refusal(of: request("{}", [("authorization", "BEARER t0ken")]), "old", "t0ken") == nil)
        for token in ["t0ke", "t0ken ", "T0ken", ""] {
            let request = request("{}", [("authorization", "Bearer \(token)")])
            #expect(source.refusal(of: request, "t0ken") == "credentials-invalid")
        }
        #expect(source.refusal(of: request("{}", [("authorization", "Basic t0ken")]), "t0ken") == "signature-missing")
        #expect(source.refusal(of: request("{}"), "t0ken") == "signature-missing")
        let field = ("authorization", "Bearer t0ken")
        #expect(source.refusal(of: request("{}", [field, field]), "t0ken") == "credentials-invalid")
    }

    @Test func pushAndScenesTakeTokensToo() {
        for source in [PushPayloadSource(), ScenePayloadSource()] as [any PayloadSource] {
            #expect(source.refusal(of: request("{}", [("authorization", "Bearer t")]), "t") == nil)
            #expect(source.refusal(of: request("{}", [("authorization", "Bearer u")]), "t") == "credentials-invalid")
        }
        #expect(PushPayloadSource.kind.secrets == .optional && ScenePayloadSource.kind.secrets == .optional)
    }

    @Test func eventsArePlain() throws {
        for source in [BasicSource(), BearerSource()] as [any PayloadSource] {
            let event = SourceEvent(payload: Array(#"{ "a":1}"#.utf8), dedupeKeys: ["key:k"])
            #expect(try source.decode(request(#"{ "a":1}"#, [("idempotency-key", "k")])) == SourceDecoding([event]))
            #expect(source.decodingRefusal(of: request("1")) == "payload-not-an-object")
            #expect(source.decodingRefusal(of: request("{}", [("idempotency-key", "")])) == "bad-idempotency-key")
            #expect(source.defaults == SourceDefaults())
        }
    }

    @Test func secretsHaveTheirForm() {
        func fault(_ kind: PayloadSourceKind, _ text: String) -> String? { kind.secretFault(SourceSecret(text)) }
        #expect(fault(BasicSource.kind, "user:") == nil && fault(BasicSource.kind, "u:p:q é") == nil)
        #expect(fault(BasicSource.kind, "user") == "must be written as user:password")
        #expect(fault(BasicSource.kind, ":p") == "has no user before the colon")
        #expect(fault(BasicSource.kind, "u:p\n") == "has a control character")
        #expect(fault(BearerSource.kind, "t0ken~") == nil)
        for text in ["a b", "a\n", "é"] {
            #expect(fault(BearerSource.kind, text) == "must be of printable ASCII characters without spaces")
        }
        #expect(fault(AlertmanagerSource.kind, "u:p q") == nil && fault(AlertmanagerSource.kind, "token") == nil)
        #expect(fault(AlertmanagerSource.kind, "a b") != nil)
        #expect(fault(GitHubSource.kind, "It's a Secret to Everybody") == nil)
        #expect(fault(GitHubSource.kind, "secret\n") == "has a line break")
        #expect(fault(StandardWebhooksSource.kind, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?.hasPrefix("must begin") == true)
        #expect(fault(StandardWebhooksSource.kind, "whsec_AAAA")?.hasPrefix("must have 24") == true)
        #expect(fault(StandardWebhooksSource.kind, "whsk_AAAA")?.hasPrefix("is a private key") == true)
        #expect(fault(StandardWebhooksSource.kind, "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=") == nil)
        for kind in BuiltInPlugins.sourceKinds { #expect(fault(kind, "") != nil, "\(kind.id)") }
    }
}
