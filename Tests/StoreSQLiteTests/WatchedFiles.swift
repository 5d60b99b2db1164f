import GRDBSQLite
import Glibc
import Synchronization

/// Operations of SQLite on the files of one directory: counts them, and makes them fail on request.
final class WatchedFiles: Sendable {
    enum Operation: Hashable, Sendable { case read, write, sync }

    /// Operations on one kind of file that fail with a result code of SQLite.
    struct Fault: Sendable {
        var operation: Operation
        /// How the names of the files end: `-wal`, or nothing for all of them.
        var suffix = ""
        var code: CInt
        /// How many such operations still succeed.
        var after = 0
        /// How many fail then.
        var times = Int.max
    }

    private struct State: Sendable {
        var counts: [String: [Operation: Int]] = [:]
        var fault: Fault?
        var failures = 0
        var interruption: Interruption?
    }

    /// An action that runs once, before an operation on one kind of file.
    private struct Interruption: Sendable {
        var operation: Operation
        var suffix: String
        var action: @Sendable () -> Void
    }

    private let state = Mutex(State())

    /// Watches every file that SQLite opens from now on whose path begins so.
    init(directory: String) {
        WatchingLayer.install()
        WatchingLayer.watches.withLock { $0[directory] = self }
    }

    /// How often the operation was asked for on files whose names end so.
    func count(_ operation: Operation, suffix: String) -> Int {
        state.withLock { state in
            state.counts.filter { $0.key.hasSuffix(suffix) }.reduce(0) { $0 + ($1.value[operation] ?? 0) }
        }
    }

    /// Sets the fault, or ends it; says how many operations it has let fail.
    @discardableResult
    func setFault(_ fault: Fault?) -> Int {
        state.withLock { state in
            state.fault = fault
            defer { state.failures = 0 }
            return state.failures
        }
    }

    /// Runs the action before the next such operation.
    func interrupt(_ operation: Operation, suffix: String, _ action: @escaping @Sendable () -> Void) {
        let interruption = Interruption(operation: operation, suffix: suffix, action: action)
        state.withLock { $0.interruption = interruption }
    }

    /// Notes an operation; returns the code that it must fail with, if it must.
    fileprivate func note(_ operation: Operation, _ path: String) -> CInt? {
        state.withLock { state in
            state.counts[path, default: [:]][operation, default: 0] += 1
            if let interruption = state.interruption, interruption.operation == operation,
                path.hasSuffix(interruption.suffix)
            {
                state.interruption = nil
                interruption.action()
            }
            guard var fault = state.fault, fault.operation == operation, path.hasSuffix(fault.suffix) else {
                return nil
            }
            defer { state.fault = fault }
            if fault.after > 0 {
                fault.after -= 1
                return nil
            }
            guard fault.times > 0 else { return nil }
            fault.times -= 1
            state.failures += 1
            return fault.code
        }
    }
}

/// A layer between SQLite and its files: the default one, with some of its functions wrapped. It becomes the default
/// for the whole process, and touches only files in watched directories.
private enum WatchingLayer {
    /// A file in a watched directory that is open.
    struct OpenFile: Sendable {
        var watch: WatchedFiles
        var path: String
        /// The address of the functions that SQLite has for this kind of file: those that are wrapped.
        var methods: UInt

        var original: UnsafePointer<sqlite3_io_methods>? { UnsafePointer(bitPattern: methods) }
    }

    static let watches = Mutex<[String: WatchedFiles]>([:])
    /// By the addresses of SQLite's structures.
    private static let files = Mutex<[UInt: OpenFile]>([:])
    /// The address of the wrapped functions for that of the original ones: the database and its log differ.
    private static let wrapped = Mutex<[UInt: UInt]>([:])
    // Safety: written once, by `installed`, before SQLite can call into the layer; read only afterwards.
    nonisolated(unsafe) private static var original: UnsafeMutablePointer<sqlite3_vfs>?

    static func install() { _ = installed }

    private static let installed: Bool = {
        guard let found = sqlite3_vfs_find(nil) else { return false }
        original = found
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: found.pointee)
        layer.pointee.pNext = nil
        layer.pointee.zName = UnsafePointer(strdup("watched"))
        layer.pointee.xOpen = { _, name, file, flags, outFlags in WatchingLayer.open(name, file, flags, outFlags) }
        return sqlite3_vfs_register(layer, 1) == SQLITE_OK
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: CInt,
        _ outFlags: UnsafeMutablePointer<CInt>?
    ) -> CInt {
        let code = original?.pointee.xOpen(original, name, file, flags, outFlags) ?? SQLITE_ERROR
        guard code == SQLITE_OK, let name, let file, let methods = file.pointee.pMethods else { return code }
        let path = String(cString: name)
        guard let watch = watches.withLock({ $0.first { path.hasPrefix($0.key) }?.value }) else { return code }
        let open = OpenFile(watch: watch, path: path, methods: UInt(bitPattern: methods))
        files.withLock { $0[UInt(bitPattern: file)] = open }
        let replacement = wrapped.withLock { wrapped in
            if let known = wrapped[open.methods] { return known }
            let made = UInt(bitPattern: wrap(methods))
            wrapped[open.methods] = made
            return made
        }
        file.pointee.pMethods = UnsafePointer(bitPattern: replacement)
        return code
    }

    /// Lives as long as the process, as SQLite's own do.
    private static func wrap(
        _ methods: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafeMutablePointer<sqlite3_io_methods> {
        let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        copy.initialize(to: methods.pointee)
        copy.pointee.xRead = { file, buffer, count, offset in
            WatchingLayer.perform(.read, file) { $0.xRead(file, buffer, count, offset) }
        }
        copy.pointee.xWrite = { file, buffer, count, offset in
            WatchingLayer.perform(.write, file) { $0.xWrite(file, buffer, count, offset) }
        }
        copy.pointee.xSync = { file, flags in
            WatchingLayer.perform(.sync, file) { $0.xSync(file, flags) }
        }
        copy.pointee.xClose = { file in
            let closed = WatchingLayer.files.withLock { $0.removeValue(forKey: UInt(bitPattern: file)) }
            return closed?.original?.pointee.xClose(file) ?? SQLITE_ERROR
        }
        return copy
    }

    private static func perform(
        _ operation: WatchedFiles.Operation, _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ body: (sqlite3_io_methods) -> CInt
    ) -> CInt {
        guard let open = files.withLock({ $0[UInt(bitPattern: file)] }), let methods = open.original else {
            return SQLITE_ERROR
        }
        return open.watch.note(operation, open.path) ?? body(methods.pointee)
    }
}
