import GRDBSQLite

/// Reads the columns of a row from the first to the last.
struct ColumnReader {
    private let handle: OpaquePointer
    private var column: CInt = -1

    init(_ handle: OpaquePointer) { self.handle = handle }

    mutating func int64() -> Int64 {
        column += 1
        return sqlite3_column_int64(handle, column)
    }

    mutating func optionalInt64() -> Int64? {
        let value = int64()
        return isNull ? nil : value
    }

    mutating func int() -> Int { Int(int64()) }
    mutating func optionalInt() -> Int? { optionalInt64().map(Int.init) }
    mutating func bool() -> Bool { int64() != 0 }

    mutating func text() -> String { withBytes { String(decoding: $0, as: UTF8.self) } }

    mutating func optionalText() -> String? {
        let value = text()
        return isNull ? nil : value
    }

    mutating func bytes() -> [UInt8] { withBytes { Array($0) } }

    mutating func optionalBytes() -> [UInt8]? {
        let value = bytes()
        return isNull ? nil : value
    }

    /// The value that the cache has for the column's bytes.
    mutating func cached<Value>(in cache: ByteCache<Value>) throws -> Value {
        try withBytes { bytes throws in try cache.value(for: bytes) }
    }

    /// Likewise; nil for NULL.
    mutating func optionalCached<Value>(in cache: ByteCache<Value>) throws -> Value? {
        guard sqlite3_column_type(handle, column + 1) != SQLITE_NULL else {
            column += 1
            return nil
        }
        return try cached(in: cache)
    }

    /// Shows the column's bytes, TEXT or BLOB; they are gone after the next step of the statement.
    private mutating func withBytes<Value>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Value) rethrows -> Value {
        column += 1
        // The pointer comes first: asking for it may convert the value, and with it the count.
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return try body(UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count))
    }

    private var isNull: Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
}

/// Makes one value of equal bytes, once.
///
/// Among a million sessions few roles, configurations, predicates and user infos differ. Each column has a cache of its
/// own, for then most values are the one of the row before. The keys are bytes, not strings: two texts that Swift holds
/// for equal may differ in their bytes, and then they mean different things.
final class ByteCache<Value> {
    private let make: (UnsafeBufferPointer<UInt8>) throws -> Value
    private let limit: Int
    private var values: [[UInt8]: Value] = [:]
    private var last: (bytes: [UInt8], value: Value)?

    /// Beyond the limit values are made anew, so that a million different texts are not all kept twice.
    init(limit: Int = 4096, _ make: @escaping (UnsafeBufferPointer<UInt8>) throws -> Value) {
        self.make = make
        self.limit = limit
    }

    func value(for bytes: UnsafeBufferPointer<UInt8>) throws -> Value {
        if let last, last.bytes.elementsEqual(bytes) { return last.value }
        let key = Array(bytes)
        if let known = values[key] {
            last = (key, known)
            return known
        }
        let value = try make(bytes)
        last = (key, value)
        if values.count < limit { values[key] = value }
        return value
    }
}

/// Texts that share their storage if they are equal.
typealias TextCache = ByteCache<String>

extension ByteCache where Value == String {
    convenience init() { self.init { String(decoding: $0, as: UTF8.self) } }
}

/// The columns of a notification in which few values differ.
struct NotificationCaches {
    let application = TextCache()
    let source = TextCache()
    let tier = TextCache()
    let reason = TextCache()
    let device = TextCache()
    let content = TextCache()
    let session = TextCache()
}
