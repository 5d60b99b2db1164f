import GRDB
import Glibc
package import Router

/// A database file as its operator sees it: looked at and copied beside a daemon that uses it, tidied up without one.
///
/// Reading opens the file so that it cannot write: it takes no part in checkpoints, and leaves the log of a killed daemon
/// as it is. A reader holds one moment of the database fast, and the log grows by the commits of that time.
package struct DatabaseFile: Sendable {
    /// With every link followed.
    package let path: String

    /// A file that is missing, not ours, or of a newer version is refused.
    package init(path: String) throws(StoreError) {
        self.path = try canonicalPath(path)
        guard try Self.size(of: self.path) > 0 else { throw StoreError(.corrupt, "\(path) is empty") }
        try DatabaseHeader.check(fileAt: self.path)
    }

    /// A connection that cannot write.
    func reader() throws -> DatabaseQueue {
        var settings = Self.settings
        settings.readonly = true
        return try DatabaseQueue(path: path, configuration: settings)
    }

    static var settings: Configuration {
        var settings = Configuration()
        settings.label = "routerd.database"
        settings.busyMode = .timeout(5)
        settings.foreignKeysEnabled = true
        settings.prepareDatabase { db in try RowSum.install(on: db) }
        return settings
    }

    /// In bytes.
    static func size(of path: String) throws(StoreError) -> Int64 {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            throw StoreError(systemError: code, "cannot read \(path)")
        }
        return Int64(status.st_size)
    }

    /// Likewise; 0 if there is no such file.
    static func sizeIfPresent(of path: String) throws(StoreError) -> Int64 {
        var status = stat()
        if stat(path, &status) == 0 { return Int64(status.st_size) }
        let code = errno
        if code == ENOENT { return 0 }
        throw StoreError(systemError: code, "cannot read \(path)")
    }

    /// Opens the file, which is made, if it is not there, so that its owner alone can read it: secrets of endpoints are in
    /// it. SQLite makes the log and its index as readable as the file. A file that exists keeps the mode that its operator
    /// gave it.
    static func openPrivate(_ path: String) throws(StoreError) -> CInt {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw StoreError(systemError: code, "cannot open \(path)")
        }
        return descriptor
    }

    /// Runs a closure that uses SQLite, and translates its errors.
    func translating<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do { return try body() } catch { throw StoreError(translating: error) }
    }
}

extension DatabaseFile {
    /// Begins an empty database where there is none, or an empty file.
    ///
    /// - Parameter isForced: Whether one may be begun although another database was there before.
    package static func begin(at path: String, isForced: Bool) throws(StoreError) -> DatabaseFile {
        let path = try canonicalPath(path)
        do {
            let lock = try StoreLock(beside: path)
            defer { lock.release() }
            guard try sizeIfPresent(of: path) == 0 else {
                throw StoreError(.other, "\(path) is there already, and an empty database takes no file's place")
            }
            try DatabaseMarker.expectDatabase(lock, orBeginAnew: isForced)
            // The marker goes when nothing refuses the empty database any more.
            if isForced { try lock.write([]) }
        }
        try SQLiteStore(path: path).close()
        return try DatabaseFile(path: path)
    }
}
