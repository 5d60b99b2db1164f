import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// The issuer and the tokens of these tests; signatures are the edge's affair.
enum Issuer {
    static let key = ProofKey(id: "k1", .p256(x: Array(repeating: 1, count: 32), y: Array(repeating: 2, count: 32)))
    static let rsa = ProofKey(id: "k2", .rsa(modulus: Array(repeating: 255, count: 256), exponent: [1, 0, 1]))
    static let provider = ProofIssuer(name: "https://id.example", audience: "till", keys: [key, rsa])

    /// A token with some members of the header and of the claims replaced; null removes one.
    static func token(
        _ nonce: String, header: [String: JSONValue] = [:], claims: [String: JSONValue] = [:]
    ) throws -> SignedToken {
        let standardHeader: [String: JSONValue] = ["alg": "ES256", "kid": "k1"]
        let standardClaims: [String: JSONValue] = [
            "iss": "https://id.example", "aud": "till", "sub": "person", "nonce": .string(nonce), "iat": 1000,
            "exp": 1300,
        ]
        func part(_ members: [String: JSONValue], _ changes: [String: JSONValue]) -> String {
            var object = JSONObject()
            for (name, value) in members.merging(changes, uniquingKeysWith: { $1 }) where value != .null {
                object[name] = value
            }
            return Base64URL.encode(JSONValue.object(object).serialized())
        }
        let text = "\(part(standardHeader, header)).\(part(standardClaims, claims)).AA"
        return try #require(SignedToken(text, atMost: RouterLimits.proofTokenBytes))
    }

    static func claims(
        _ nonce: String, header: [String: JSONValue] = [:], claims: [String: JSONValue] = [:]
    ) throws -> ProofClaims {
        try ProofClaims(token(nonce, header: header, claims: claims))
    }
}

@Suite("Passcodes: outside proofs")
struct UnlockProofTests {
    private static let key = GateKey(
        application: ApplicationID(unchecked: "com.example.Till"), device: DeviceID(unchecked: "till-4"))
    private let policy = PasscodePolicy(retryLimit: 3)
    private let proof = UnlockProof(issuer: "https://id.example", subject: "person")

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

