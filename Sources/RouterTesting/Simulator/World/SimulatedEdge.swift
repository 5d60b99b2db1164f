import Router
import RouterPlugin

/// What the edge is at beside the engine: comparing what was typed, checking what was signed. It takes time, and ends with
/// the process.
struct EdgeWork {
    enum Kind {
        /// What was typed is compared; if it is right, the other one takes its place.
        case compare(PasscodeLock.Trial, typed: String, choosing: String?)
        /// The signature of a text was made by some key.
        case check(text: String, madeBy: DeviceKey)
    }

    let kind: Kind
    let speaker: PasscodeRequest.Speaker
    let endsAt: Timestamp
}

/// What somebody has typed: it is with the edge and nowhere else until a try of it is counted.
struct TypedPasscode {
    let passcode: String
    /// What is to take its place.
    let chosen: String?
}

/// Makes hashes as scrypt does, in no time: the same text under the same salt gives the same digest, another one another.
enum SimulatedHasher {
    /// What hashes cost today, and what some of them have cost.
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
