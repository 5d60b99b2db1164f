import Crypto
import CryptoExtras
import Foundation
package import Router
package import RouterPlugin

/// Computes and compares passcode hashes on threads of its own: a hash takes a quarter of a second and 32 MiB, and
/// neither the engine's queue nor the pool that answers requests may wait for that.
///
/// At most half of the cores make hashes, so that a flood of passcodes leaves room for everything else. Tenants take turns,
/// and at most `DaemonLimits.passcodesWaiting` passcodes of each wait.
package final class PasscodeHasher: Sendable {
    /// The application has as many passcodes waiting as it may have.
    package struct Overloaded: Error {
        package init() {}
    }

    private let cost: PasscodeHash.Cost
    private let threads: BackgroundThreads
    private let slots: TenantSlots

    package init(
        cost: PasscodeHash.Cost,
        workers: Int = max(1, ProcessInfo.processInfo.activeProcessorCount / 2),
        waiting: Int = DaemonLimits.passcodesWaiting
    ) {
        self.cost = cost
        let workers = max(1, workers)
        threads = BackgroundThreads(workers)
        slots = TenantSlots(slots: workers, share: (workers + 1) / 2, waitingLimit: waiting)
    }

    /// Runs a body that needs hashes, when there is room for it: the turn is granted before the body counts a try, of
    /// which a client has a limited number.
    ///
    /// - Parameter tenant: The application whose passcode it is.
    /// - Throws: `Overloaded` if too many of the application's wait; the errors of `body`.
    package func inTurn<Value: Sendable>(
        of tenant: ApplicationID, _ body: (Turn) async throws -> Value
    ) async throws -> Value {
        do {
            return try await slots.withSlot(for: tenant) { try await body(Turn(cost: cost, threads: threads)) }
        } catch is TenantSlots.Full {
            throw Overloaded()
        }
    }

    /// The permission to compute hashes.
    package struct Turn: Sendable {
        fileprivate let cost: PasscodeHash.Cost
        fileprivate let threads: BackgroundThreads

        /// The hash of a newly chosen passcode, with a salt of its own.
        package func hash(_ passcode: Passcode) async throws -> PasscodeHash {
            try await threads.perform { try PasscodeHasher.hash(passcode, cost) }
        }

        /// Whether the hash was made of this passcode.
        package func verify(_ passcode: Passcode, against hash: PasscodeHash) async throws -> PasscodeLock.Verdict {
            try await threads.perform {
                let digest = try PasscodeHasher.derive(passcode, hash.salt, hash.cost, count: hash.digest.count)
                let isRight = hash.matches(digest)
                let isOutdated = isRight && hash.cost != cost
                return PasscodeLock.Verdict(
                    isRight: isRight, renewed: isOutdated ? try PasscodeHasher.hash(passcode, cost) : nil)
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