    private func number(_ text: String) throws -> JSONValue { .number(try #require(JSONNumber(text))) }

    private func created() throws -> PasscodeLock {
        var lock = PasscodeLock(Self.key)
        try lock.create(passcodeHash(1), deviceKey: DeviceKey([4]), term: 1, under: policy, at: at(0))
        return lock
    }

    private func fault(
        _ claims: ProofClaims, of issuers: [ProofIssuer] = [Issuer.provider], signedBy key: ProofKey? = Issuer.key,
        for person: String? = "person", at seconds: Int64 = 1100
    ) -> ProofFault? {
        do throws(ProofFault) {
            _ = try claims.proof(of: issuers, verifiedWith: key, for: person, at: at(seconds))
            return nil
        } catch { return error }
    }

    // MARK: Claims

    @Test("A token of a known issuer, for this application and about this person, is a proof")
    func right() throws {
        let claims = try Issuer.claims("n")
        let found = try claims.proof(of: [Issuer.provider], verifiedWith: Issuer.key, for: "person", at: at(1100))
        #expect(found == proof)
        #expect(try claims.key(among: [Issuer.provider]) == Issuer.key)
        #expect(try fault(Issuer.claims("n", claims: ["aud": ["other", "till"]])) == nil)
        let rsa = try Issuer.claims("n", header: ["alg": "RS256", "kid": "k2"])
        #expect(fault(rsa, signedBy: Issuer.rsa) == nil)
        // Times are numbers of any form, and the clock of the issuer may be a minute ahead.
        let (broken, exponent) = (try number("1159.5"), try number("1.2e3"))
        #expect(try fault(Issuer.claims("n", claims: ["iat": 1160, "nbf": broken, "exp": exponent])) == nil)
        #expect(throws: ProofFault.expired) { try Issuer.claims("n", claims: ["exp": number("1e300")]) }
    }

    @Test("Each check that a token does not pass has a name")
    func faults() throws {
        #expect(try fault(Issuer.claims("n", claims: ["iss": "https://id.example/"])) == .issuer)
        #expect(try fault(Issuer.claims("n", claims: ["aud": "other"])) == .audience)
        #expect(try fault(Issuer.claims("n", claims: ["aud": .null])) == .audience)
        #expect(try fault(Issuer.claims("n", header: ["kid": "k3"])) == .key)
        #expect(try fault(Issuer.claims("n"), signedBy: nil) == .signature)
        #expect(try fault(Issuer.claims("n"), signedBy: Issuer.rsa) == .signature)
        #expect(try fault(Issuer.claims("n"), at: 1299) == nil)
        #expect(try fault(Issuer.claims("n"), at: 1300) == .expired)
        #expect(try fault(Issuer.claims("n", claims: ["nbf": 1160])) == nil)
        #expect(try fault(Issuer.claims("n", claims: ["nbf": 1161])) == .notYetValid)
        #expect(try fault(Issuer.claims("n", claims: ["iat": 1161])) == .issuedLater)
        #expect(try fault(Issuer.claims("n"), for: "another") == .subject)
        #expect(try fault(Issuer.claims("n"), for: nil) == .subject)
    }

    @Test("The key decides the algorithm: none, and an HMAC with a public key for its secret, are refused")
    func algorithms() throws {
        for alg: JSONValue in ["none", "HS256", "RS256", "ES384", "es256", "PS256"] {
            #expect(try fault(Issuer.claims("n", header: ["alg": alg])) == .algorithm, "\(alg)")
        }
        let confused = try Issuer.claims("n", header: ["alg": "HS256", "kid": "k2"])
        #expect(fault(confused, signedBy: Issuer.rsa) == .algorithm)
    }

    @Test("An issuer that vouches for any subject needs no known person")
    func anySubject() throws {
        var backEnd = Issuer.provider
        backEnd.takesAnySubject = true
        #expect(try fault(Issuer.claims("n"), of: [backEnd], for: nil) == nil)
        #expect(try fault(Issuer.claims("n", claims: ["sub": "another"]), of: [backEnd], for: "person") == nil)
    }

    @Test("An issuer may be named for several audiences, each with keys of its own")
    func audiences() throws {
        let other = ProofIssuer(name: Issuer.provider.name, audience: "kiosk", keys: [Issuer.rsa])
        let claims = try Issuer.claims("n", claims: ["aud": "kiosk"])
        #expect(fault(claims, of: [Issuer.provider, other]) == .key)
        #expect(try fault(Issuer.claims("n"), of: [other, Issuer.provider]) == nil)
    }

    @Test(
        "A claim that is missing or of another type is named",
        arguments: [
            ("iss", 1, .issuer), ("sub", ["a"], .subject), ("nonce", 7, .nonce), ("exp", "1300", .expired),
            ("iat", true, .issuedLater), ("nbf", "soon", .notYetValid), ("sub", "", .subject),
        ] as [(String, JSONValue, ProofFault)])
    func unreadable(name: String, value: JSONValue, expected: ProofFault) throws {
        #expect(throws: expected) { try Issuer.claims("n", claims: [name: value]) }
        if name != "nbf" { #expect(throws: expected) { try Issuer.claims("n", claims: [name: .null]) } }
    }

    @Test("A header without its algorithm or its key is refused, and a critical extension is not read")
    func headers() throws {
        #expect(throws: ProofFault.algorithm) { try Issuer.claims("n", header: ["alg": .null]) }
        #expect(throws: ProofFault.key) { try Issuer.claims("n", header: ["kid": .null]) }
        let critical = Base64URL.encode(Array(#"{"alg":"ES256","kid":"k1","crit":["b64"]}"#.utf8))
        #expect(SignedToken("\(critical).e30.AA", atMost: 1000) == nil)
        #expect(SignedToken("e30.e30.AA", atMost: 10) != nil)
        for text in ["e30.e30.AA", "e30.e30", "e30.e30.AA.AA", "e30=.e30.AA", "W10.e30.AA", "e30..AA", "e30.e30.A+"] {
            #expect(SignedToken(text, atMost: text == "e30.e30.AA" ? 9 : 1000) == nil, "\(text)")
        }
    }

    // MARK: The lock

    @Test("A proof answers the open challenge of this term once, within ten minutes")
    func nonces() throws {
        var lock = try created()
        func prove(_ nonce: String, term: Int64 = 2, at seconds: Int64) throws -> Result<UnlockProof, ProofFault> {
            try lock.prove(
                Issuer.claims(nonce, claims: ["exp": 9999]), verifiedWith: Issuer.key, for: "person", term: term,
                under: policy, of: [Issuer.provider], at: at(seconds))
        }
        func challenge(_ nonce: String, at seconds: Int64) throws -> DeviceChallenge {
            try lock.challengeForProof(nonce, term: 2, under: policy, of: [Issuer.provider], at: at(seconds))
        }
        let first = try challenge("abc", at: 1000)
        #expect(first.text == "routerd prove com.example.Till till-4 2 abc" && first.expiresAt == at(1600))
        let second = try challenge("def", at: 1001)
        for nonce in [first.text, "routerd prove com.example.Till till-5 2 def", "def"] {
            #expect(throws: PasscodeLock.Refusal.staleChallenge) { try prove(nonce, at: 1002) }
        }
        #expect(throws: PasscodeLock.Refusal.staleChallenge) { try prove(second.text, term: 3, at: 1002) }
        #expect(throws: PasscodeLock.Refusal.staleChallenge) { try prove(second.text, at: 1601) }
        #expect(lock.challenge == second, "a refusal leaves the challenge open")
        #expect(try prove(second.text, at: 1600) == .success(proof))
        #expect(lock.provenTerm == 2 && lock.challenge == nil)
        #expect(throws: PasscodeLock.Refusal.staleChallenge) { try prove(second.text, at: 1600) }
    }

    @Test("A token that proves nothing ends its challenge, and is no try")
    func refused() throws {
        var lock = try created()
        let challenge = try lock.challengeForProof("n", term: 2, under: policy, of: [Issuer.provider], at: at(1000))
        let outcome = try lock.prove(
            Issuer.claims(challenge.text), verifiedWith: nil, for: "person", term: 2, under: policy,
            of: [Issuer.provider], at: at(1001))
        #expect(outcome == .failure(.signature))
        #expect(lock.challenge == nil && lock.tries == 0 && lock.provenTerm == 1)
    }

    @Test("A challenge is for the use that it was asked for")
    func uses() throws {
        var lock = try created()
        let device = try lock.challenge("n", term: 2, under: policy, at: at(1000))
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.prove(
                Issuer.claims(device.text), verifiedWith: Issuer.key, for: "person", term: 2, under: policy,
                of: [Issuer.provider], at: at(1001))
        }
        let proof = try lock.challengeForProof("n", term: 2, under: policy, of: [Issuer.provider], at: at(1000))
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.answer(proof.text, by: DeviceKey([4]), isRight: true, term: 2, under: policy, at: at(1001))
        }
    }

    @Test("A proof stands in where the passcode is asked for, and not where its tries are used up")
    func limits() throws {
        var lock = PasscodeLock(Self.key)
        func challenge(_ issuers: [ProofIssuer], at seconds: Int64 = 1000) throws {
            _ = try lock.challengeForProof("n", term: 1, under: policy, of: issuers, at: at(seconds))
        }
        #expect(throws: PasscodeLock.Refusal.proofsNotAllowed) { try challenge([]) }
        #expect(throws: PasscodeLock.Refusal.notCreated) { try challenge([Issuer.provider]) }
        lock = try created()
        try challenge([Issuer.provider])
        for _ in 1...3 {
            let trial = try lock.begin(under: policy, at: at(1000))
            _ = try lock.finish(trial, PasscodeLock.Verdict(isRight: false), term: 1, under: policy, at: at(1000))
        }
        #expect(throws: PasscodeLock.Refusal.exhausted) { try challenge([Issuer.provider]) }
        var expiring = policy
        expiring.expirationDays = 1
        lock = try created()
        #expect(throws: PasscodeLock.Refusal.expired) {
            try lock.challengeForProof("n", term: 1, under: expiring, of: [Issuer.provider], at: at(86_400))
        }
    }
}

@Suite("Passcodes: keys of issuers")
struct ProofKeyTests {
    private static let x = String(repeating: "A", count: 43)
    private static let n = Base64URL.encode(Array(repeating: 255 as UInt8, count: 256))

    private func key(_ text: String) throws -> ProofKey {
        try ProofKey(jwk: JSONValue(parsing: Array(text.utf8)))
    }

    @Test("Keys of both kinds are read, and written so that they are read again")
    func read() throws {
        let point = try key(
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"\#(Self.x)","y":"\#(Self.x)","x5t":"passed over"}"#)
        #expect(point.algorithm == "ES256" && point.id == "a")
        let number = "AAAA\(Self.n)"
        let rsa = try key(#"{"kty":"RSA","use":"sig","alg":"RS256","kid":"b","n":"\#(number)","e":"AAEAAQ"}"#)
        #expect(rsa.algorithm == "RS256")
        guard case .rsa(let modulus, let exponent) = rsa.material else {
            Issue.record("another kind")
            return
        }
        #expect(modulus.first != 0 && exponent == [1, 0, 1], "zeros in front are dropped")
        for key in [point, Issuer.rsa] { #expect(try ProofKey(jwk: .object(key.jwk)) == key) }
    }

    @Test(
        "Keys that are private, secret, weak, of another kind or without a name are refused",
        arguments: [
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"X","y":"X","d":"X"}"#, #"{"kty":"oct","kid":"a","k":"AAAA"}"#,
            #"{"kty":"EC","crv":"P-384","kid":"a","x":"X","y":"X"}"#,
            #"{"kty":"OKP","crv":"Ed25519","kid":"a","x":"X"}"#,
            #"{"kty":"EC","crv":"P-256","x":"X","y":"X"}"#, #"{"kty":"EC","crv":"P-256","kid":"","x":"X","y":"X"}"#,
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"X"}"#,
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"AAAA","y":"X"}"#,
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"X","y":"X","use":"enc"}"#,
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"X","y":"X","alg":"RS256"}"#,
            #"{"kty":"RSA","kid":"a","n":"N","e":"AQ"}"#, #"{"kty":"RSA","kid":"a","n":"N","e":"AAAB AAQ"}"#,
            #"{"kty":"RSA","kid":"a","n":"N","e":"AQAC"}"#, #"{"kty":"RSA","kid":"a","n":"N","e":"AQAAAAAB"}"#,
            #"{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"a","n":"N","e":"AQAB","alg":"PS256"}"#,
            "[]", "{}",
        ])
    func refused(text: String) throws {
        let text = text.replacing("\"X\"", with: "\"\(Self.x)\"").replacing("\"N\"", with: "\"\(Self.n)\"")
        #expect(throws: ProofKey.Fault.self, "\(text)") { try key(text) }
    }
}
