/// The stored form of a passcode: the output of scrypt (RFC 7914), with its salt and cost.
///
/// The cost is stored with the digest, so that it can be raised: a hash made at another cost is recomputed when the
/// passcode is next typed, since only then is it known.
package struct PasscodeHash: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The cost of one guess.
    package struct Cost: Hashable, Sendable {
        /// The binary logarithm of scrypt's N: each increment doubles time and memory.
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

        /// The memory needed to compute a hash, in bytes.
        package var memoryBytes: Int { 128 * blockSize * ((1 << logRounds) + parallelism + 1) }

        /// Whether the daemon can afford the cost: a party with write access to the database must not be able to make
        /// it use all memory.
        package var isBearable: Bool {
            RouterLimits.passcodeLogRounds.contains(logRounds) && RouterLimits.passcodeBlockSize.contains(blockSize)
                && RouterLimits.passcodeParallelism.contains(parallelism)
                && memoryBytes <= RouterLimits.passcodeMemoryBytes
        }
    }

    package let cost: Cost
    package let salt: [UInt8]
    package let digest: [UInt8]

    /// Fails if the cost is not bearable, or if the salt or the digest is empty.
    package init?(cost: Cost, salt: [UInt8], digest: [UInt8]) {
        guard cost.isBearable, !salt.isEmpty, !digest.isEmpty else { return nil }
        self.cost = cost
        self.salt = salt
        self.digest = digest
    }

    /// Whether the digests are equal; the time of the comparison does not reveal where they differ.
    package func matches(_ digest: [UInt8]) -> Bool {
        guard digest.count == self.digest.count else { return false }
        return zip(digest, self.digest).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The cost alone: salt and digest are never printed, since they permit guessing.
    package var description: String { "scrypt ln=\(cost.logRounds),r=\(cost.blockSize),p=\(cost.parallelism)" }
    /// The cost alone: salt and digest are never printed, since they permit guessing.
    package var customMirror: Mirror { Mirror(self, children: ["cost": cost]) }
}
