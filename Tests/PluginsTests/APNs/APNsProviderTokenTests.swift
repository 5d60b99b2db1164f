import Plugins
import RouterPlugin
import Testing

@Suite("APNs: provider tokens")
struct APNsProviderTokenTests {
    private func refusal(_ authorization: String, at now: Timestamp = noon) throws -> String? {
        var push = try SamplePush()
        push.set("authorization", authorization)
        return push.refusal(by: APNsChecks(tokens: try Provider.check()), at: now)
    }

    private func refusal(header: String? = nil, claims: String? = nil) throws -> String? {
        let token: String =
            switch (header, claims) {
            case (let header?, nil): try Provider.token(header: header)
            case (nil, let claims?): try Provider.token(claims: claims)
            default: try Provider.token()
            }
        return try refusal("bearer \(token)")
    }

    /// Made by PyJWT 2.15.1 with the same key.
    @Test(
        "Tokens of another implementation are read, with whole and broken seconds",
        arguments: [
            """
            eyJhbGciOiJFUzI1NiIsImtpZCI6IktFWTEyMzQ1NjciLCJ0eXAiOiJKV1QifQ.\
            eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzY3MjY4NzkwfQ.\
            b9DjYF6PS40IeEjW4TatRGiD40oKVYjqqy6kUZrb6Yov3y3-CvMOhMAENe4SWlNMyEBjo9AK4pTbKQv75m1DwQ
            """,
            """
            eyJhbGciOiJFUzI1NiIsImtpZCI6IktFWTEyMzQ1NjciLCJ0eXAiOiJKV1QifQ.\
            eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzY3MjY4Nzg5Ljc1fQ.\
            NZKnZI-s2rQ1fshY0nlC3vq0LFmKJGnah9m9U6vDjoh8pg_5jvhgjcDbwiex-uBBVizOsiTcAI0L2JdsMCZQYQ
            """,
        ])
    func foreignTokens(token: String) throws {
        #expect(try refusal("bearer \(token)") == nil)
        #expect(try refusal("Bearer \(token)") == nil)
        #expect(try refusal("bearer \(token)A") == "403 InvalidProviderToken")
    }

    @Test("The time may be a number of any form, or a string that holds one")
    func times() throws {
        for time in ["1767268790", "1767268790.5", "1.76726879e9", #""1767268790""#, #""1767268790.5""#] {
            #expect(try refusal(claims: #"{"iss":"TEAM123456","iat":\#(time)}"#) == nil, "\(time)")
        }
        for time in ["null", "true", #""""#, #"" 1767268790""#, #""today""#, "[1767268790]", "1e400"] {
            #expect(
                try refusal(claims: #"{"iss":"TEAM123456","iat":\#(time)}"#) == "403 InvalidProviderToken", "\(time)")
        }
    }

    @Test("Header parameters and claims that mean nothing are passed over; crit is not")
    func unknownFields() throws {
        #expect(try refusal(header: #"{"typ":"JWT","alg":"ES256","kid":"KEY1234567","x":[1]}"#) == nil)
        #expect(try refusal(claims: #"{"iss":"TEAM123456","kid":"OTHER","iat":1767268790,"exp":1}"#) == nil)
        #expect(
            try refusal(header: #"{"alg":"ES256","kid":"KEY1234567","crit":["x"]}"#) == "403 InvalidProviderToken")
    }

    @Test("Tokens that lack a part, or are of another key, team or algorithm, are invalid")
    func invalid() throws {
        for header in [
            #"{"alg":"none","kid":"KEY1234567"}"#, #"{"alg":"HS256","kid":"KEY1234567"}"#, #"{"kid":"KEY1234567"}"#,
            #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"KEY7654321"}"#, #"{"alg":"ES256","kid":1}"#, "[]", "{",
        ] {
            #expect(try refusal(header: header) == "403 InvalidProviderToken", "\(header)")
        }
        for claims in [
            #"{"iat":1767268790}"#, #"{"iss":"TEAM123456"}"#, #"{"iss":"TEAM654321","iat":1767268790}"#, "null",
        ] {
            #expect(try refusal(claims: claims) == "403 InvalidProviderToken", "\(claims)")
        }
        let token = try Provider.token()
        let parts = token.split(separator: ".").map(String.init)
        let forged = Provider.base64URL(Array(#"{"iss":"TEAM123456","iat":1767268791}"#.utf8))
        for text in [
            "x", "..", "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(token).\(parts[2])",
            "\(parts[0]).\(forged).\(parts[2])", "\(parts[0]).\(parts[1])=.\(parts[2])",
            "\(parts[0]).\(parts[1]).\(String(parts[2].dropLast(4)))",
        ] {
            #expect(try refusal("bearer \(text)") == "403 InvalidProviderToken", "\(text)")
        }
        for authorization in ["", "bearer", "bearer ", "Basic \(token)", token] {
            #expect(try refusal(authorization) == "403 MissingProviderToken", "\(authorization)")
        }
        let endless = String(repeating: "a", count: APNsLimits.providerTokenBytes + 1)
        #expect(try refusal("bearer \(endless)") == "403 InvalidProviderToken")
    }

    @Test("A token is good from a minute before it was issued to an hour after")
    func ages() throws {
        let issued = Timestamp(milliseconds: 1_767_268_790_000)
        let authorization = "bearer \(try Provider.token())"
        for (milliseconds, answer) in [
            (-60_001, "403 InvalidProviderToken"), (-60_000, nil), (0, nil), (3_600_000, nil),
            (3_600_001, "403 ExpiredProviderToken"),
        ] as [(Int64, String?)] {
            let now = issued.advanced(byMilliseconds: milliseconds)
            #expect(try refusal(authorization, at: now) == answer, "\(milliseconds)")
        }
    }

    @Test("A token that a connection repeats is not verified again, and still expires")
    func repeated() throws {
        let checks = APNsChecks(tokens: try Provider.check())
        let sample = try SamplePush()
        let request = APNsRequest(method: sample.method, path: sample.path, headers: sample.headers)
        var last: VerifiedProviderToken?
        _ = try checks.head(of: request, certificateTopic: nil, at: noon, last: &last)
        let verified = try #require(last)
        // A connection that believes in a token asks no key: this check knows none.
        let keyless = APNsChecks(tokens: .keys([]))
        _ = try keyless.head(of: request, certificateTopic: nil, at: noon, last: &last)
        #expect(last == verified)
        let late = noon.advanced(byMilliseconds: 3_600_000)
        let refusal = #expect(throws: APNsRefusal.self) {
            try keyless.head(of: request, certificateTopic: nil, at: late, last: &last)
        }
        #expect(refusal?.reason == "ExpiredProviderToken")
    }

    @Test("In development every token is taken, but there has to be one")
    func development() throws {
        var push = try SamplePush()
        push.set("authorization", "bearer anything")
        #expect(push.refusal(by: APNsChecks(tokens: .none)) == nil)
        push.set("authorization", nil)
        #expect(push.refusal(by: APNsChecks(tokens: .none)) == "403 MissingProviderToken")
    }

    @Test("Keys that are no public keys on P-256 are refused")
    func badKeys() {
        for pem in ["", "x", Provider.publicKey.replacing("BEGIN PUBLIC", with: "BEGIN RSA PUBLIC")] {
            #expect(ProviderKey(teamID: "t", keyID: "k", publicKeyPEM: pem) == nil)
        }
    }
}
