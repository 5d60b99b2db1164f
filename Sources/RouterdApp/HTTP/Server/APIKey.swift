import Crypto
import Foundation
import HTTPTypes
import NIOCore
package import Router
package import RouterPlugin
import Synchronization

/// The rights of a caller of the HTTP API.
package enum APIScope: String, CaseIterable, Hashable, Sendable {
    /// Send notifications, explain decisions, read notifications.
    case ingest
    /// Register, change and discard scene sessions.
    case sessions
    /// Everything.
    case admin
    /// Everything that only reads; no deliveries, which a receiver takes by reading.
    case read
    /// The metrics.
    case metrics
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

    /// - Parameter isRead: Whether the rights are needed for an operation that only reads.
    package func allows(_ scope: APIScope, reading isRead: Bool = false) -> Bool {
        scopes.contains(scope) || scopes.contains(.admin) || isRead && scopes.contains(.read)
    }
}

/// The caller of a request.
package struct Caller: Hashable, Sendable {
    /// Nil in development mode, in which every caller may do everything; and for the caller with a token.
    package let key: APIKey?
    /// The token of a session, which speaks for that session alone.
    package let token: SessionToken?

    package init(key: APIKey?, token: SessionToken? = nil) {
        self.key = key
        self.token = token
    }

    /// The one application that the caller may use; nil for all.
    package var application: ApplicationID? { token?.session.application ?? key?.application }

    /// Whether the caller may use an application.
    package func mayUse(_ application: ApplicationID) -> Bool {
        self.application == nil || self.application == application
    }

    /// Whether the caller has the rights of a scope. The token of a session has those of none.
    package func allows(_ scope: APIScope) -> Bool { token == nil && key?.allows(scope) ?? true }

    /// Refuses the caller with a token of another session.
    package func expect(_ session: SessionKey) throws(Problem) {
        guard token == nil || token?.session == session else {
            throw Problem(.forbidden, "token-of-another-session", "The token is for another session.")
        }
    }

    /// Refuses the caller whose token is for a session of another device.
    package func expect(_ device: DeviceID?) throws(Problem) {
        guard token == nil || token?.device == device else {
            throw Problem(
                .forbidden, "token-of-another-session", "The token is for a session of another device, or of none.")
        }
    }
}

/// Identifies the caller by the header `Authorization: Bearer rk_…`, or `rs_…` for the token of a session.
///
/// Thread-safe. The keys may be replaced at any time.
package final class Authenticator: Sendable {
    private struct State {
        var keys: [APIKey]
        /// The connections with an answer that goes on, and the key that it was admitted with.
        var streams: [ObjectIdentifier: (channel: any Channel, key: APIKey)] = [:]
    }

    private let state: Mutex<State>
    package let tokens: SessionTokens
    /// Without keys the daemon is in development mode, until its end.
    package let isOpen: Bool

    package init(keys: [APIKey], tokens: SessionTokens = SessionTokens()) {
        state = Mutex(State(keys: keys))
        isOpen = keys.isEmpty
        self.tokens = tokens
    }

    var keys: [APIKey] { state.withLock(\.keys) }

    /// Replaces the keys, and closes the streams of those that are gone or have other rights.
    ///
    /// - Returns: The names of these keys; nil if the change would begin or end development mode, which needs a start.
    package func replace(with keys: [APIKey]) -> [String]? {
        guard keys.isEmpty == isOpen else { return nil }
        let kept = Set(keys)
        let (gone, closed) = state.withLock { state in
            let gone = state.keys.filter { !kept.contains($0) }
            state.keys = keys
            let closed = state.streams.values.filter { !kept.contains($0.key) }.map(\.channel)
            return (gone.map(\.name), closed)
        }
        for channel in closed { channel.close(promise: nil) }
        return gone
    }

    /// Closes the connection when the key that the caller was admitted with is revoked.
    func watch(_ channel: any Channel, of caller: Caller) {
        guard let key = caller.key ?? caller.token.flatMap(issuer) else { return }
        let id = ObjectIdentifier(channel)
        let (isKnown, isNew) = state.withLock { state in
            (state.keys.contains(key), state.streams.updateValue((channel, key), forKey: id) == nil)
        }
        if !isKnown { channel.close(promise: nil) }
        if isNew { channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.streams[id] = nil } } }
    }

    /// - Parameter takesTokens: Whether the token of a session is as good as a key of the scope.
    package func caller(
        authorization: String?, needing scope: APIScope, reading isRead: Bool = false,
        orToken takesTokens: Bool = false, at now: Timestamp
    ) throws(Problem) -> Caller {
        if let text = authorization.flatMap(Self.bearer), text.hasPrefix(SessionToken.prefix) {
            guard takesTokens else {
                throw Problem(.forbidden, "scope-missing", "The token of a session does not allow this request.")
            }
            return try caller(token: text, at: now)
        }
        guard !isOpen else { return Caller(key: nil) }
        guard let authorization, let token = Self.bearer(authorization) else {
            throw Problem(.unauthorized, "key-missing", "Send a key as 'Authorization: Bearer rk_…'.")
        }
        guard let key = key(for: token) else { throw Problem(.unauthorized, "key-unknown", "This key is not known.") }
        guard key.allows(scope, reading: isRead) else {
            throw Problem(.forbidden, "scope-missing", "The key does not have the scope '\(scope.rawValue)'.")
        }
        return Caller(key: key)
    }

    private func caller(token text: String, at now: Timestamp) throws(Problem) -> Caller {
        let token: SessionToken
        do { token = try tokens.token(text, at: now) } catch {
            throw switch error {
            case .unreadable: Problem(.unauthorized, "token-unknown", "This token was not given by this daemon.")
            case .expired: Problem(.unauthorized, "token-expired", "The time of this token is over.")
            }
        }
        guard isValid(token) else {
            throw Problem(.unauthorized, "token-unknown", "The key that this token was asked for with is not known.")
        }
        return Caller(key: nil, token: token)
    }

    /// Whether the key is still there that the token was asked for with.
    private func isValid(_ token: SessionToken) -> Bool {
        if isOpen { return token.issuer == nil }
        return issuer(of: token)?.allows(.sessions) ?? false
    }

    /// The key that a token was asked for with; nil in development mode, and if there is no such key any more.
    func issuer(of token: SessionToken) -> APIKey? {
        keys.first { key in
            token.isIssued(by: key) && (key.application == nil || key.application == token.session.application)
        }
    }

    /// The application of the key or token in a header `Authorization`, nil within for a key of all; nil if there is no
    /// such key.
    func tenant(authorization: String) -> ApplicationID?? {
        guard !isOpen, let text = Self.bearer(authorization) else { return nil }
        if text.hasPrefix(SessionToken.prefix) {
            // A token whose time is over is refused when the request is handled.
            guard let token = try? tokens.token(text, at: Timestamp(milliseconds: 0)) else { return nil }
            return .some(token.session.application)
        }
        guard let key = key(for: text) else { return nil }
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
