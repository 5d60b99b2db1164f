import GRDBSQLite
import Router
import RouterPlugin
import StoreSQLite
import Testing

/// The effects of a commit that returns, and of a commit that throws.
struct DurabilityTests {
    @Test func theWriterIsSetAsPromised() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        let settings = try store.settings()
        #expect(settings.journalMode == "wal")
        #expect(settings.synchronous == 2)
        #expect(settings.walAutocheckpointPages == 4000)
        #expect(settings.foreignKeys)
        #expect(settings.applicationID == 0x7274_7264)
        try store.commit([.insert(notification(1))])
        #expect(try store.settings() == settings)
        try store.close()
        let relaxed = SQLiteStoreConfiguration(durability: .normal)
        #expect(try SQLiteStore(path: directory.file(), configuration: relaxed).settings().synchronous == 1)
    }

    /// The pragma is SQLite's word; this test counts its deeds. The second half shows that the first can fail.
    @Test func everyCommitIsSyncedUnderFullAndNotUnderNormal() throws {
        #expect(try syncs(of: 25, .full) >= 25)
        #expect(try syncs(of: 25, .normal) < 25)
    }

    private func syncs(of commits: Int64, _ durability: SQLiteStoreConfiguration.Durability) throws -> Int {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        let configuration = SQLiteStoreConfiguration(durability: durability)
        let store = try SQLiteStore(path: directory.file(), configuration: configuration)
        let before = files.count(.sync, suffix: "-wal")
        for number in 1...commits { try store.commit([.insert(notification(number))]) }
        #expect(files.count(.write, suffix: "-wal") >= Int(commits))
        return files.count(.sync, suffix: "-wal") - before
    }

    @Test func checkpointsHappenAndLoseNothing() throws {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        let configuration = SQLiteStoreConfiguration(walAutocheckpointPages: 20)
        let store = try SQLiteStore(path: directory.file(), configuration: configuration)
        let before = files.count(.sync, suffix: ".sqlite")
        for number in 1...Int64(60) { try store.commit([.insert(notification(number, bytes: 3000))]) }
        #expect(files.count(.sync, suffix: ".sqlite") > before)
        try store.close()
        #expect(try SQLiteStore(path: directory.file()).recover().unsettled.count == 60)
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        var operation: WatchedFiles.Operation
        var code: CInt
        var expected: StoreError.Code
        var testDescription: String { "\(operation) fails with \(code)" }
    }

    static let failures = [
        Failure(operation: .write, code: SQLITE_FULL, expected: .diskFull),
        Failure(operation: .write, code: SQLITE_IOERR | 3 << 8, expected: .inputOutput),
        Failure(operation: .sync, code: SQLITE_IOERR | 4 << 8, expected: .inputOutput),
    ]

    /// The nth write or sync of a commit fails, for every n: the commit throws and leaves nothing; the next one works.
    @Test(arguments: failures)
    func aCommitThatFailsLeavesNothing(_ failure: Failure) throws {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        var store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1, keys: ["k1"]))])
        var sequence: Int64 = 1
        for nth in 0..<64 {
            let batch: [StoreChange] = [
                .insert(notification(sequence + 1, bytes: 20_000, keys: ["k\(sequence + 1)"])),
                .settle(NotificationSequence(sequence), .delivered, at: Timestamp(milliseconds: 1)),
            ]
            let before = (try store.recover(), try store.census())
            files.setFault(
                WatchedFiles.Fault(
                    operation: failure.operation, suffix: "-wal", code: failure.code, after: nth, times: 1))
            let outcome = outcome(store, batch)
            let failed = files.setFault(nil)
            #expect(outcome == (failed > 0 ? failure.expected : nil))
            if failed == 0 {
                #expect(nth > 0, "no operation of the commit has failed")
                break
            }
            #expect(try (store.recover(), store.census()) == before)
            try store.commit(batch)
            sequence += 1
            #expect(try store.recover().unsettled.map(\.sequence.value) == [sequence])
        }
        try store.close()
        store = try SQLiteStore(path: directory.file())
        #expect(try store.census().accepted == Int(store.recover().lastSequence.value))
        #expect(try store.integrity() == ["ok"])
    }

    @Test func aReadThatFailsIsAnInputOutputError() throws {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        var store = try SQLiteStore(path: directory.file())
        try store.commit((1...Int64(50)).map { .insert(notification($0, bytes: 5000)) })
        try store.close()
        store = try SQLiteStore(path: directory.file())
        files.setFault(WatchedFiles.Fault(operation: .read, suffix: ".sqlite", code: SQLITE_IOERR | 1 << 8))
        #expect(performing: { try store.recover() }, throws: { ($0 as? StoreError)?.code == .inputOutput })
        files.setFault(nil)
        #expect(try store.recover().unsettled.count == 50)
    }

    @Test func messagesShowNoPayload() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        var secret = notification(1, keys: ["TOP-SECRET-KEY"])
        secret.payload = .json(Array("TOP-SECRET-BODY".utf8))
        try store.commit([.insert(secret)])
        secret.sequence = NotificationSequence(2)
        secret.id = NotificationID(unchecked: "ntf_2")
        #expect(
            performing: { try store.commit([.insert(secret)]) },
            throws: { error in
                let error = error as? StoreError
                return error?.code == .conflict && error?.description.contains("SECRET") == false
            })
    }
}
