import GRDB
import Glibc
import Router

/// The two numbers by which a database of the router is known.
///
/// SQLite keeps them in the first 100 bytes of the file. `check(fileAt:)` reads them there before SQLite opens the
/// file, because opening alone may change it: SQLite would roll back a journal or checkpoint a log that is not ours.
/// A newer version that was killed may have its number still in the log, so `check(_:path:)` asks again through SQLite.
enum DatabaseHeader {
    /// "rtrd" in ASCII.
    static let applicationID: Int32 = 0x7274_7264

    private static let length = 100
    private static let magic = Array("SQLite format 3".utf8) + [0]

    /// Refuses a file that is not ours, of a newer version, or known by several names. A missing or empty one is fine: it
    /// will be ours.
    static func check(fileAt path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return }
            throw StoreError(systemError: code, "cannot open \(path)")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw StoreError(systemError: errno, "cannot read \(path)") }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw StoreError(.inputOutput, "\(path) is a folder; the database must be a file")
        }
        guard status.st_nlink == 1 else {
            throw StoreError(
                .inUse, "\(path) has other names (hard links): each would have a lock and a log of its own")
        }
        var header = [UInt8](repeating: 0, count: length)
        let count = read(descriptor, &header, length)
        guard count >= 0 else {
            let code = errno
            throw StoreError(systemError: code, "cannot read \(path)")
        }
        if count == 0 { return }
        guard count == length, header.starts(with: magic) else {
            throw StoreError(.corrupt, "\(path) is not an SQLite database")
        }
        try check(applicationID: bigEndian(header[68..<72]), version: bigEndian(header[60..<64]), path: path)
    }

    /// Refuses a database that is not ours, or of a newer version; marks an empty one as ours.
    ///
    /// The mark is set before the journal mode becomes WAL, so that it is in the file itself from the first moment on.
    static func check(_ db: Database, path: String) throws {
        let applicationID = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if applicationID == 0, version == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 {
            return try db.execute(sql: "PRAGMA application_id = \(self.applicationID)")
        }
        try check(applicationID: applicationID, version: version, path: path)
    }

    private static func check(applicationID: Int32, version: Int32, path: String) throws(StoreError) {
        guard applicationID == self.applicationID else {
            throw StoreError(.corrupt, "\(path) is a database of another program")
        }
        guard version <= Migrations.version else {
            throw StoreError(
                .tooNew, "\(path) has schema \(version); this version knows schemas up to \(Migrations.version)")
        }
    }

    /// Whether an open file still begins as a database of the router does.
    static func isOurs(_ descriptor: CInt) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { bytes in
            guard pread(descriptor, bytes.baseAddress, length, 0) == length else { return false }
            return bytes.starts(with: magic) && bigEndian(Array(bytes)[68..<72]) == applicationID
        }
    }

    /// Whether an open file still begins as a log of SQLite does.
    static func isLog(_ descriptor: CInt) -> Bool {
        var word: UInt32 = 0
        guard pread(descriptor, &word, 4, 0) == 4 else { return false }
        return UInt32(bigEndian: word) & ~1 == 0x377f_0682
    }

    /// The bytes before the first frame of a log.
    static let logHeaderLength: off_t = 32

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int32 {
        Int32(bitPattern: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }
}
