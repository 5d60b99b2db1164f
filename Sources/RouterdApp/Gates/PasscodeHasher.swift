import Crypto
import CryptoExtras
import Dispatch
import Foundation
package import Router
package import RouterPlugin
import Synchronization

/// Makes hashes of passcodes, and compares with them, on threads of its own: a hash takes a fifth of a second and 32 MiB,
/// which neither the engine's queue nor the pool that answers requests may wait for.
///
/// No more than half of the cores are at it, so that a flood of passcodes leaves room for everything else, and no more
/// than `DaemonLimits.passcodesWaiting` wait for their turn.
package final class PasscodeHasher: Sendable {
    /// More wait than are taken.
    package struct Overloaded: Error {
        package init() {}
    }

    private struct Turns {
        var waiting = 0
        var next = 0
    }

    private let cost: PasscodeHash.Cost
    private let queues: [DispatchQueue]
    private let limit: Int
    private let turns = Mutex(Turns())

    package init(
        cost: PasscodeHash.Cost = DaemonLimits.passcodeCost,
        workers: Int = max(1, ProcessInfo.processInfo.activeProcessorCount / 2),
        limit: Int = DaemonLimits.passcodesWaiting
    ) {
        self.cost = cost
        self.limit = limit
        queues = (0..<max(1, workers)).map { DispatchQueue(label: "routerd.passcodes.\($0)", qos: .utility) }
    }

    /// The hash of a passcode that somebody has chosen, under a salt of its own.
    package func hash(_ passcode: Passcode) async throws -> PasscodeHash {
        try await perform { [cost] in try Self.hash(passcode, cost) }
    }

    /// Whether a passcode is the one that the hash was made of.
    package func verify(_ passcode: Passcode, against hash: PasscodeHash) async throws -> PasscodeLock.Verdict {
        try await perform { [cost] in
            let isRight = hash.matches(try Self.derive(passcode, hash.salt, hash.cost, count: hash.digest.count))
            let isOutdated = isRight && hash.cost != cost
            return PasscodeLock.Verdict(isRight: isRight, renewed: isOutdated ? try Self.hash(passcode, cost) : nil)
        }
    }

    private func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let turn = turns.withLock { turns -> Int? in
            guard turns.waiting < limit else { return nil }
            turns.waiting += 1
            turns.next = (turns.next + 1) % queues.count
            return turns.next
        }
        guard let turn else { throw Overloaded() }
        return try await withCheckedThrowingContinuation { continuation in
            queues[turn].async { [self] in
                let result = Result { try work() }
                turns.withLock { $0.waiting -= 1 }
                continuation.resume(with: result)
            }
        }
    }

    private static func hash(_ passcode: Passcode, _ cost: PasscodeHash.Cost) throws -> PasscodeHash {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<DaemonLimits.passcodeSaltBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let digest = try derive(passcode, salt, cost, count: SHA256.byteCount)
        guard let hash = PasscodeHash(cost: cost, salt: salt, digest: digest) else {
            preconditionFailure("The cost of passcodes cannot be borne: \(cost).")
        }
        return hash
    }

    private static func derive(
        _ passcode: Passcode, _ salt: [UInt8], _ cost: PasscodeHash.Cost, count: Int
    ) throws -> [UInt8] {
        // The memory that it may take follows from these, and they are in bounds: see `PasscodeHash.Cost.isBearable`.
        let key = try KDF.Scrypt.deriveKey(
            from: Array(passcode.revealed().utf8), salt: salt, outputByteCount: count, rounds: 1 << cost.logRounds,
            blockSize: cost.blockSize, parallelism: cost.parallelism)
        return key.withUnsafeBytes { Array($0) }
    }
}
