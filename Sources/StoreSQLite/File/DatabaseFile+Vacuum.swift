import GRDB
package import Router

extension DatabaseFile {
    /// Writes the database anew without its free pages, and gives the space back. No daemon may be using it, and as much
    /// space as it takes afterwards must be free meanwhile.
    ///
    /// - Returns: The sizes of the file before and after, in bytes.
    package func vacuum() throws(StoreError) -> (before: Int64, after: Int64) {
        let lock = try StoreLock(beside: path)
        defer { lock.release() }
        try lock.lockDatabase()
        let before = try Self.size(of: path)
        try translating {
            var settings = Self.settings
            settings.prepareDatabase { db in try DatabaseHeader.check(db, path: path) }
            let queue = try DatabaseQueue(path: path, configuration: settings)
            defer { try? queue.close() }
            try queue.vacuum()
            // The new pages are in the log until then.
            try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        }
        return (before, try Self.size(of: path))
    }
}
