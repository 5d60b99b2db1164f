import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

struct PasscodeHasherTests {
    private static let cheap = PasscodeHash.Cost(logRounds: 4, blockSize: 1, parallelism: 1)
    private static let gallery = ApplicationID(unchecked: "com.example.Gallery")
    private let hasher = PasscodeHasher(cost: cheap)

    @Test func onlyTheSamePasscodeIsRight() async throws {
        let hash = try await hasher.hash(Passcode("correct horse"))
        #expect(try await hasher.verify(Passcode("correct horse"), against: hash).isRight)
        for wrong in ["correct hors", "correct horsf", "Correct horse", "correct horse ", "x"] {
            #expect(try await !hasher.verify(Passcode(wrong), against: hash).isRight)
        }
    }

    @Test func everyHashHasItsSalt() async throws {
        let (one, two) = (try await hasher.hash(Passcode("same")), try await hasher.hash(Passcode("same")))
        #expect(one.salt.count == 16 && one.digest.count == 32)
        #expect(one.salt != two.salt && one.digest != two.digest)
    }

    /// The second and the third vector of RFC 7914, section 12; 64 bytes of each.
    @Test(arguments: [
        (
            "password", "NaCl", 10, 16,
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830da"
                + "c727afb94a83ee6d8360cbdfa2cc0640"
        ),
        (
            "pleaseletmein", "SodiumChloride", 14, 1,
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9"
                + "e61e85dc0d651e40dfcf017b45575887"
        ),
    ])
    func itIsScrypt(passcode: String, salt: String, logRounds: Int, parallelism: Int, digest: String) async throws {
        let cost = PasscodeHash.Cost(logRounds: logRounds, blockSize: 8, parallelism: parallelism)
        let bytes = stride(from: 0, to: digest.utf8.count, by: 2).map { place in
            UInt8(digest.dropFirst(place).prefix(2), radix: 16) ?? 0
        }
        let hash = try #require(PasscodeHash(cost: cost, salt: Array(salt.utf8), digest: bytes))
        #expect(try await hasher.verify(Passcode(passcode), against: hash).isRight)
    }

    @Test func aHashOfAnotherCostIsMadeAnew() async throws {
        let hash = try await hasher.hash(Passcode("correct horse"))
        let dearer = PasscodeHash.Cost(logRounds: 5, blockSize: 1, parallelism: 1)
        let other = PasscodeHasher(cost: dearer)
        let renewed = try await other.verify(Passcode("correct horse"), against: hash).renewed
        #expect(renewed?.cost == dearer)
        let kept = try #require(renewed)
        #expect(try await other.verify(Passcode("correct horse"), against: kept) == .init(isRight: true, renewed: nil))
        // The right passcode is needed to compute a new hash, and a wrong one was given.
        #expect(try await other.verify(Passcode("wrong horse"), against: hash) == .init(isRight: false, renewed: nil))
        #expect(try await hasher.verify(Passcode("correct horse"), against: hash).renewed == nil)
    }

    @Test func noMoreHaveATurnThanThereAre() async throws {
        let one = PasscodeHasher(cost: Self.cheap, workers: 1, waiting: 0)
        try await one.inTurn(of: Self.gallery) { turn in
            _ = try await turn.hash(Passcode("x"))
            await #expect(throws: PasscodeHasher.Overloaded.self) { try await one.inTurn(of: Self.gallery) { _ in } }
        }
        // Each body returns its turn, also if it fails.
        struct Failure: Error {}
        for _ in 0..<3 {
            await #expect(throws: Failure.self) { try await one.inTurn(of: Self.gallery) { _ in throw Failure() } }
        }
    }
}

extension PasscodeHasher {
    fileprivate func hash(_ passcode: Passcode) async throws -> PasscodeHash {
        try await inTurn(of: ApplicationID(unchecked: "com.example.Gallery")) { try await $0.hash(passcode) }
    }

    fileprivate func verify(_ passcode: Passcode, against hash: PasscodeHash) async throws -> PasscodeLock.Verdict {
        try await inTurn(of: ApplicationID(unchecked: "com.example.Gallery")) {
            try await $0.verify(passcode, against: hash)
        }
    }
}
