import GRDB
import Glibc
package import Router

extension DatabaseFile {
    /// Copies the database to a new file, as of one moment, while a daemon may be using it; returns what the copy holds.
    ///
    ///     FILE.routerd-partial   claimed, filled in one step, checked, synced ──▶ named FILE, unless there is one
    ///
    /// One step is one moment: SQLite would start again if the daemon committed between two. The name is given last, so a
    /// file of that name is a whole backup, whenever the copying was cut off. The rest of an interrupted backup is replaced.
    package func backup(to target: String) throws(StoreError) -> DatabaseCheck {
        let target = try canonicalPath(target)
        guard access(target, F_OK) != 0 else { throw Self.exists(target) }
        let partial = Self.partial(of: target)
        let claim = try Self.claim(partial)
        defer {
            Self.removePartial(of: target)
            close(claim)
        }
        let copied: DatabaseCheck
        do { copied = try copy(to: partial) } catch {
            let error = StoreError(translating: error)
            throw StoreError(error.code, "\(path) could not be copied to \(target): \(error.message)")
        }
        guard copied.isSound else {
            throw StoreError(.corrupt, "\(path) is damaged (\(copied.faults[0].detail)): there is no backup of it")
        }
        try Self.sync(partial)
        guard link(partial, target) == 0 else {
            let code = errno
            throw code == EEXIST ? Self.exists(target) : StoreError(systemError: code, "cannot make \(target)")
        }
        unlink(partial)
        try Self.sync(directory(of: target))
        return copied
    }

    private func copy(to partial: String) throws -> DatabaseCheck {
        let source = try reader()
        defer { try? source.close() }
        try source.read(expectMarked)
        let copy = try DatabaseQueue(path: partial, configuration: Self.settings)
        defer { try? copy.close() }
        try source.backup(to: copy)
        // One file is all of it; the daemon goes back to a log when it opens it.
        try copy.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
        return try copy.read(Self.check)
    }

    private static func exists(_ target: String) -> StoreError {
        StoreError(.other, "\(target) is there already, and a backup takes no file's place")
    }

    private static func partial(of target: String) -> String { target + ".routerd-partial" }

    /// Removes an unfinished backup, for a caller that ends the copying from outside.
    package static func removePartial(of target: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(partial(of: target) + suffix) }
    }

    /// Makes an empty file that belongs to this process while the descriptor is open, or empties one without an owner.
    /// Secrets of endpoints will be in it, so only its owner may read it.
    private static func claim(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw StoreError(systemError: code, "cannot make \(path)")
        }
        // A file without a name belonged to another backup, which has just ended.
        var status = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink > 0 else {
            close(descriptor)
            throw StoreError(.other, "\(path) is being written by another backup")
        }
        for suffix in ["-journal", "-wal", "-shm"] { unlink(path + suffix) }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
            let code = errno
            close(descriptor)
            throw StoreError(systemError: code, "cannot make \(path)")
        }
        return descriptor
    }

    private static func sync(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            throw StoreError(systemError: code, "cannot write \(path)")
        }
        close(descriptor)
    }

    /// Of a path that begins with `/`, as all of ours do.
    private func directory(of path: String) -> String {
        "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    }
}
