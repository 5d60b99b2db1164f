import Crypto
import Foundation
import Glibc
import Router
package import StoreSQLite

/// The keys that seal secrets in the database: the first key seals, all keys open.
///
///     key ──HKDF──▶ key id (8 bytes)                        names the key, reveals nothing of it
///      └────HKDF, salt (16 bytes, random) ──▶ AES-256-GCM   a key of its own for every sealing
///
///     sealed   salt │ nonce, 12 bytes │ ciphertext │ tag, 16 bytes
///
/// Each change of a session's state rewrites the session and seals its keys again. One AES-GCM key is safe for 2³²
/// random nonces, which a busy daemon would use up in days; the salt removes that limit.
package struct SecretKeyring: Sendable, CustomStringConvertible, CustomReflectable {
    private struct Key: Sendable {
        let id: SecretKeyID
        let key: SymmetricKey

        init(_ bytes: [UInt8]) {
            key = SymmetricKey(data: bytes)
            let id = HKDF<SHA256>.expand(
                pseudoRandomKey: key, info: Array("routerd key id".utf8), outputByteCount: MemoryLayout<UInt64>.size)
            self.id = SecretKeyID(id.withUnsafeBytes { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } })
        }

        func sealingKey(_ salt: [UInt8]) -> SymmetricKey {
            HKDF<SHA256>.expand(
                pseudoRandomKey: key, info: Array("routerd secrets".utf8) + salt,
                outputByteCount: SecretKeyring.keyLength)
        }
    }

    fileprivate static let keyLength = 32
    private static let saltLength = 16
    private let first: Key
    private let all: [Key]
    /// Whether the keys come from a file that every user of the machine may read.
    package private(set) var isOpenToAll = false

    /// Reads keys, one a line: base64 of 32 bytes. Empty lines and lines that begin with `#` are skipped.
    package init(_ text: String) throws(ConfigurationLoader.Unusable) {
        var keys: [Key] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let bytes = Data(base64Encoded: line), bytes.count == Self.keyLength else {
                throw ConfigurationLoader.Unusable("names a file that must hold keys, one a line: base64 of 32 bytes")
            }
            keys.append(Key(Array(bytes)))
        }
        guard let first = keys.first else { throw ConfigurationLoader.Unusable("names a file without a key") }
        guard keys.count <= DaemonLimits.secretKeys else {
            throw ConfigurationLoader.Unusable("names a file with more than \(DaemonLimits.secretKeys) keys")
        }
        self.first = first
        all = keys
    }

    /// Reads a file of keys.
    package init(path: String) throws(ConfigurationLoader.Unusable) {
        let file = try ConfiguredFile(path, limit: DaemonLimits.secretKeyFileBytes)
        let isShort = file.bytes.count <= DaemonLimits.secretKeyFileBytes
        guard isShort, let text = String(validating: file.bytes, as: UTF8.self) else {
            throw ConfigurationLoader.Unusable(
                "names a file that must hold keys, one a line: base64 of 32 bytes: \(path)")
        }
        do throws(ConfigurationLoader.Unusable) {
            try self.init(text)
        } catch {
            throw ConfigurationLoader.Unusable("\(error.reason): \(path)")
        }
        isOpenToAll = file.mode.map { $0 & S_IROTH != 0 } ?? false
    }

    /// The ids of the keys, the sealing key first.
    package var keyIDs: [SecretKeyID] { all.map(\.id) }

    /// The key ids alone: a key is never printed.
    package var description: String { keyIDs.map(\.description).joined(separator: ", ") }
    /// The key ids alone: a key is never printed.
    package var customMirror: Mirror { Mirror(self, children: ["keyIDs": keyIDs]) }

    /// The operations with which the store seals and opens secrets.
    package var sealing: SecretSealing {
        SecretSealing(keyID: first.id) { [first] secret, context in
            try Self.seal(secret, context, first)
        } open: { [all] sealed, keyID, context in
            guard let key = all.first(where: { $0.id == keyID }) else { return nil }
            return try Self.open(sealed, context, key)
        }
    }

    private static func seal(_ secret: [UInt8], _ context: [UInt8], _ key: Key) throws(StoreError) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<saltLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        do {
            let box = try AES.GCM.seal(secret, using: key.sealingKey(salt), authenticating: context)
            return salt + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw StoreError(.secretsKey, "a secret could not be sealed under the key \(key.id)")
        }
    }

    private static func open(_ sealed: [UInt8], _ context: [UInt8], _ key: Key) throws(StoreError) -> [UInt8] {
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.dropFirst(saltLength))
            let salt = Array(sealed.prefix(saltLength))
            return Array(try AES.GCM.open(box, using: key.sealingKey(salt), authenticating: context))
        } catch {
            throw StoreError(
                .corrupt, "a secret that was sealed under the key \(key.id) cannot be opened: it was changed")
        }
    }
}
