import GRDB
import Router
import RouterPlugin

/// SipHash-2-4 of a dedupe key, by a secret of the database.
///
/// The index of keys holds hashes instead of texts: a fifth of the size, whatever senders choose as keys. The secret
/// keeps a sender from choosing keys of one hash, which would make each look-up as long as their list.
struct KeyHash {
    /// The name of the SQL function that hashes application, source and key.
    static let function = "key_hash"
    static let secretBytes = 16

    private let seed: (UInt64, UInt64)

    /// - Parameter secret: `secretBytes` bytes.
    init(secret: [UInt8]) {
        seed = (Self.word(secret[...]), Self.word(secret.dropFirst(8)))
    }

    /// Makes the function known to a connection, with the secret of its database.
    static func install(on db: Database) throws {
        let secret = try PreparedStatement(db, "SELECT key_secret FROM ledger").first { row in row.bytes() }
        guard let secret, secret.count == secretBytes else {
            throw StoreError(.corrupt, "the ledger has no secret for hashes of keys")
        }
        let hash = KeyHash(secret: secret)
        db.add(
            function: DatabaseFunction(function, argumentCount: 3, pure: true) { values in
                var bytes: [UInt8] = []
                for value in values {
                    let part = String.fromDatabaseValue(value) ?? ""
                    bytes.append(contentsOf: part.utf8)
                    // Never part of UTF-8, so that no two keys are joined to the same bytes.
                    bytes.append(0xFF)
                }
                return Int64(bitPattern: hash.value(of: bytes))
            })
    }

    func value(of bytes: [UInt8]) -> UInt64 {
        var state = State(seed)
        let whole = bytes.count & ~7
        for start in stride(from: 0, to: whole, by: 8) { state.absorb(Self.word(bytes[start...])) }
        state.absorb(Self.word(bytes[whole...]) | UInt64(truncatingIfNeeded: bytes.count) << 56)
        return state.finish()
    }

    /// Up to eight bytes, the first the lowest.
    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The four words of SipHash.
    private struct State {
        private var v0: UInt64
        private var v1: UInt64
        private var v2: UInt64
        private var v3: UInt64

        init(_ seed: (UInt64, UInt64)) {
            v0 = seed.0 ^ 0x736f_6d65_7073_6575
            v1 = seed.1 ^ 0x646f_7261_6e64_6f6d
            v2 = seed.0 ^ 0x6c79_6765_6e65_7261
            v3 = seed.1 ^ 0x7465_6462_7974_6573
        }

        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            for _ in 0..<2 { round() }
            v0 ^= word
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xFF
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        private mutating func round() {
            v0 &+= v1; v1 = Self.rotate(v1, 13) ^ v0; v0 = Self.rotate(v0, 32)
            v2 &+= v3; v3 = Self.rotate(v3, 16) ^ v2
            v0 &+= v3; v3 = Self.rotate(v3, 21) ^ v0
            v2 &+= v1; v1 = Self.rotate(v1, 17) ^ v2; v2 = Self.rotate(v2, 32)
        }

        private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
    }
}
