import Crypto
import Foundation
import HTTPTypes
package import RouterPlugin

/// The rights of a caller of the HTTP API.
package enum APIScope: String, CaseIterable, Hashable, Sendable {
    /// Send notifications, explain decisions, read notifications.
    case ingest
    /// Register, change and discard scene sessions.
    case sessions
    /// Everything.
    case admin
}

/// A key of the HTTP API as the daemon keeps it: never the key itself, only its SHA-256.
package struct APIKey: Hashable, Sendable {
    /// The prefix of every key, so that leaked keys can be found.
    package static let prefix = "rk_"

    package let name: String
    package let digest: [UInt8]
    package let scopes: Set<APIScope>
    /// The one application that the key is for; nil for all.
    package let application: ApplicationID?
    /// How many requests the key may send in a second; nil for any number.
    package let requestsPerSecond: Int?

    package init(
        name: String, digest: [UInt8], scopes: Set<APIScope>, application: ApplicationID?,
        requestsPerSecond: Int? = nil
    ) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.application = application
        self.requestsPerSecond = requestsPerSecond
    }

    package init(
        name: String, key: String, scopes: Set<APIScope>, application: ApplicationID?, requestsPerSecond: Int? = nil
    ) {
        self.init(
            name: name, digest: Self.digest(of: key), scopes: scopes, application: application,
            requestsPerSecond: requestsPerSecond)
    }

    /// A new key: the prefix and 32 random bytes in base64url.
    package static func fresh(using generator: inout some RandomNumberGenerator) -> String {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let text = Data(bytes).base64EncodedString()
        return prefix
            + text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    package static func digest(of key: String) -> [UInt8] { Array(SHA256.hash(data: Array(key.utf8))) }

    package func allows(_ scope: APIScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }
}

/// The caller of a request.
package struct Caller: Hashable, Sendable {
    /// Nil in development mode, in which every caller may do everything.
    package let key: APIKey?

    /// Whether the caller may use an application.
    package func mayUse(_ application: ApplicationID) -> Bool {
        key?.application == nil || key?.application == application
    }
}

/// Identifies the caller by the header `Authorization: Bearer rk_…`.
package struct Authenticator: Sendable {
    private let keys: [APIKey]

    package init(keys: [APIKey]) {
        self.keys = keys
    }

    /// Without keys the daemon is in development mode.
    package var isOpen: Bool { keys.isEmpty }

    package func caller(authorization: String?, needing scope: APIScope) throws(Problem) -> Caller {
        guard !keys.isEmpty else { return Caller(key: nil) }
        guard let authorization, let token = Self.bearer(authorization) else {
            throw Problem(.unauthorized, "key-missing", "Send a key as 'Authorization: Bearer rk_…'.")
        }
        guard let key = key(for: token) else { throw Problem(.unauthorized, "key-unknown", "This key is not known.") }
        guard key.allows(scope) else {
            throw Problem(.forbidden, "scope-missing", "The key does not have the scope '\(scope.rawValue)'.")
        }
        return Caller(key: key)
    }

    /// The application of the key in a header `Authorization`, nil within for a key of all; nil if there is no such key.
    func tenant(authorization: String) -> ApplicationID?? {
        guard !keys.isEmpty, let key = Self.bearer(authorization).flatMap(key) else { return nil }
        return .some(key.application)
    }

    private static func bearer(_ header: String) -> String? {
        let parts = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// Digests are compared whole and with all keys, so that the time reveals nothing about how much of a guess was
    /// right.
    private func key(for token: String) -> APIKey? {
        let digest = APIKey.digest(of: token)
        var found: APIKey?
        for key in keys where zip(key.digest, digest).reduce(0, { $0 | ($1.0 ^ $1.1) }) == 0 { found = key }
        return found
    }
}
