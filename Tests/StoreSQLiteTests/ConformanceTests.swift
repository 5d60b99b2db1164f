import Router
import RouterPlugin
import RouterTesting
import StoreSQLite
import Testing

/// The same suite over every store, and a proof that it finds what is wrong.
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

    @Test func modelStoreKeepsTheContract() {
        let violations = StoreSuite.violations(fresh: ModelStore.init, reopening: { $0.snapshot() })
        #expect(violations == [])
    }

    @Test(arguments: FlawedStore.Flaw.allCases)
    func theSuiteFindsAFlaw(_ flaw: FlawedStore.Flaw) {
        let violations = StoreSuite.violations(
            fresh: { FlawedStore(flaw, ModelStore()) }, reopening: { FlawedStore(flaw, $0.model.snapshot()) })
        #expect(!violations.isEmpty)
    }
}
