import Glibc
import Router
import Synchronization

/// Notices that the files of an open database are not the files at its path any more.
///
///     FILE, FILE-wal, FILE-shm     the path leads to the file that was opened: same device, same inode
///     FILE, FILE-wal               never shorter than before, and still with the first bytes of their format
///
/// SQLite goes on in files that were unlinked, replaced or cut off: commits succeed, and the next start finds nothing of
/// them. Each transaction therefore looks before it begins and after it is durable; a look is five system calls. While a
/// file is open its inode is not given to another, so an equal inode is the same file.
///
/// A fault is permanent, even if the files come back: other processes may have used the ones at the path meanwhile.
final class DatabaseWatch: Sendable {
    private struct State {
        var files: [WatchedFile]
        var fault: StoreError?
    }

    private let state: Mutex<State>

    /// Begins with the files as they are now, of a database that is open.
    init(_ path: String) throws(StoreError) {
        var files: [WatchedFile] = []
        for kind in WatchedFile.Kind.allCases {
            do { files.append(try WatchedFile(path, kind)) } catch {
                for file in files { file.close() }
                throw error
            }
        }
        state = Mutex(State(files: files))
    }

    deinit { close() }

    /// Throws `store-lost` if a file is not there, is another one, or has lost its end or its beginning.
    func check() throws(StoreError) {
        let fault = state.withLock { state in
            if state.fault == nil {
                for index in state.files.indices {
                    guard let loss = state.files[index].look() else { continue }
                    state.fault = StoreError(
                        .lost,
                        """
                        \(state.files[index].path) \(loss) while the daemon had it open: the next start would not find later \
                        commits
                        """)
                    break
                }
            }
            return state.fault
        }
        if let fault { throw fault }
    }

    /// Ends watching; SQLite must have closed the files before. More than once is harmless.
    func close() {
        state.withLock { state in
            for file in state.files { file.close() }
            state.files = []
        }
    }
}

/// One file of an open database.
private struct WatchedFile {
    enum Kind: String, CaseIterable {
        case database = ""
        case log = "-wal"
        case index = "-shm"
    }

    let path: String
    private let kind: Kind
    private let device: dev_t
    private let inode: ino_t
    private let descriptor: CInt
    /// The greatest size that was seen.
    private var size: off_t

    init(_ database: String, _ kind: Kind) throws(StoreError) {
        self.kind = kind
        path = database + kind.rawValue
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let code = errno
            if descriptor >= 0 { Glibc.close(descriptor) }
            throw StoreError(systemError: code, "cannot open \(path)")
        }
        (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
    }

    func close() { Glibc.close(descriptor) }

    /// A description of the loss, such as "was removed"; nil if all is well.
    mutating func look() -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? "was removed" : "became unreadable"
        }
        guard status.st_dev == device, status.st_ino == inode else { return "was replaced by another file" }
        // SQLite alone changes its size, and removes it at the end.
        if kind == .index { return nil }
        guard status.st_size >= size else { return "was truncated" }
        size = status.st_size
        return hasHeader ? nil : "was overwritten"
    }

    private var hasHeader: Bool {
        switch kind {
        case .database: return DatabaseHeader.isOurs(descriptor)
        case .log:
            // It is empty until the first commit.
            if size < DatabaseHeader.logHeaderLength { return true }
            return DatabaseHeader.isLog(descriptor)
        case .index: return true
        }
    }
}
