import Crypto
import Foundation
import Plugins
import RouterPlugin

/// A provider with a key, for tests. The key is that of RFC 7515, appendix A.3.
enum Provider {
    static let team = "TEAM123456"
    static let keyID = "KEY1234567"
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----
        """
    private static let secret = "jpsQnnGQmL+YBIffH1136cspYG6+0iY7X1fCE9+E9LI="

    /// The check of tokens by that key.
    static func check(_ authority: APNsAuthority = .everyTopic) throws -> ProviderTokenCheck {
        let key = ProviderKey(teamID: team, keyID: keyID, publicKeyPEM: publicKey, authority: authority)
        guard let key else { throw CocoaError(.coderInvalidValue) }
        return .keys([key])
    }

    /// A token that the key has signed.
    static func token(
        header: String = #"{"alg":"ES256","kid":"KEY1234567"}"#,
        claims: String = #"{"iss":"TEAM123456","iat":1767268790}"#
    ) throws -> String {
        guard let bytes = Data(base64Encoded: secret) else { throw CocoaError(.coderInvalidValue) }
        let key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
        let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        let signature = try key.signature(for: Array(signed.utf8)).rawRepresentation
        return signed + "." + base64URL(Array(signature))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// The head of a push that is in order; tests change a part of it.
struct SamplePush {
    var method = "POST"
    var path = "/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    var headers: [(name: String, value: String)]
    var body = Array(#"{"aps":{"alert":"Hi","target-content-id":"photo/1"}}"#.utf8)
    var certificateTopic: String?

    init() throws {
        headers = [
            ("authorization", "bearer \(try Provider.token())"), ("apns-topic", "com.example.Gallery"),
            ("apns-push-type", "alert"), ("apns-id", "123e4567-e89b-12d3-a456-4266554400a0"),
        ]
    }

    mutating func set(_ name: String, _ value: String?) {
        headers.removeAll { $0.name == name }
        if let value { headers.append((name, value)) }
    }

    func checked(by checks: APNsChecks, at now: Timestamp = noon) throws(APNsRefusal) -> APNsPush {
        var last: VerifiedProviderToken?
        let request = APNsRequest(method: method, path: path, headers: headers)
        let head = try checks.head(of: request, certificateTopic: certificateTopic, at: now, last: &last)
        return try APNsPush(head, body: body, length: body.count)
    }

    /// The reason of its refusal, with the status; nil if it is taken.
    func refusal(by checks: APNsChecks, at now: Timestamp = noon) -> String? {
        do throws(APNsRefusal) {
            _ = try checked(by: checks, at: now)
            return nil
        } catch {
            return "\(error.status) \(error.reason)"
        }
    }
}
