import Router
import RouterPlugin
import RouterTesting
import StoreSQLite
import Testing

/// The same suite over every store, and a proof that it finds faults.
struct ConformanceTests {
    @Test func sqliteStoreKeepsTheContract() throws {
        let directory = try TemporaryDirectory()
        var count = 0
        let violations = StoreSuite.violations(
            fresh: {
                count += 1
                return try SQLiteStore(path: directory.file("\(count).sqlite"))
            },
            reopening: { store in
                try store.close()
                return try SQLiteStore(path: directory.file("\(count).sqlite"))
            })
        #expect(violations == [])
    }

    /// Every few notifications fill a segment of the list index; with the greatest factor, each fills one, and sixteen start
    /// a pass of the index of keys.
    @Test("SQLite keeps the contract while its indexes are extended", arguments: [150, 40_000])
    func sqliteStoreExtendsItsIndexes(factor: Int64) throws {
        let directory = try TemporaryDirectory()
        var count = 0
        let violations = StoreSuite.violations(
            fresh: {
                count += 1
                return SpreadStore(try SQLiteStore(path: directory.file("\(count).sqlite")), factor: factor)
            },
            reopening: { spread in
                try spread.store.close()
                let path = directory.file("\(count).sqlite")
                // A random history settles some notifications by a new decision, which has no time.
                let faults = try DatabaseFile(path: path).check().faults.filter { $0.code != "settlement-time" }
                guard faults.isEmpty else { throw StoreError(.corrupt, "the check found \(faults)") }
                return SpreadStore(try SQLiteStore(path: path), factor: factor)
            })
        #expect(violations == [])
    }

    @Test func modelStoreKeepsTheContract() {
        let violations = StoreSuite.violations(fresh: ModelStore.init, reopening: { $0.snapshot() })
        #expect(violations == [])
    }

    @Test(arguments: FlawedStore.Flaw.allCases)
    func theSuiteFindsAFlaw(_ flaw: FlawedStore.Flaw) {
        let violations = StoreSuite.violations(
            untilFirst: true, fresh: { FlawedStore(flaw, ModelStore()) },
            reopening: { FlawedStore(flaw, $0.model.snapshot()) })
        #expect(!violations.isEmpty)
    }
}
