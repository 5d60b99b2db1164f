import Glibc
import Router
import Synchronization

/// Keeps the database to one process, and to one store within it.
///
/// SQLite's WAL mode lets several processes write in turns; the router must not, for its memory follows its own
/// commits alone. The lock is a `flock` on a file of its own beside the database: SQLite takes POSIX locks on the database
/// file itself, which on some file systems are the same thing, and which a process loses when it closes any other
/// descriptor of the file. The kernel releases a `flock` however the process ends. The file stays: taking it away would
/// let two processes lock two different files of the same name.
final class StoreLock: Sendable {
    private let descriptor: Mutex<CInt?>

    /// Takes the lock beside the database, at `<path>.lock`.
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
        self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    /// Lets the next one in. More than once is harmless.
    func release() {
        descriptor.withLock { descriptor in
            guard let open = descriptor else { return }
            // Closing alone would leave the lock to a child process that was just forked and has not closed its copy.
            flock(open, LOCK_UN)
            close(open)
            descriptor = nil
        }
    }
}

/// The path with every link followed, so that two names of one database share one lock; the file need not exist yet.
func canonicalPath(_ path: String) throws(StoreError) -> String {
    if let resolved = resolve(path) { return resolved }
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
