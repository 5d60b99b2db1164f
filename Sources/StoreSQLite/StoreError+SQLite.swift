import GRDB
import GRDBSQLite
import Glibc
import Router

extension StoreError {
    /// Translates what GRDB or the store's own code has thrown. Nothing in the message comes from a payload: SQLite
    /// names tables and columns, and GRDB's arguments are left out.
    init(translating error: any Error, systemError: CInt = 0) {
        switch error {
        case let error as StoreError:
            self = error
        case is DamagedRow:
            self.init(.corrupt, "a row is not as it was written; `routerd database check` names it")
        case let error as DatabaseError:
            let code = Code(error.extendedResultCode, systemError: systemError)
            // A backup fails on one connection and is told by the other, on which nothing is wrong.
            let message = error.message.flatMap { $0 == ResultCode.SQLITE_OK.text ? nil : $0 }
            let text = message ?? error.extendedResultCode.text
            self.init(code, "\(text) (\(error.extendedResultCode.rawValue))")
        default:
            self.init(.other, "\(type(of: error))")
        }
    }

    /// A failed call of the operating system.
    init(systemError code: CInt, _ message: String) {
        self.init(isFull(code) ? .diskFull : .inputOutput, "\(message): \(String(cString: strerror(code)))")
    }
}

extension StoreError.Code {
    /// The meaning of an extended result code of SQLite to the router.
    ///
    /// SQLite says FULL when a write finds no space, but IOERR when a quota ends, or when the shared-memory file cannot
    /// grow; the error number of the system tells these from a broken disk.
    init(_ code: ResultCode, systemError: CInt) {
        if code == .SQLITE_IOERR_CORRUPTFS { self = .corrupt; return }
        if code == .SQLITE_IOERR_NOMEM { self = .other; return }
        switch code.primaryResultCode {
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_IOERR, .SQLITE_CANTOPEN: self = isFull(systemError) ? .diskFull : .inputOutput
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: self = .inputOutput
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: self = .busy
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT: self = .corrupt
        case .SQLITE_CONSTRAINT: self = .conflict
        default: self = .other
        }
    }
}

extension ResultCode {
    /// SQLite's text for the code, in English.
    fileprivate var text: String { String(cString: sqlite3_errstr(rawValue)) }
}

extension Database {
    /// The error number behind the connection's last failure; 0 if there was none.
    var systemError: CInt { sqlite3_system_errno(sqliteConnection) }

    /// Pages that the connection has written since it was opened: into the log, where there is one.
    var pagesWritten: Int {
        var (pages, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 0)
        return Int(pages)
    }
}

private func isFull(_ code: CInt) -> Bool { code == ENOSPC || code == EDQUOT }
