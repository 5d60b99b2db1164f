import Glibc
import Router
import Synchronization

/// Keeps the database to one process, and to one store within it.
///
///     FILE.lock   flock   the name: the log and its index lie beside the database under this name
///     FILE        OFD     the file itself, under whatever name it is opened
///
/// SQLite's WAL mode lets several processes write in turns; the router must not, for its memory follows its own
/// commits alone. Either lock keeps a second process out, so it stays out when `FILE.lock` is removed, and when the
/// database is opened by another path.
///
/// SQLite takes POSIX locks on the database file, which a process loses when it closes any descriptor of the file, and
/// which the first gibibyte of a `flock` on some network file systems is translated to. The lock on the file is an open
/// file description lock on a byte that SQLite never locks: neither kind disturbs the other. Its descriptor is closed after
/// SQLite has closed its own. The kernel releases both locks however the process ends.
///
/// `FILE.lock` stays when the process ends, and names the database that was last open here: see ``DatabaseMarker``.
final class StoreLock: Sendable {
    private struct Descriptors {
        let name: CInt
        var database: CInt?
    }

    let path: String
    private let descriptors: Mutex<Descriptors?>

    /// Takes the lock on the name, at `<path>.lock`.
    init(beside path: String) throws(StoreError) {
        let lockPath = path + ".lock"
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw StoreError(systemError: code, "cannot open \(lockPath)")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw StoreError(systemError: code, "cannot lock \(lockPath)") }
            throw StoreError(.inUse, "\(path) is in use by another process, which holds \(lockPath)")
        }
        self.path = path
        self.descriptors = Mutex(Descriptors(name: descriptor, database: nil))
    }

    deinit { release() }

    /// Takes the lock on the database file, which is made if it is missing; returns the descriptor, which stays open until
    /// `release`.
    @discardableResult
    func lockDatabase() throws(StoreError) -> CInt {
        let descriptor = try DatabaseFile.openPrivate(path)
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = Self.lockedByte
        range.l_len = 1
        guard fcntl(descriptor, Self.setLock, &range) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EAGAIN || code == EACCES else { throw StoreError(systemError: code, "cannot lock \(path)") }
            throw StoreError(.inUse, "\(path) is in use by another process, which has opened it already")
        }
        descriptors.withLock { $0?.database = descriptor }
        return descriptor
    }

    /// The content of `FILE.lock`.
    func content() -> [UInt8] {
        withName { DatabaseMarker.content(of: $0) } ?? []
    }

    /// Replaces the content of `FILE.lock`, and returns when that is durable.
    func write(_ content: [UInt8]) throws(StoreError) {
        let failure = withName { descriptor in
            let isWritten =
                ftruncate(descriptor, 0) == 0 && pwrite(descriptor, content, content.count, 0) == content.count
                && fsync(descriptor) == 0
            return isWritten ? nil : errno
        }
        if let failure = failure ?? nil { throw StoreError(systemError: failure, "cannot write \(path).lock") }
    }

    private func withName<Value>(_ body: (CInt) -> Value) -> Value? {
        descriptors.withLock { descriptors in
            guard let descriptors else { return nil }
            return body(descriptors.name)
        }
    }

    /// Lets the next one in. More than once is harmless.
    func release() {
        descriptors.withLock { descriptors in
            guard let open = descriptors else { return }
            // Closing alone would leave the locks to a child process that was just forked and has not closed its copies.
            if let database = open.database {
                var range = flock()
                range.l_type = Int16(F_UNLCK)
                range.l_whence = Int16(SEEK_SET)
                _ = fcntl(database, Self.setLock, &range)
                close(database)
            }
            flock(open.name, LOCK_UN)
            close(open.name)
            descriptors = nil
        }
    }

    /// `F_OFD_SETLK` of Linux, which the C library declares for GNU's dialect alone.
    private static let setLock: CInt = 37
    /// Far behind SQLite's lock bytes, which are the 512 from 1 GiB on.
    private static let lockedByte: off_t = 1 << 62
}

/// The path with every link followed, so that two names of one database share one lock; the file need not exist yet.
func canonicalPath(_ path: String) throws(StoreError) -> String {
    if let resolved = resolve(path) { return resolved }
    var status = stat()
    guard lstat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFLNK else {
        throw StoreError(.missing, "\(path) is a link to a file that is not there")
    }
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    guard let resolved = resolve(directory) else {
        let code = errno
        throw StoreError(systemError: code, "cannot open the directory \(directory)")
    }
    return resolved == "/" ? "/\(name)" : "\(resolved)/\(name)"
}

private func resolve(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}
