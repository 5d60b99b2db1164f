import GRDB
import GRDBSQLite

/// A prepared statement, spoken to through SQLite's own functions.
///
/// GRDB prepares, keeps and finalizes it. Binding and reading go past GRDB's values: on the path of every notification
/// they would cost more than SQLite itself. A statement is used on the queue of its connection, within one access.
struct PreparedStatement {
    private let statement: Statement
    private var handle: OpaquePointer { statement.sqliteStatement }

    /// The connection's statement for this text; prepared when first asked for.
    init(_ db: Database, _ sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
    }

    /// Binds the arguments in order, runs to the end, and says how many rows were changed.
    @discardableResult
    func run(_ bind: (inout ArgumentBinder) -> Void) throws -> Int {
        // Cleared at the end, so that no bound pointer outlives the value that it points to.
        defer { sqlite3_reset(handle); sqlite3_clear_bindings(handle) }
        try bound(bind)
        let code = sqlite3_step(handle)
        guard code == SQLITE_DONE else { throw failure(code) }
        return Int(sqlite3_changes(sqlite3_db_handle(handle)))
    }

    /// Binds the arguments in order and shows every row.
    func forEach(_ bind: (inout ArgumentBinder) -> Void = { _ in }, _ row: (inout ColumnReader) throws -> Void) throws {
        defer { sqlite3_reset(handle); sqlite3_clear_bindings(handle) }
        try bound(bind)
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                var reader = ColumnReader(handle)
                try row(&reader)
            case SQLITE_DONE:
                return
            case let code:
                throw failure(code)
            }
        }
    }

    /// Binds the arguments in order and takes the first row.
    func first<Value>(
        _ bind: (inout ArgumentBinder) -> Void = { _ in }, _ row: (inout ColumnReader) throws -> Value
    ) throws -> Value? {
        defer { sqlite3_reset(handle); sqlite3_clear_bindings(handle) }
        try bound(bind)
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            var reader = ColumnReader(handle)
            return try row(&reader)
        case SQLITE_DONE:
            return nil
        case let code:
            throw failure(code)
        }
    }

    /// The steps of SQLite's virtual machine since this was last asked, for tests of how much work a statement is.
    func takeSteps() -> Int { Int(sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_VM_STEP, 1)) }

    private func bound(_ bind: (inout ArgumentBinder) -> Void) throws {
        var binder = ArgumentBinder(handle)
        bind(&binder)
        guard binder.failure == SQLITE_OK else { throw failure(binder.failure) }
        assert(binder.count == sqlite3_bind_parameter_count(handle), "arguments and parameters differ in number")
    }

    private func failure(_ code: CInt) -> DatabaseError {
        let message = String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
        return DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
}

/// Binds the parameters of a statement from the first to the last.
struct ArgumentBinder {
    private let handle: OpaquePointer
    private(set) var count: CInt = 0
    /// The first code that was not OK.
    private(set) var failure = SQLITE_OK
    /// Makes SQLite copy the bytes.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

    mutating func bind(_ value: Int64) {
        count += 1
        note(sqlite3_bind_int64(handle, count, value))
    }

    mutating func bind(_ value: Int64?) {
        if let value { return bind(value) }
        count += 1
        note(sqlite3_bind_null(handle, count))
    }

    mutating func bind(_ value: Int) { bind(Int64(value)) }
    mutating func bind(_ value: Int?) { bind(value.map(Int64.init)) }
    mutating func bind(_ value: Bool) { bind(value ? 1 : 0) }

    /// Binds the UTF-8 bytes as they are.
    mutating func bind(_ text: String) {
        count += 1
        var text = text
        let (handle, index) = (handle, count)
        note(
            text.withUTF8 { bytes in
                // A null pointer would bind NULL, not the empty text.
                guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, nil) }
                return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                    sqlite3_bind_text(handle, index, $0, CInt(bytes.count), Self.copied)
                }
            })
    }

    mutating func bind(_ text: String?) {
        if let text { return bind(text) }
        count += 1
        note(sqlite3_bind_null(handle, count))
    }

    /// Binds bytes as a BLOB.
    mutating func bind(_ bytes: [UInt8]?) {
        count += 1
        guard let bytes else { return note(sqlite3_bind_null(handle, count)) }
        let (handle, index) = (handle, count)
        note(
            bytes.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return sqlite3_bind_zeroblob(handle, index, 0) }
                return sqlite3_bind_blob64(handle, index, start, sqlite3_uint64(bytes.count), Self.copied)
            })
    }

    /// Binds bytes as a BLOB without copying: they must stay where they are until the statement has run.
    mutating func bindInPlace(_ bytes: UnsafeBufferPointer<UInt8>) {
        count += 1
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            return note(sqlite3_bind_zeroblob(handle, count, 0))
        }
        note(sqlite3_bind_blob64(handle, count, start, sqlite3_uint64(bytes.count), nil))
    }

    private mutating func note(_ code: CInt) {
        if failure == SQLITE_OK { failure = code }
    }
}
