import Router
import RouterPlugin

/// Work of the edge beside the engine: comparing passcodes, checking signatures. It takes time, and is lost with the
/// process.
struct PendingVerification {
    enum Kind {
        /// Compares a typed passcode; if it is right, the chosen one replaces it.
        case compare(PasscodeLock.Trial, typed: String, choosing: String?)
        /// Checks a signature of a text that was made by some key.
        case check(text: String, madeBy: DeviceKey)
    }

    let kind: Kind
    let speaker: PasscodeRequest.Speaker
    let endsAt: Timestamp
}

/// A typed passcode: only the edge has it until a try is counted.
struct TypedPasscode {
    let passcode: String
    /// The passcode that is to replace it.
    let chosen: String?
}

/// Computes hashes like scrypt, in no time: the same text and salt give the same digest, and another text another
/// digest.
enum SimulatedHasher {
    /// The current cost of hashes, and the cost of some older ones.
    static let cost = PasscodeHash.Cost(logRounds: 2, blockSize: 1, parallelism: 1)
    static let formerCost = PasscodeHash.Cost(logRounds: 1, blockSize: 1, parallelism: 1)

    static func hash(_ passcode: String, salt: [UInt8], cost: PasscodeHash.Cost) -> PasscodeHash {
        guard let hash = PasscodeHash(cost: cost, salt: salt, digest: digest(passcode, salt)) else {
            preconditionFailure("The simulated cost cannot be borne: \(cost).")
        }
        return hash
    }

    static func isRight(_ passcode: String, for hash: PasscodeHash) -> Bool {
        hash.matches(digest(passcode, hash.salt))
    }

    /// FNV-1a.
    private static func digest(_ passcode: String, _ salt: [UInt8]) -> [UInt8] {
        let value = (salt + passcode.utf8).reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
