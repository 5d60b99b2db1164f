import GRDBSQLite

/// How a `SQLiteStore` uses SQLite.
package struct SQLiteStoreConfiguration: Hashable, Sendable {
    /// The failures that a commit survives once it has returned.
    package enum Durability: String, CaseIterable, Hashable, Sendable {
        /// From a power cut: every commit waits for the disk (`synchronous=FULL`).
        case full
        /// From a crash of the process only (`synchronous=NORMAL`). A power cut may take the last seconds of accepted
        /// notifications with it; the database itself stays sound. An opt-out with that price.
        case normal
    }

    package var durability: Durability
    /// How long to wait for a lock. Only a backup tool may hold one, for a moment.
    package var busyTimeoutSeconds: Int
    /// Pages in the write-ahead log that start a checkpoint.
    ///
    /// SQLite's own 1000 checkpoints several times a second under load, and each checkpoint writes the index pages that
    /// change with every commit once more and waits for the disk twice. 4000 pages (16 MiB) write them a quarter as
    /// often, while the log stays small enough to be read back in a few milliseconds after a crash.
    package var walAutocheckpointPages: Int

    package init(
        durability: Durability = .full, busyTimeoutSeconds: Int = 5, walAutocheckpointPages: Int = 4000
    ) {
        self.durability = durability
        self.busyTimeoutSeconds = busyTimeoutSeconds
        self.walAutocheckpointPages = walAutocheckpointPages
    }
}

/// The settings of the connection that writes, as SQLite reports them.
package struct SQLiteSettings: Hashable, Sendable {
    package var journalMode: String
    /// 2 is FULL, 1 is NORMAL.
    package var synchronous: Int
    package var walAutocheckpointPages: Int
    package var foreignKeys: Bool
    package var applicationID: Int
    package var schemaVersion: Int
}

/// A version of SQLite.
package struct SQLiteVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// As SQLite counts: 3.40.1 is 3040001.
    package let number: Int

    package init(number: Int) { self.number = number }

    /// The library that this process runs with.
    package static var linked: SQLiteVersion { SQLiteVersion(number: Int(sqlite3_libversion_number())) }

    package var description: String { "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)" }

    /// Whether two connections that write or checkpoint at the same moment may damage the database: 3.7.0 to 3.51.2.
    ///
    /// A `SQLiteStore` lets one connection of one process do either, so it is not exposed. A tool that opens the live
    /// file to write may be; the daemon says so when it starts.
    package var walResetBugPresent: Bool { (3_007_000...3_051_002).contains(number) }

    package static func < (lhs: SQLiteVersion, rhs: SQLiteVersion) -> Bool { lhs.number < rhs.number }
}
