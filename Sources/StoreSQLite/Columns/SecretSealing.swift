/// Names a key that secrets are sealed under, without saying anything about it.
package struct SecretKeyID: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// Sixteen hexadecimal digits.
    package var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// How secrets are sealed before they are written, and opened when they have been read. The store does not know the
/// cipher; it keeps the sealed bytes and the name of their key. Both closures throw `StoreError`.
package struct SecretSealing: Sendable {
    /// The key that seals.
    package let keyID: SecretKeyID
    /// Seals bytes that belong to the context; they cannot be opened in another one.
    package let seal: @Sendable (_ secret: [UInt8], _ context: [UInt8]) throws -> [UInt8]
    /// Opens bytes that were sealed under a key, for the context; nil if there is no such key.
    package let open: @Sendable (_ sealed: [UInt8], _ keyID: SecretKeyID, _ context: [UInt8]) throws -> [UInt8]?

    package init(
        keyID: SecretKeyID,
        seal: @escaping @Sendable (_ secret: [UInt8], _ context: [UInt8]) throws -> [UInt8],
        open:
            @escaping @Sendable (
                _ sealed: [UInt8], _ keyID: SecretKeyID, _ context: [UInt8]
            ) throws -> [UInt8]?
    ) {
        self.keyID = keyID
        self.seal = seal
        self.open = open
    }
}
