import Foundation
import NIOHTTP1
import NIOSSL
public import RouterPlugin

/// A daemon, and the right to call it.
///
///     let server = try RouterdServer("https://routerd.example.com", key: "rk_…")
///     try await server.post(["notification-content-id": "gallery://photo/7"], to: ApplicationID("com.example.Gallery"))
public struct RouterdServer: Sendable {
    /// Gives the key, or a token of the session, that a request sends; nil sends none.
    public typealias Credential = @Sendable () async throws -> String?

    let host: String
    let port: Int
    /// The path before that of the API; empty without one.
    let path: String
    /// Nil for plain HTTP.
    let tls: NIOSSLContext?
    let credential: Credential

    /// A daemon that is called with a key, or without one.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`, host, port and perhaps a path.
    ///   - certificateAuthorityFile: Certificates to trust in PEM; nil trusts the system's.
    public init(_ url: String, key: String? = nil, certificateAuthorityFile: String? = nil) throws {
        try self.init(url, certificateAuthorityFile: certificateAuthorityFile) { key }
    }

    /// A daemon that is called with a credential which is asked for before each request, because a session's token ends.
    public init(
        _ url: String, certificateAuthorityFile: String? = nil, credential: @escaping Credential
    ) throws {
        guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty, parts.query == nil,
            let scheme = parts.scheme, ["http", "https"].contains(scheme)
        else {
            throw RouterdClientError(code: "invalid-url", "The URL of a daemon is like https://routerd.example.com.")
        }
        // Brackets of an IPv6 address belong to the URL alone.
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        path =
            parts.percentEncodedPath.hasSuffix("/")
            ? String(parts.percentEncodedPath.dropLast()) : parts.percentEncodedPath
        self.credential = credential
        guard scheme == "https" else {
            tls = nil
            return
        }
        var settings = TLSConfiguration.makeClientConfiguration()
        if let certificateAuthorityFile { settings.trustRoots = .file(certificateAuthorityFile) }
        settings.applicationProtocols = ["http/1.1"]
        tls = try NIOSSLContext(configuration: settings)
    }

    /// Posts a notification, and returns when it is durable.
    ///
    /// - Parameters:
    ///   - payload: The payload, such as one of APNs, with the content that it is about.
    ///   - idempotencyKey: Names the notification, so that posting it again has no effect.
    /// - Returns: The daemon's answer: `id`, `state` and `decision`.
    @discardableResult
    public func post(
        _ payload: JSONValue, to application: ApplicationID, idempotencyKey: String? = nil
    ) async throws -> JSONValue {
        let headers = idempotencyKey.map { [("idempotency-key", $0)] } ?? []
        return try await call(
            .POST, "/v1/applications/\(segment(application.text))/notifications", headers: headers, payload)
    }
}

/// Percent-encodes a segment of a path.
func segment(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            encoded.unicodeScalars.append(UnicodeScalar(byte))
        default: encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
        }
    }
    return encoded
}
