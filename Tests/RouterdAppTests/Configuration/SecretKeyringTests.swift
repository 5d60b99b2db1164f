import Foundation
import Glibc
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import Testing

@testable import DaemonTesting

/// The keys that seal secrets in the database.
@Suite("Secret keyring")
struct SecretKeyringTests {
    private let secret = Array("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".utf8)
    private let context = Array("session a b".utf8)

    @Test func aSealedTextIsOpenedByItsKeyOnly() throws {
        let (old, both, new) = (
            try TestKeyring.of(1).sealing, try TestKeyring.of(2, 1).sealing, try TestKeyring.of(2).sealing
        )
        let sealed = try old.seal(secret, context)
        #expect(sealed.count == secret.count + 16 + 12 + 16)
        #expect(try old.open(sealed, old.keyID, context) == secret)
        #expect(try both.open(sealed, old.keyID, context) == secret, "the first seals, all open")
        #expect(both.keyID == new.keyID && new.keyID != old.keyID)
        #expect(try new.open(sealed, old.keyID, context) == nil)
        #expect(throws: StoreError.self) { try new.open(sealed, new.keyID, context) }
    }

    /// Every bit is protected, including salt, nonce, and the place that the secret belongs to.
    @Test func nothingMayBeChanged() throws {
        let sealing = try TestKeyring.of(1).sealing
        let sealed = try sealing.seal(secret, context)
        for place in sealed.indices {
            var bent = sealed
            bent[place] ^= 1 << UInt8(place % 8)
            #expect(throws: StoreError.self, "byte \(place)") { try sealing.open(bent, sealing.keyID, context) }
        }
        for length in [0, 15, 16, 43, sealed.count - 1] {
            #expect(throws: StoreError.self) { try sealing.open(Array(sealed.prefix(length)), sealing.keyID, context) }
        }
        for other in [[], context + [0], Array("session a c".utf8)] {
            #expect(throws: StoreError.self) { try sealing.open(sealed, sealing.keyID, other) }
        }
    }

    @Test func theSameSecretIsNeverSealedTheSame() throws {
        let sealing = try TestKeyring.of(1).sealing
        let sealed = try (0..<200).map { _ in try sealing.seal(secret, context) }
        #expect(Set(sealed.map { Array($0.prefix(16)) }).count == 200, "salts")
        #expect(Set(sealed.map { Array($0.dropFirst(28)) }).count == 200, "ciphertexts")
    }

    /// Sealed by another implementation of the same scheme (HKDF-Expand of RFC 5869, AES-256-GCM): stored secrets stay
    /// readable.
    @Test func theFormatStays() throws {
        let sealing = try TestKeyring.of(1).sealing
        #expect("\(sealing.keyID)" == "0387367009ff0437")
        let sealed = try #require(
            Data(
                base64Encoded:
                    "AAECAwQFBgcICQoLDA0ODwABAgMEBQYHCAkKCw9lr8bOncDcsg38NLF5Sxsw0rmfatgiLgiBdWJupVKPswAwZtIUCaVyeu+PdIWQTs+g73kz+Q=="
            ))
        #expect(try sealing.open(Array(sealed), sealing.keyID, context) == secret)
    }

    @Test func keysStandOneALine() throws {
        let text = "# newest first\r\n\(TestKeyring.key(2))\r\n\n  \(TestKeyring.key(1))\t\n"
        #expect(try SecretKeyring(text).keyIDs == TestKeyring.of(2, 1).keyIDs)
        #expect(try Set(SecretKeyring((1...16).map { TestKeyring.key($0) }.joined(separator: "\n")).keyIDs).count == 16)
    }

    @Test(arguments: [
        "", "# nothing\n", "secret", String(TestKeyring.key(1).dropLast(4)), TestKeyring.key(1) + TestKeyring.key(2),
        "\(TestKeyring.key(1))\n\(TestKeyring.key(1).dropLast(2))",
        Data(repeating: 1, count: 31).base64EncodedString(), Data(repeating: 1, count: 33).base64EncodedString(),
        (1...17).map { TestKeyring.key($0) }.joined(separator: "\n"),
    ])
    func otherFilesAreRefusedWithoutBeingQuoted(text: String) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(text, to: "keys")
        let faults = #expect(throws: ConfigurationFaults.self) {
            try DaemonConfiguration.load(file: nil, environment: ["ROUTERD_SECRETS_KEY_FILE": path])
        }
        #expect(faults?.faults.map(\.pointer) == ["ROUTERD_SECRETS_KEY_FILE"])
        #expect(faults.map { $0.description.hasPrefix("ROUTERD_SECRETS_KEY_FILE: The value names a file ") } == true)
        #expect(faults.map { !$0.description.contains("AQEB") && !$0.description.contains("secret\n") } == true)
    }

    @Test func aFileThatIsNotThereOrTooLargeIsAFault() throws {
        let directory = try TemporaryDirectory()
        let large = try directory.write(
            TestKeyring.key(1) + String(repeating: "\n", count: 16 * 1024), to: "large")
        for path in [directory.file("nothing"), large, "/dev/zero"] {
            #expect(throws: ConfigurationFaults.self, "\(path)") {
                try DaemonConfiguration.load(file: nil, environment: ["ROUTERD_SECRETS_KEY_FILE": path])
            }
        }
    }

    @Test func withoutKeysThereIsAWarningAndWithKeysThatAllMayRead() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(TestKeyring.key(1), to: "keys")
        let file = try ConfigurationFile(path: "f", text: "secrets: {keyFile: \(path)}")
        #expect(chmod(path, 0o644) == 0)
        #expect(
            try DaemonConfiguration.load(file: file).warnings == [
                "secrets.keyFile: every user of this machine may read it"
            ])
        #expect(chmod(path, 0o640) == 0)
        let configuration = try DaemonConfiguration.load(file: file)
        let expected = try TestKeyring.of(1).keyIDs
        #expect(configuration.secretKeys?.keyIDs == expected)
        #expect(configuration.warnings.isEmpty)
        #expect(try DaemonConfiguration.load(file: nil).warnings.count == 1)
    }
}
