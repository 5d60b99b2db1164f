import Crypto
import Glibc
package import Router
package import RouterPlugin

/// The right to speak for one session, for a time: a page holds it instead of a key of its application.
///
/// It names the device of the session, so that a page cannot move to another person's device.
package struct SessionToken: Hashable, Sendable {
    /// The prefix of every token, so that leaked tokens can be found.
    package static let prefix = "rs_"

    package let session: SessionKey
    package let device: DeviceID?
    package let expiresAt: Timestamp
    /// The key that it was asked for with, by the first bytes of its digest: the token ends with the key. Nil in development
    /// mode.
    package let issuer: [UInt8]?
    /// Whether its session was registered when it was given. Then it does not register it again once that was discarded.
    package let wasThere: Bool

    package init(
        session: SessionKey, device: DeviceID?, expiresAt: Timestamp, issuer: APIKey?, wasThere: Bool = false
    ) {
        self.wasThere = wasThere
        self.session = session
        self.device = device
        self.expiresAt = expiresAt
        self.issuer = issuer.map { Array($0.digest.prefix(8)) }
    }

    func isIssued(by key: APIKey) -> Bool { issuer.map { key.digest.starts(with: $0) } ?? false }
}

/// Signs tokens of sessions, and reads them: `rs_`, the claims as JSON in base64url, a point, and an HMAC-SHA256 of the claims.
///
/// Nothing is kept of a token: every daemon with the secret knows it.
package struct SessionTokens: Sendable {
    /// Why a text is no token.
    package enum Fault: Error, Hashable, Sendable {
        case unreadable
        /// Its time is over.
        case expired
    }

    package static let secretBytes = 32
    private static let context = Array("routerd session token 1\n".utf8)

    private let secret: SymmetricKey

    /// - Parameter secret: At least ``secretBytes`` bytes.
    package init(secret: [UInt8]) {
        precondition(secret.count >= Self.secretBytes, "The secret is too short.")
        self.secret = SymmetricKey(data: secret)
    }

    /// Signs with a secret that no other process knows.
    package init() { secret = SymmetricKey(size: .bits256) }

    /// Signs with the secret of a file, which is made if it is missing: only its owner may read it.
    ///
    /// A file that was lost costs the tokens that are valid now, and nothing else.
    package init(file path: String) throws(SessionTokenFileError) {
        if let secret = try Self.secret(in: path) {
            self.init(secret: secret)
            return
        }
        let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        // Written beside it and moved, so that no daemon reads a part of it; a daemon that was quicker is right.
        let draft = "\(path).\(getpid())"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SessionTokenFileError(path, errno) }
        defer {
            close(file)
            unlink(draft)
        }
        guard write(file, secret, secret.count) == secret.count, fsync(file) == 0 else {
            throw SessionTokenFileError(path, errno)
        }
        if link(draft, path) == 0 {
            self.init(secret: secret)
        } else if let secret = try Self.secret(in: path) {
            self.init(secret: secret)
        } else {
            throw SessionTokenFileError(path, errno)
        }
    }

    /// Nil if there is no such file.
    private static func secret(in path: String) throws(SessionTokenFileError) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw SessionTokenFileError(path, errno)
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: secretBytes + 1)
        let count = read(file, &bytes, bytes.count)
        guard count == secretBytes else { throw SessionTokenFileError(path, count < 0 ? errno : EINVAL) }
        return Array(bytes.prefix(count))
    }

    package func text(of token: SessionToken) -> String {
        let claims: [JSONValue] =
            [
                .string(token.session.application.text), .string(token.session.session.text),
                token.device.map { .string($0.text) } ?? .null, .number(JSONNumber(token.expiresAt.milliseconds)),
                token.issuer.map { .string(Base64.encode($0)) } ?? .null,
            ] + (token.wasThere ? [.bool(true)] : [])
        let bytes = JSONValue.array(claims).serialized()
        let mark = HMAC<SHA256>.authenticationCode(for: Self.context + bytes, using: secret)
        return "\(SessionToken.prefix)\(Base64URL.encode(bytes)).\(Base64URL.encode(mark))"
    }

    /// The token that the text is. The signature is checked before anything else is read, in a time that tells nothing.
    package func token(_ text: String, at now: Timestamp) throws(Fault) -> SessionToken {
        let parts = text.dropFirst(SessionToken.prefix.count).split(separator: ".", omittingEmptySubsequences: false)
        guard text.hasPrefix(SessionToken.prefix), parts.count == 2, let bytes = Base64URL.decode(parts[0].utf8),
            let mark = Base64URL.decode(parts[1].utf8),
            HMAC<SHA256>.isValidAuthenticationCode(mark, authenticating: Self.context + bytes, using: secret),
            let token = SessionToken(claims: bytes)
        else { throw .unreadable }
        guard now < token.expiresAt else { throw .expired }
        return token
    }
}

/// The file with the secret of session tokens cannot be used.
package struct SessionTokenFileError: Error, CustomStringConvertible {
    package let description: String

    init(_ path: String, _ code: Int32) {
        let reason =
            code == EINVAL ? "it must hold \(SessionTokens.secretBytes) bytes" : String(cString: strerror(code))
        description = "the secret of session tokens, \(path), cannot be used: \(reason)"
    }
}

extension SessionToken {
    fileprivate init?(claims: [UInt8]) {
        guard let claims = (try? JSONValue(parsing: claims))?.asArray, 5...6 ~= claims.count,
            let application = claims[0].asString, let session = claims[1].asString, let end = claims[3].asInt64
        else { return nil }
        self.session = SessionKey(
            application: ApplicationID(unchecked: application), session: SessionID(unchecked: session))
        device = claims[2].asString.map { DeviceID(unchecked: $0) }
        expiresAt = Timestamp(milliseconds: end)
        issuer = claims[4].asString.flatMap { Base64.decode(Substring($0)) }
        wasThere = claims.count > 5 && claims[5].asBool == true
    }
}
