import GRDB
import Router
import Testing

@testable import StoreSQLite

@Suite("The store's errors for those of SQLite")
struct StoreErrorTests {
    @Test(
        "The reason is named, from either of two connections",
        arguments: [
            (DatabaseError(resultCode: .SQLITE_FULL, message: "not an error"), "database or disk is full (13)"),
            (DatabaseError(resultCode: .SQLITE_FULL), "database or disk is full (13)"),
            (DatabaseError(resultCode: .SQLITE_FULL, message: "no room"), "no room (13)"),
        ])
    func message(error: DatabaseError, expected: String) {
        let translated = StoreError(translating: error)
        #expect(translated.code == .diskFull && translated.message == expected)
    }
}
