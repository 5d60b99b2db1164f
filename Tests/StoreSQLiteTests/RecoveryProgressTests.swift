import Router
import RouterPlugin
import Synchronization
import Testing

@testable import StoreSQLite

@Suite("Progress of a recovery") struct RecoveryProgressTests {
    @Test("A recovery tells of every hundredth part of its notifications, a thousand at a time")
    func notifications() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        for first in stride(from: Int64(1), through: 24_001, by: 3000) {
            try store.commit((first..<(first + 3000)).map { .insert(notification($0)) })
        }
        let told = Mutex<[RecoveryProgress]>([])
        let state = try store.recover { progress in told.withLock { $0.append(progress) } }
        #expect(state.unsettled.count == 27_000)
        // Several readers count, each a thousand rows at a time, and 270 rows are a hundredth part.
        let done = told.withLock { $0 }.map(\.done)
        #expect(done.first == 0 && done.last == 27_000 && done.count > 27)
        #expect(zip(done, done.dropFirst()).allSatisfy { (1...1270).contains($1 - $0) })
        try store.close()
    }

    @Test("A recovery tells of every hundredth part of its sessions, however few there are")
    func sessions() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        let application = ApplicationID(unchecked: "com.example.Gallery")
        try store.commit([.putApplication(Application(id: application))])
        try store.commit(
            (1...300).map { number in
                .putSession(
                    SceneSession(
                        key: SessionKey(application: application, session: SessionID(unchecked: "s\(number)")),
                        role: "windowApplication", configuration: "main", creationSequence: number))
            })
        let told = Mutex<[RecoveryProgress]>([])
        let state = try store.recover { progress in told.withLock { $0.append(progress) } }
        #expect(state.sessions.count == 300)
        #expect(told.withLock { $0 } == (0...100).map { RecoveryProgress(done: $0 * 3, total: 300) })
        try store.close()
    }
}
