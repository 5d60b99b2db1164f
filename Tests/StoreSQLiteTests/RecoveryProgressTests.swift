import Router
import RouterPlugin
import Synchronization
import Testing

@testable import StoreSQLite

@Suite("Progress of a recovery") struct RecoveryProgressTests {
    @Test("A recovery tells of every ten thousandth session or unsettled notification")
    func progress() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        for first in stride(from: Int64(1), through: 24_001, by: 3000) {
            try store.commit((first..<(first + 3000)).map { .insert(notification($0)) })
        }
        let told = Mutex<[RecoveryProgress]>([])
        let state = try store.recover { progress in told.withLock { $0.append(progress) } }
        #expect(state.unsettled.count == 27_000)
        let expected = [0, 10_000, 20_000].map { RecoveryProgress(done: $0, total: 27_000) }
        #expect(told.withLock { $0 } == expected)
        try store.close()
    }
}
