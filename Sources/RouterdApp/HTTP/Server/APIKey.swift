import Crypto
import Foundation
import HTTPTypes
import NIOCore
package import Router
package import RouterPlugin
import Synchronization

extension APIKey {
    /// The prefix of every key, so that leaked keys can be found.
    package static let prefix = "rk_"

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
    /// For the log of changes, if the request's operation has a place there.
    var note: ChangeNote?

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
        /// Keys of the configuration, in its order.
        var configured: [APIKey]
        /// Keys created by requests, by name.
        var made: [APIKey] = []
        private(set) var byDigest: [[UInt8]: APIKey] = [:]
        /// The connections with an answer that goes on, and the key that it was admitted with.
        var streams: [ObjectIdentifier: (channel: any Channel, key: APIKey)] = [:]

        var keys: [APIKey] { configured + made }

        func isValid(_ key: APIKey) -> Bool { byDigest[key.digest] == key }

        /// Rebuilds the table after a change. A key of the configuration precedes another one with its digest.
        ///
        /// - Returns: The connections of removed and changed keys.
        mutating func index() -> [any Channel] {
            byDigest = Dictionary(keys.map { ($0.digest, $0) }) { first, _ in first }
            return streams.values.filter { !isValid($0.key) }.map(\.channel)
        }
    }

    private let state: Mutex<State>
    package let tokens: SessionTokens
    /// Without keys in the configuration the daemon is in development mode, until its end.
    package let isOpen: Bool

    package init(keys: [APIKey], tokens: SessionTokens = SessionTokens()) {
        var state = State(configured: keys)
        _ = state.index()
        self.state = Mutex(state)
        isOpen = keys.isEmpty
        self.tokens = tokens
    }

    /// The keys of the configuration, followed by those created by requests.
    var keys: [APIKey] { state.withLock(\.keys) }

    /// The keys of the configuration.
    var configured: [APIKey] { state.withLock(\.configured) }

    /// Replaces the keys of the configuration, and closes the streams of removed and changed keys.
    ///
    /// - Returns: The names of these keys; nil if the change would begin or end development mode, which needs a start.
    package func replace(with keys: [APIKey]) -> [String]? {
        guard keys.isEmpty == isOpen else { return nil }
        let kept = Set(keys)
        return change { state in
            let gone = state.configured.filter { !kept.contains($0) }
            state.configured = keys
            return gone.map(\.name)
        }
    }

    /// Replaces the keys created by requests, likewise.
    package func replace(made keys: [APIKey]) { change { $0.made = keys } }

    @discardableResult
    private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, closed) = state.withLock { state in
            let value = body(&state)
            return (value, state.index())
        }
        for channel in closed { channel.close(promise: nil) }
        return value
    }

    /// Closes the connection when the key that the caller was admitted with is revoked.
    func watch(_ channel: any Channel, of caller: Caller) {
        guard let key = caller.key ?? caller.token.flatMap(issuer) else { return }
        let id = ObjectIdentifier(channel)
        let (isKnown, isNew) = state.withLock { state in
            (state.isValid(key), state.streams.updateValue((channel, key), forKey: id) == nil)
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

    /// The lookup hashes the whole digest under a random seed: its time does not depend on a common prefix.
    private func key(for token: String) -> APIKey? {
        let digest = APIKey.digest(of: token)
        return state.withLock { $0.byDigest[digest] }
    }
}
