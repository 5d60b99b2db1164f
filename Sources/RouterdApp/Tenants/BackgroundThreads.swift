import Glibc
import NIOPosix

/// Threads for work that may take long, below the priority of those that decide, commit and answer: when the cores are busy, the
/// kernel gives them a tenth of the time of another thread.
///
/// Thread-safe. The threads end when this value is released.
final class BackgroundThreads: Sendable {
    /// The nice value of the threads; others have 0.
    private static let niceness: Int32 = 10

    private let pool: NIOThreadPool

    init(_ count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    deinit { pool.shutdownGracefully { _ in } }

    /// Runs work on one of the threads; the task that waits for it keeps no thread.
    func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await pool.runIfActive {
            // Of Linux threads each has a nice value of its own, see setpriority(2).
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
            return try work()
        }
    }
}
