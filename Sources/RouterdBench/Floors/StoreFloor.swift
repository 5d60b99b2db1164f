import Router
import StoreSQLite

/// The cost of the store alone: notifications are inserted in batches and settled, with nothing else done.
package struct StoreFloor {
    private let database: String
    private let count: Int
    private let batch: Int

    /// - Parameters:
    ///   - database: A file that does not exist yet.
    ///   - count: How many notifications.
    ///   - batch: How many share a transaction.
    package init(database: String, count: Int, batch: Int) {
        self.database = database
        self.count = count
        self.batch = batch
    }

    /// Processor time of a notification, in microseconds.
    package func microsecondsEach() throws -> Double {
        let store = try SQLiteStore(path: database)
        let samples = (1...count).map { BenchSample.notification(Int64($0)) }
        let start = ProcessorTime.now
        for first in stride(from: 0, to: count, by: batch) {
            let chunk = samples[first..<min(first + batch, count)]
            try store.commit(chunk.map { .insert($0) })
            try store.commit(
                chunk.flatMap {
                    [.recordAttempt(BenchSample.attempt($0)), .settle($0.sequence, .delivered, at: $0.receivedAt)]
                })
        }
        let spent = ProcessorTime.now - start
        try store.close()
        return spent / Double(count)
    }
}
