import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// Passcode locks in the file.
struct PasscodeStoreTests {
    private static let application = ApplicationID(unchecked: "com.example.Clinic")
    private static let digest = Array("the digest of a passcode, 32 by.".utf8)

    /// Turns bits over, and checks the context.
    private func sealing(_ id: UInt64, alsoOpening others: UInt64...) -> SecretSealing {
        SecretSealing(keyID: SecretKeyID(id)) { secret, context in
            context + [0] + secret.map { $0 ^ UInt8(truncatingIfNeeded: id) }
        } open: { sealed, keyID, context in
            guard ([id] + others).contains(keyID.value) else { return nil }
            guard sealed.starts(with: context + [0]) else { throw StoreError(.corrupt, "another place") }
            return sealed.dropFirst(context.count + 1).map { $0 ^ UInt8(truncatingIfNeeded: keyID.value) }
        }
    }

    private func lock(_ device: String?) throws -> PasscodeLock {
        let cost = PasscodeHash.Cost(logRounds: 15, blockSize: 8, parallelism: 3)
        let hash = try #require(PasscodeHash(cost: cost, salt: [1, 2], digest: Self.digest))
        var lock = PasscodeLock(GateKey(application: Self.application, device: device.map { DeviceID(unchecked: $0) }))
        try lock.create(hash, deviceKey: nil, term: 1, under: PasscodePolicy(), at: Timestamp(milliseconds: 1))
        return lock
    }

    private func isOnDisk(_ bytes: [UInt8], in directory: TemporaryDirectory) throws -> Bool {
        let text = Data(Hexadecimal.encode(bytes).utf8)
        return try directory.names().contains { try directory.contents($0).range(of: text) != nil }
    }

    /// Plain, then sealed, then sealed under another key: the same state, and no byte of the former values is left.
    @Test func hashesAreSealedLikeSecrets() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(path: directory.file())
        let locks = try (0..<1500).map { try lock($0 == 0 ? nil : "d\($0)") }
        try store.commit([.putApplication(Application(id: Self.application))] + locks.map(StoreChange.putPasscodeLock))
        let state = try store.recover()
        try store.close()
        #expect(try isOnDisk(Self.digest, in: directory))
        for sealing in [sealing(0x21), sealing(0x43, alsoOpening: 0x21), sealing(0x43)] {
            store = try SQLiteStore(path: directory.file(), sealing: sealing)
            #expect(try store.recover().passcodeLocks.filter { $0.key.device?.text != "new" } == state.passcodeLocks)
            try store.commit([.putPasscodeLock(try lock("new"))])
            try store.commit([.putPasscodeLock(PasscodeLock(try lock("new").key))])
            try store.close()
            #expect(try !isOnDisk(Self.digest, in: directory))
            store = try SQLiteStore(path: directory.file(), sealing: sealing)
            #expect(try store.recover().passcodeLocks.count == 1501)
            try store.close()
        }
        #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()).recover() }
    }

    /// An attacker who can write the file cannot give one device the passcode of another, nor make the daemon take all memory.
    @Test(arguments: [
        "UPDATE passcode_lock SET hash = (SELECT hash FROM passcode_lock WHERE device = 'a') WHERE device = 'b'",
        "UPDATE passcode_lock SET device = 'c' WHERE device = 'b'",
    ])
    func aSealedHashBelongsToItsDevice(sql: String) throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        try store.commit([
            .putApplication(Application(id: Self.application)), .putPasscodeLock(try lock("a")),
            .putPasscodeLock(try lock("b")),
        ])
        try store.close()
        let database = try DatabaseQueue(path: directory.file())
        try database.writeWithoutTransaction { db in
            try db.execute(sql: sql)
            try CheckedTable.passcodeLock.sumAgain(db)
        }
        try database.close()
        let reopened = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        #expect(throws: StoreError.self) { try reopened.recover() }
        try reopened.close()
    }

    @Test(arguments: [
        #"[]"#, #"["15","8","3","0102"]"#, #"["15","8","3","0102","0"]"#, #"["15","8","3","","00"]"#,
        #"["x","8","3","01","02"]"#, #"["24","8","1","01","02"]"#, #"["15","8","3","01","0g"]"#, "15",
    ])
    func malformedHashesAreRefused(text: String) throws {
        let column = KeyColumn(sealing: nil)
        let key = GateKey(application: Self.application, device: nil)
        #expect(throws: StoreError.self) { try column.hash(Array(text.utf8), of: key) }
        #expect(try column.hash(Array(#"["15","8","3","01","02"]"#.utf8), of: key)?.digest == [2])
    }
}
