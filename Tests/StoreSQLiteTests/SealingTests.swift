import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// Sealed secrets in the store. The sealing of these tests is a toy: it turns bits over, and checks the context.
struct SealingTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let gallery = ApplicationID(unchecked: "com.example.Gallery")

    private func sealing(_ id: UInt64, alsoOpening others: UInt64...) -> SecretSealing {
        SecretSealing(keyID: SecretKeyID(id)) { secret, context in
            context + [0] + secret.map { $0 ^ UInt8(truncatingIfNeeded: id) }
        } open: { sealed, keyID, context in
            guard ([id] + others).contains(keyID.value) else { return nil }
            guard sealed.starts(with: context + [0]) else { throw StoreError(.corrupt, "another place") }
            return sealed.dropFirst(context.count + 1).map { $0 ^ UInt8(truncatingIfNeeded: keyID.value) }
        }
    }

    /// An application and two sessions, with an endpoint wherever one may stand.
    private static func everything(_ secret: String) -> [StoreChange] {
        let endpoint = Endpoint(url: "https://a.example", keys: SigningKeys(secret))
        let configurations = ["a", "b"].map { SceneConfiguration(name: $0, role: "r", endpoint: endpoint) }
        let application = Application(
            id: gallery, manifest: SceneManifest(sceneConfigurations: configurations), delegate: endpoint)
        let sessions = (1...2).map { number in
            SceneSession(
                key: SessionKey(application: gallery, session: SessionID(unchecked: "s\(number)")), role: "r",
                configuration: "a", endpoint: number == 1 ? endpoint : nil, creationSequence: Int64(number))
        }
        return [.putApplication(application)] + sessions.map(StoreChange.putSession)
    }

    private func isOnDisk(_ text: String, in directory: TemporaryDirectory) throws -> Bool {
        try directory.names().contains { try directory.contents($0).range(of: Data(text.utf8)) != nil }
    }

    @Test func theSuiteHoldsWithASealing() throws {
        let directory = try TemporaryDirectory()
        var count = 0
        let violations = StoreSuite.violations(
            fresh: {
                count += 1
                return try SQLiteStore(path: directory.file("\(count).sqlite"), sealing: sealing(0x55))
            },
            reopening: { store in
                try store.close()
                return try SQLiteStore(path: directory.file("\(count).sqlite"), sealing: sealing(0x55))
            })
        #expect(violations == [])
    }

    /// Plain, then sealed, then sealed under another key: the same state, and no byte of the former values is left.
    @Test func aDatabaseIsSealedWhenItIsOpened() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(path: directory.file())
        // A secret that was replaced is in free space, if anywhere.
        let former = "whsec_\(String(repeating: "former", count: 8))"
        try store.commit(Self.everything(former))
        try store.commit(Self.everything(Self.secret))
        let state = try store.recover()
        #expect(try isOnDisk(Self.secret, in: directory))
        try store.close()

        for (sealing, id) in [(sealing(0x21), UInt64(0x21)), (sealing(0x43, alsoOpening: 0x21), 0x43)] {
            store = try SQLiteStore(path: directory.file(), sealing: sealing)
            #expect(try !isOnDisk(Self.secret, in: directory) && !isOnDisk(former, in: directory))
            #expect(try store.recover() == state)
            #expect(try headers(store) == Array(repeating: KeyColumn.header(SecretKeyID(id)), count: 4))
            try store.close()
            #expect(try !isOnDisk(Self.secret, in: directory))
        }
        // The old key is not needed any more.
        store = try SQLiteStore(path: directory.file(), sealing: sealing(0x43))
        #expect(try store.recover() == state)
        try store.close()
    }

    /// More rows than a transaction takes.
    @Test func manySessionsAreSealedInTurns() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(path: directory.file())
        try store.commit(Self.everything(Self.secret))
        try store.commit(
            (3...Int64(2500)).map { number in
                .putSession(
                    SceneSession(
                        key: SessionKey(application: Self.gallery, session: SessionID(unchecked: "s\(number)")),
                        role: "r", configuration: "a",
                        endpoint: Endpoint(url: "https://a.example", keys: SigningKeys("whsec_\(number)")),
                        creationSequence: number))
            })
        let state = try store.recover()
        try store.close()
        store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        #expect(try store.recover() == state)
        #expect(try headers(store) == Array(repeating: KeyColumn.header(SecretKeyID(0x21)), count: 4 + 2498))
        try store.close()
    }

    /// The rewriting of the file did not come about: it is made up for.
    @Test func aRewriteThatIsPendingIsDone() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        try store.commit(Self.everything(Self.secret))
        try store.close()
        let database = try DatabaseQueue(path: directory.file())
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA secure_delete = OFF;
                    CREATE TABLE t (x); INSERT INTO t VALUES ('\(Self.secret)'); DELETE FROM t; DROP TABLE t;
                    UPDATE ledger SET rewrite_pending = 1;
                    """)
        }
        try database.close()
        #expect(try isOnDisk(Self.secret, in: directory), "SQLite leaves deleted bytes in place")
        store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        #expect(try !isOnDisk(Self.secret, in: directory))
        #expect(try store.reading { db in try Bool.fetchOne(db, sql: "SELECT rewrite_pending FROM ledger") } == false)
        try store.close()
    }

    /// Without the key nothing is opened, and nothing is lost.
    @Test func withoutItsKeyADatabaseIsRefusedAndKept() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        try store.commit(Self.everything(Self.secret))
        let state = try store.recover()
        try store.close()
        for wrong in [nil, sealing(0x43)] {
            do {
                let store = try SQLiteStore(path: directory.file(), sealing: wrong)
                defer { try? store.close() }
                _ = try store.recover()
                Issue.record("opened")
            } catch {
                #expect(error.code == .secretsKey)
                #expect("\(error)".contains("under the key 0000000000000021"), "\(error)")
            }
        }
        let again = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        #expect(try again.recover() == state)
        try again.close()
    }

    /// Sealed bytes belong to their row: an attacker who can write the file cannot give one session the secret of another.
    @Test func sealedBytesCannotBeMoved() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file(), sealing: sealing(0x21))
        try store.commit(Self.everything(Self.secret))
        try store.close()
        for move in [
            "UPDATE session SET endpoint_url = 'x', endpoint_keys = (SELECT endpoint_keys FROM session WHERE id = 's1')",
            "UPDATE application SET delegate_keys = (SELECT endpoint_keys FROM scene_configuration)",
            """
            UPDATE scene_configuration SET endpoint_keys =
              (SELECT endpoint_keys FROM scene_configuration WHERE name = 'a')
            """,
        ] {
            let copy = try TemporaryDirectory()
            try FileManager.default.copyItem(atPath: directory.file(), toPath: copy.file())
            let database = try DatabaseQueue(path: copy.file())
            try database.write { db in
                try db.execute(sql: move)
                for table in CheckedTable.all where table.name != "attempt" { try table.sumAgain(db) }
            }
            try database.close()
            let store = try SQLiteStore(path: copy.file(), sealing: sealing(0x21))
            #expect(performing: { try store.recover() }, throws: { ($0 as? StoreError)?.code == .corrupt })
            try store.close()
        }
    }

    /// A secret of the schema before stood alone, and is the one key of its endpoint now.
    @Test func secretsOfAnOlderSchemaAreTakenOver() throws {
        let directory = try TemporaryDirectory()
        let older = try DatabaseQueue(path: directory.file())
        try Migrations.migrator().migrate(older, upTo: "2-answers-and-traces")
        try older.write { db in
            try db.execute(
                sql: """
                    PRAGMA application_id = \(DatabaseHeader.applicationID);
                    INSERT INTO application VALUES
                      ('a', '', 0, '[]', 'https://d', 'whsec_d+/=', 0, 15, 1, '[]'), ('b', '', 0, '[]', NULL, NULL, 0, 15, 1, '[]');
                    INSERT INTO scene_configuration VALUES
                      ('a', 0, 'x', 'r', 'https://c', 'whsec_c', '[]'), ('a', 1, 'y', 'r', NULL, NULL, '[]');
                    INSERT INTO session VALUES
                      (1, 'a', 's', 'r', 'x', NULL, 0, 'TRUEPREDICATE', 'FALSEPREDICATE', 0, 'https://s', 'whsec_s', NULL,
                       '{}', NULL, NULL, NULL, NULL);
                    """)
        }
        try older.close()
        let store = try SQLiteStore(path: directory.file())
        let state = try store.recover()
        #expect(state.applications.map(\.delegate) == [endpoint("https://d", "whsec_d+/="), nil])
        #expect(
            state.applications.first?.manifest.sceneConfigurations.map(\.endpoint) == [
                endpoint("https://c", "whsec_c"), nil,
            ])
        #expect(state.sessions.map(\.endpoint) == [endpoint("https://s", "whsec_s")])
        try store.close()
    }

    private func endpoint(_ url: String, _ secret: String) -> Endpoint {
        Endpoint(url: url, keys: SigningKeys(secret))
    }

    /// The first bytes of everything that is kept of keys.
    private func headers(_ store: SQLiteStore) throws -> [[UInt8]] {
        try store.reading { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT delegate_keys FROM application WHERE delegate_keys IS NOT NULL
                    UNION ALL SELECT endpoint_keys FROM scene_configuration WHERE endpoint_keys IS NOT NULL
                    UNION ALL SELECT endpoint_keys FROM session WHERE endpoint_keys IS NOT NULL
                    """
            ).map { Array($0.prefix(9)) }
        }
    }
}
