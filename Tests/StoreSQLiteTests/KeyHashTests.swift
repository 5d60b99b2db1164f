import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

@Suite("Index of keys")
struct KeyHashTests {
    /// The test vectors of SipHash's reference implementation: the secret is 0, 1, … 15, the input is 0, 1, … n - 1.
    static let vectors: [(length: Int, hash: UInt64)] = [
        (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (7, 0xab02_00f5_8b01_d137), (8, 0x93f5_f579_9a93_2462),
        (15, 0xa129_ca61_49be_45e5),
    ]

    @Test("hashes are SipHash-2-4", arguments: vectors)
    func hashesAreSipHash(length: Int, expected: UInt64) {
        let hash = KeyHash(secret: Array(0..<16))
        #expect(hash.value(of: (0..<length).map { UInt8($0) }) == expected)
    }

    /// Passes move keys from memory into the index while others arrive; a key that comes late to an old notification is
    /// found too, in the process that took it and in the next one.
    @Test("a key is found while it is recent, while it is moved, and once it is indexed")
    func keysAreFoundAtEveryStage() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(path: directory.file(), configuration: .init(durability: .normal))
        let count = 2 * StoreSQLiteLimits.recentKeySequences
        var late: [Int64: String] = [:]
        var stages: Set<String> = []
        for start in stride(from: Int64(1), to: count, by: 250) {
            try store.commit(
                (start..<start + 250).map { .insert(notification($0, bytes: 1, keys: ["k\($0)"])) })
            let old = start / 2 + 1
            try store.commit([.addDedupeKeys(NotificationSequence(old), [key("late \(old)")])])
            late[old] = "late \(old)"
            let ledger = try store.writing { db in try Ledger.read(db) }
            stages.insert(ledger.keysTarget > 0 ? "moving" : ledger.keysIndexed > 0 ? "indexed" : "recent")
            for sequence in [1, old, start, start + 249] {
                #expect(try store.receipt(for: key("k\(sequence)"))?.sequence.value == sequence)
                #expect(outcome(store, [.insert(notification(count * 2, keys: ["k\(sequence)"]))]) == .conflict)
            }
            if start % 7 == 1 {
                try store.close()
                store = try SQLiteStore(path: directory.file(), configuration: .init(durability: .normal))
            }
        }
        #expect(stages == ["recent", "moving", "indexed"])
        for (sequence, text) in late {
            #expect(try store.receipt(for: key(text))?.sequence.value == sequence)
        }
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    /// Memory and the file agree again after a transaction that was rolled back.
    @Test("keys of a transaction that fails are free")
    func keysOfAFailedTransactionAreFree() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1, keys: ["a"]))])
        #expect(
            outcome(store, [.insert(notification(2, keys: ["b"])), .insert(notification(3, keys: ["a"]))]) == .conflict)
        #expect(try store.receipt(for: key("b")) == nil)
        #expect(outcome(store, [.insert(notification(2, keys: ["b"]))]) == nil)
        #expect(try store.receipt(for: key("b"))?.sequence.value == 2)
    }

    private func key(_ text: String) -> DedupeKey {
        DedupeKey(
            application: ApplicationID(unchecked: "com.example.Gallery"),
            source: PluginID(unchecked: "routerd.source.apns"), key: text)
    }
}
