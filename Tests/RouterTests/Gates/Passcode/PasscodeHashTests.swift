import Testing

@testable import Router

struct PasscodeHashTests {
    private let usual = PasscodeHash.Cost(logRounds: 15, blockSize: 8, parallelism: 3)

    @Test func aCostHasItsMemory() {
        #expect(usual.memoryBytes == 128 * 8 * (32_768 + 4))
        #expect(usual.isBearable)
    }

    /// A manipulated database must not make the daemon use up all memory or all time.
    @Test(arguments: [
        (0, 8, 1), (25, 1, 1), (-1, 8, 1), (64, 8, 1), (10, 0, 1), (10, 65, 1), (10, 8, 0), (10, 8, 65), (18, 8, 1),
        (24, 1, 1), (Int.max, Int.max, Int.max),
    ])
    func anUnaffordableHashIsRefused(logRounds: Int, blockSize: Int, parallelism: Int) {
        let cost = PasscodeHash.Cost(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism)
        #expect(PasscodeHash(cost: cost, salt: [1], digest: [1]) == nil)
    }

    @Test func thereIsAlwaysASaltAndADigest() {
        #expect(PasscodeHash(cost: usual, salt: [], digest: [1]) == nil)
        #expect(PasscodeHash(cost: usual, salt: [1], digest: []) == nil)
    }

    @Test func onlyTheSameDigestMatches() throws {
        let hash = try #require(PasscodeHash(cost: usual, salt: [1], digest: [1, 2, 3]))
        #expect(hash.matches([1, 2, 3]))
        for other: [UInt8] in [[], [1, 2], [1, 2, 3, 4], [0, 2, 3], [1, 2, 4]] { #expect(!hash.matches(other)) }
    }

    @Test func itIsNotPrinted() throws {
        let hash = try #require(PasscodeHash(cost: usual, salt: [211, 212], digest: [213, 214]))
        var dumped = ""
        dump(hash, to: &dumped)
        for text in ["\(hash)", String(reflecting: hash), dumped] {
            for byte in 211...214 { #expect(!text.contains("\(byte)")) }
        }
        #expect("\(hash)" == "scrypt ln=15,r=8,p=3")
    }
}
