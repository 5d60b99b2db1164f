/// What is kept of a passcode: the output of scrypt (RFC 7914), and what it was made with.
///
/// The cost stands beside it, so that it can be raised: what was made at another one is made anew when the passcode is
/// known, which is when it is typed the next time.
package struct PasscodeHash: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// What a guess costs.
    package struct Cost: Hashable, Sendable {
        /// The binary logarithm of scrypt's N: time and memory double with each.
        package let logRounds: Int
        /// scrypt's r: time and memory grow with it.
        package let blockSize: Int
        /// scrypt's p: time grows with it, memory does not.
        package let parallelism: Int

        package init(logRounds: Int, blockSize: Int, parallelism: Int) {
            self.logRounds = logRounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// How much memory a hash takes while it is made, in bytes.
        package var memoryBytes: Int { 128 * blockSize * ((1 << logRounds) + parallelism + 1) }

        /// Whether a daemon can bear it: whoever can write the database must not make it take all memory.
        package var isBearable: Bool {
            RouterLimits.passcodeLogRounds.contains(logRounds) && RouterLimits.passcodeBlockSize.contains(blockSize)
                && RouterLimits.passcodeParallelism.contains(parallelism)
                && memoryBytes <= RouterLimits.passcodeMemoryBytes
        }
    }

    package let cost: Cost
    package let salt: [UInt8]
    package let digest: [UInt8]

    /// Nil if the cost cannot be borne, or if there is no salt or no digest.
    package init?(cost: Cost, salt: [UInt8], digest: [UInt8]) {
        guard cost.isBearable, !salt.isEmpty, !digest.isEmpty else { return nil }
        self.cost = cost
        self.salt = salt
        self.digest = digest
    }

    /// Whether the digest is the same; how long it takes says nothing about where they differ.
    package func matches(_ digest: [UInt8]) -> Bool {
        guard digest.count == self.digest.count else { return false }
        return zip(digest, self.digest).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The cost alone: what could be guessed at is never printed.
    package var description: String { "scrypt ln=\(cost.logRounds),r=\(cost.blockSize),p=\(cost.parallelism)" }
    /// The cost alone: what could be guessed at is never printed.
    package var customMirror: Mirror { Mirror(self, children: ["cost": cost]) }
}
