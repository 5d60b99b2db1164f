import Dispatch
import RouterPlugin
import StoreSQLite
import Synchronization
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Shares of tenants") struct TenantSharesTests {
    private static let gallery = ApplicationID(unchecked: "com.example.Gallery")
    private static let other = ApplicationID(unchecked: "com.example.Other")

    /// Counts tasks that run at a time.
    private final class Gauge: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        /// Runs for as long as other tasks take to begin.
        func run() async {
            counts.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            for _ in 0..<100 { await Task.yield() }
            counts.withLock { $0.now -= 1 }
        }
    }

    @Test("An application has one decision without effect under way, and others have theirs meanwhile")
    func decisionsInTurn() async throws {
        let shares = TenantShares()
        let (gauge, all) = (Gauge(), Gauge())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                let application = number % 2 == 0 ? Self.gallery : Self.other
                group.addTask {
                    try await shares.inTurn(.decisions, of: application) {
                        await all.run()
                        if application == Self.gallery { await gauge.run() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(gauge.most == 1 && all.most == 2)
    }

    @Test("Decisions that wait beyond the bound are refused")
    func bound() async throws {
        let shares = TenantShares()
        let refused = await withTaskGroup(of: String.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    do {
                        try await shares.inTurn(.decisions, of: Self.gallery) {
                            for _ in 0..<1000 { await Task.yield() }
                        }
                        return ""
                    } catch { return (error as? Problem)?.code ?? "another error" }
                }
            }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(refused["too-many-reads", default: 0] > 0)
        #expect(refused.keys.sorted() == ["", "too-many-reads"])
    }

    @Test("Long requests to a source leave short ones, reads and other applications their threads")
    func sources() async throws {
        let directory = try TemporaryDirectory()
        let readers = StoreReaders(try SQLiteStore(path: directory.file()))
        let end = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await readers.decode(DaemonLimits.passesAtOnce + 1, for: Self.gallery) { end.wait() }
                }
            }
            #expect(try await readers.decode(1, for: Self.gallery) { 1 } == 1)
            #expect(try await readers.perform(for: Self.gallery) { 2 } == 2)
            #expect(try await readers.decode(.max, for: Self.other) { 3 } == 3)
            for _ in 0..<8 { end.signal() }
            try await group.waitForAll()
        }
    }
}
