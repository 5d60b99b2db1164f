import Crypto
import CryptoExtras
import Dispatch
import Foundation
package import Router
package import RouterPlugin
import Synchronization

/// Computes and compares passcode hashes on threads of its own: a hash takes a quarter of a second and 32 MiB, and
/// neither the engine's queue nor the pool that answers requests may wait for that.
///
/// At most half of the cores compute hashes, so that a flood of passcodes leaves room for everything else, and at most
/// `DaemonLimits.passcodesWaiting` requests have a turn.
package final class PasscodeHasher: Sendable {
    /// Too many requests wait for hashes already.
    package struct Overloaded: Error {
        package init() {}
    }

    private struct Turns {
        var taken = 0
        var next = 0
    }

    private let cost: PasscodeHash.Cost
    private let queues: [DispatchQueue]
    private let limit: Int
    private let turns = Mutex(Turns())

    package init(
        cost: PasscodeHash.Cost,
        workers: Int = max(1, ProcessInfo.processInfo.activeProcessorCount / 2),
        limit: Int = DaemonLimits.passcodesWaiting
    ) {
        self.cost = cost
        self.limit = limit
        queues = (0..<max(1, workers)).map { DispatchQueue(label: "routerd.passcodes.\($0)", qos: .utility) }
    }

    /// Runs a body that needs hashes, when there is room for it: the turn is granted before the body counts a try, of
    /// which a client has a limited number.
    ///
    /// - Throws: `Overloaded` if too many requests wait; the errors of `body`.
    package func inTurn<Value: Sendable>(_ body: (Turn) async throws -> Value) async throws -> Value {
        let queue = turns.withLock { turns -> Int? in
            guard turns.taken < limit else { return nil }
            turns.taken += 1
            turns.next = (turns.next + 1) % queues.count
            return turns.next
        }
        guard let queue else { throw Overloaded() }
        defer { turns.withLock { $0.taken -= 1 } }
        return try await body(Turn(cost: cost, queue: queues[queue]))
    }

    /// The permission to compute hashes.
    package struct Turn: Sendable {
        fileprivate let cost: PasscodeHash.Cost
        fileprivate let queue: DispatchQueue

        /// The hash of a newly chosen passcode, with a salt of its own.
        package func hash(_ passcode: Passcode) async throws -> PasscodeHash {
            try await perform { try PasscodeHasher.hash(passcode, cost) }
        }

        /// Whether the hash was made of this passcode.
        package func verify(_ passcode: Passcode, against hash: PasscodeHash) async throws -> PasscodeLock.Verdict {
            try await perform {
                let digest = try PasscodeHasher.derive(passcode, hash.salt, hash.cost, count: hash.digest.count)
                let isRight = hash.matches(digest)
                let isOutdated = isRight && hash.cost != cost
                return PasscodeLock.Verdict(
                    isRight: isRight, renewed: isOutdated ? try PasscodeHasher.hash(passcode, cost) : nil)
            }
        }

        private func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { continuation.resume(with: Result { try work() }) }
            }
        }
    }

    fileprivate static func hash(_ passcode: Passcode, _ cost: PasscodeHash.Cost) throws -> PasscodeHash {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<DaemonLimits.passcodeSaltBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let digest = try derive(passcode, salt, cost, count: SHA256.byteCount)
        guard let hash = PasscodeHash(cost: cost, salt: salt, digest: digest) else {
            preconditionFailure("The cost of passcodes cannot be borne: \(cost).")
        }
        return hash
    }

    fileprivate static func derive(
        _ passcode: Passcode, _ salt: [UInt8], _ cost: PasscodeHash.Cost, count: Int
    ) throws -> [UInt8] {
        // These numbers determine the memory of the hash, and they are in bounds: see `PasscodeHash.Cost.isBearable`.
        let key = try KDF.Scrypt.deriveKey(
            from: Array(passcode.revealed().utf8), salt: salt, outputByteCount: count, rounds: 1 << cost.logRounds,
            blockSize: cost.blockSize, parallelism: cost.parallelism)
        return key.withUnsafeBytes { Array($0) }
    }
}
